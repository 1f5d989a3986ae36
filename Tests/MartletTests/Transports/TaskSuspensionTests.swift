#if canImport(Darwin) || URLSession
  import TestSupport
  import Testing

  @testable import Martlet

  @Suite(.hangLimit) struct TaskSuspensionTests {
    private enum Event {
      case arrived(Int)
      case read(Int)
      case resumed
    }

    private static let (high, low) = (TaskSuspension.highMark, TaskSuspension.lowMark)

    @Test func `the marks are 1 MiB and 256 KiB`() {
      #expect(Self.high == 1_048_576 && Self.low == 262_144)
    }

    private static let rows: [(events: [Event], actions: [Bool], stage: TaskSuspension.Stage)] = [
      ([.arrived(0), .arrived(high)], [false, false], .flowing),
      ([.arrived(high + 1)], [true], .suspended),
      ([.arrived(high + 1), .arrived(high + 2)], [true, false], .suspended),
      ([.arrived(high + 1), .read(low + 1)], [true, false], .suspended),
      ([.arrived(high + 1), .read(low)], [true, true], .resuming),
      ([.arrived(high + 1), .read(0), .read(0)], [true, true, false], .resuming),
      ([.arrived(high + 1), .read(0), .arrived(high + 1)], [true, true, false], .resuming),
      ([.arrived(high + 1), .read(0), .resumed, .arrived(high + 1)], [true, true, true, true], .suspended),
      ([.read(0)], [false], .flowing),
    ]

    @Test(arguments: rows.indices) func `suspends above the high mark and resumes at the low mark`(_ row: Int) {
      let (events, actions, stage) = Self.rows[row]
      var suspension = TaskSuspension()

      let taken = events.map { event in
        switch event {
        case .arrived(let unread): return suspension.mustSuspend(unread: unread)
        case .read(let unread): return suspension.mustResume(unread: unread)
        case .resumed:
          suspension.resume()
          return true
        }
      }

      #expect(taken == actions && suspension.stage == stage)
    }

    /// A task and its reader, each of whose steps may come between any two steps of the other.
    ///
    /// The steps are those of `URLSessionExchange`.
    private struct Model {
      enum Step { case idle, decides, suspends, looks, counts, posts }

      var suspension = TaskSuspension()
      var (unread, remaining) = (0, 40)
      var isTaskSuspended = false
      var suspensionCount = 0
      /// The operations on the delegate's queue that resume the task.
      var resumes = 0
      var (queue, reader) = (Step.idle, Step.idle)
      var (queueUnread, readerUnread) = (0, 0)

      /// Runs the next step of the delegate's queue; returns whether there was one.
      mutating func runQueue() -> Bool {
        switch queue {
        case .idle:
          if resumes > 0 {
            resumes -= 1
            suspension.resume()
            isTaskSuspended = false
          } else if !isTaskSuspended, remaining > 0 {
            remaining -= 1
            unread += 300 << 10
            queueUnread = unread
            queue = .decides
          } else {
            return false
          }
        case .decides: queue = suspension.mustSuspend(unread: queueUnread) ? .suspends : .idle
        case .suspends:
          isTaskSuspended = true
          suspensionCount += 1
          queue = .looks
        case .looks, .counts, .posts: (queue, queueUnread) = next(queue, queueUnread)
        }
        return true
      }

      /// Runs the next step of the reader; returns whether there was one.
      mutating func runReader() -> Bool {
        switch reader {
        case .idle where unread == 0: return false
        case .idle:
          unread = 0
          reader = .looks
        default: (reader, readerUnread) = next(reader, readerUnread)
        }
        return true
      }

      /// The steps of `readerHasRoom()`.
      private mutating func next(_ step: Step, _ count: Int) -> (Step, Int) {
        switch step {
        case .looks: return (suspension.stage == .suspended ? .counts : .idle, count)
        case .counts: return (.posts, unread)
        default:
          if suspension.mustResume(unread: count) { resumes += 1 }
          return (.idle, count)
        }
      }
    }

    @Test func `no order of a task's and its reader's steps loses a resumption`() {
      var generator = SeededGenerator(seed: 102)
      var suspensionCount = 0

      for _ in 0..<20_000 {
        var model = Model()
        while true {
          let isQueueFirst = Bool.random(using: &generator)
          // A step of one side, or of the other side if the first one has none.
          let hasRun = isQueueFirst ? model.runQueue() || model.runReader() : model.runReader() || model.runQueue()
          if !hasRun { break }
        }

        #expect(model.remaining == 0 && model.unread == 0 && !model.isTaskSuspended)
        suspensionCount += model.suspensionCount
      }

      #expect(suspensionCount > 1000)
    }
  }
#endif
