#if os(Linux)
  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet
  import Testing

  @Suite struct ReceiveLowWaterMarksTests {
    private final class Body {}

    /// The marks as set in the system.
    private final class Sockets: Sendable {
      let marks = Locked<[CInt: CInt]>([:])

      func mark(of socket: CInt) -> CInt { marks.withLock { $0[socket] ?? 1 } }
    }

    private let mark = ReceiveLowWaterMarks.mark
    private let turns = ReceiveLowWaterMarks().turns
    private let patience = ReceiveLowWaterMarks().patience
    private let sockets = Sockets()
    private let body = Body()

    private func makeMarks() -> ReceiveLowWaterMarks {
      ReceiveLowWaterMarks { [sockets] socket, mark in sockets.marks.withLock { $0[socket] = mark } }
    }

    /// Runs this many turns with 64 KiB each, 100 µs apart.
    private func turn(_ marks: inout ReceiveLowWaterMarks, _ body: Body, times: Int, on socket: CInt = 7) {
      for number in 1...times {
        let received = Int64(number) << 16
        marks.hasTurn(of: body, received, rest: 1 << 30, at: Int64(number) * 100, on: socket)
      }
    }

    @Test func `raises the mark after turns in quick succession`() {
      var marks = makeMarks()

      turn(&marks, body, times: turns - 1)
      #expect(sockets.mark(of: 7) == 1)

      marks.hasTurn(of: body, 1 << 20, rest: 1 << 30, at: 1_500, on: 7)
      #expect(sockets.mark(of: 7) == CInt(mark))
    }

    @Test func `raises no mark for slow turns or an unknown or short remaining length`() {
      var marks = makeMarks()
      let (slow, unknown, short) = (Body(), Body(), Body())

      for number in 1...100 as ClosedRange<Int64> {
        let now = number * (patience + 1)
        marks.hasTurn(of: slow, number << 16, rest: 1 << 30, at: now, on: 5)
      }
      for number in 1...100 as ClosedRange<Int64> {
        marks.hasTurn(of: unknown, number << 16, rest: nil, at: 200_000 + number, on: 6)
        marks.hasTurn(of: short, number << 16, rest: 2 * mark, at: 200_000 + number, on: 7)
      }

      #expect(sockets.marks.withLock { $0.isEmpty })
    }

    @Test func `keeps the mark while many bytes arrive, then lowers it`() {
      var marks = makeMarks()
      turn(&marks, body, times: turns)

      var now = patience + 100
      for number in 1...5 as ClosedRange<Int64> {
        marks.hasTurn(of: body, 1 << 20 + number * mark, rest: 1 << 30, at: now - 10, on: 7)
        #expect(marks.look(at: now).isEmpty)
        #expect(sockets.mark(of: 7) == CInt(mark))
        #expect(marks.time == now + patience)
        now += patience
      }
      marks.hasTurn(of: body, 1 << 20 + 6 * mark - 1, rest: 1 << 30, at: now - 10, on: 7)

      #expect(marks.look(at: now) == [7])
      #expect(sockets.mark(of: 7) == 1)
      #expect(marks.time == nil)
    }

    @Test func `checks no mark before its deadline`() {
      var marks = makeMarks()
      #expect(marks.time == nil)

      turn(&marks, body, times: turns)

      #expect(marks.time == patience + 100)
      #expect(marks.look(at: patience + 99).isEmpty)
      #expect(marks.look(at: patience + 100) == [7])
      #expect(marks.look(at: .max).isEmpty)
    }

    @Test func `lowers the mark before the end of the body`() {
      var marks = makeMarks()
      turn(&marks, body, times: turns)

      marks.hasTurn(of: body, 1 << 20, rest: 2 * mark, at: 900, on: 7)

      #expect(sockets.mark(of: 7) == 1)
      #expect(marks.time == nil)
    }

    @Test func `lowers only the mark of a finished body`() {
      var marks = makeMarks()
      let other = Body()
      turn(&marks, body, times: turns)
      turn(&marks, other, times: turns, on: 8)

      marks.forget(body)

      #expect(sockets.mark(of: 7) == 1)
      #expect(sockets.mark(of: 8) == CInt(mark))
      #expect(marks.look(at: .max - patience) == [8])
    }

    /// The descriptor may belong to another socket by then.
    @Test func `sets no mark on a closed socket`() {
      var marks = makeMarks()
      turn(&marks, body, times: turns)

      marks.closed(7)
      sockets.marks.withLock { $0 = [:] }
      marks.forget(body)

      #expect(sockets.marks.withLock { $0.isEmpty })
      #expect(marks.time == nil)
    }
  }
#endif
