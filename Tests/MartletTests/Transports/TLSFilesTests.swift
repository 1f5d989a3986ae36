#if os(Linux)
  import Foundation
  import MartletBase
  import Testing

  @testable import Martlet

  /// The decisions about changed TLS files; `TLSRotationTests` covers the files themselves.
  @Suite(.hangLimit) struct TLSFilesTests {
    typealias State = TLSFiles.State

    private static let now: Int64 = 1_000_000_000
    private static let pause: Int64 = 1_000_000

    /// The facts of a file that changed some time before ``now``, in milliseconds.
    static func facts(_ inode: UInt, _ size: Int, age: Int64 = 5_000, modified: Int64 = 5_000) -> TLSFiles.Facts? {
      var disk = DiskFacts { facts in
        facts.pointee.st_ino = inode
        facts.pointee.st_size = size
        return 0
      }
      disk?.time = now - modified * 1_000
      return disk.map { TLSFiles.Facts($0, changeTime: now - age * 1_000) }
    }

    private static func find(_ facts: [TLSFiles.Facts?], in state: inout State) -> State.Finding {
      state.find(facts, at: now, pause: pause)
    }

    private static func state(with facts: [TLSFiles.Facts?]) -> State {
      var state = State(.system)
      _ = find(facts, in: &state)
      _ = state.use(.system, facts, number: 1)
      return state
    }

    private static let settings = TLSSettings.pins(["sha256//" + Data(count: 32).base64EncodedString()])

    @Test(
      arguments: [
        ([facts(1, 10), facts(2, 10)], [State.Finding.unchanged]), ([facts(1, 10), nil], [.changed]),
        // Changed a while ago, in place or by `rename`, even with the number of a removed file.
        ([facts(1, 10), facts(3, 10)], [.changed]), ([facts(1, 10), facts(2, 11)], [.changed]),
        ([facts(1, 10), facts(2, 10, age: 1_000)], [.changed]),
        // Changed just now, perhaps with an older modification time.
        ([facts(1, 10), facts(3, 10, age: 999)], [.mayBeIncomplete, .changed, .changed]),
        ([facts(1, 10), facts(2, 10, age: 0, modified: 0)], [.mayBeIncomplete, .changed]),
        ([facts(1, 10, age: -60_000), facts(2, 10)], [.mayBeIncomplete, .changed]),
      ] as [([TLSFiles.Facts?], [State.Finding])])
    func `finds files that have changed completely`(facts: [TLSFiles.Facts?], findings: [State.Finding]) {
      var state = Self.state(with: [Self.facts(1, 10), Self.facts(2, 10)])

      #expect(findings.map { _ in Self.find(facts, in: &state) } == findings)
    }

    @Test(arguments: [1, 2] as [UInt]) func `waits while a file grows`(inode: UInt) {
      var state = Self.state(with: [Self.facts(1, 10)])

      let findings = [11, 12, 13, 13].map { Self.find([Self.facts(inode, $0, age: 0)], in: &state) }

      #expect(findings == [.mayBeIncomplete, .mayBeIncomplete, .mayBeIncomplete, .changed])
    }

    @Test func `the first look reads the files unless they changed just now`() {
      var (state, early) = (State(.system), State(.system))

      let finding = Self.find([Self.facts(1, 10)], in: &state)
      let isNew = state.use(.system, [Self.facts(1, 10)], number: 1)
      let next = Self.find([Self.facts(1, 10)], in: &state)
      let findings = (0..<2).map { _ in Self.find([Self.facts(1, 10, age: 0)], in: &early) }

      #expect(finding == .changed && !isNew && state.generation == 0 && next == .unchanged)
      #expect(findings == [.mayBeIncomplete, .changed])
    }

    @Test(arguments: [false, true]) func `reads refused files again once they change or could not be read`(
      isTransient: Bool
    ) {
      var state = State(.system)
      let facts = [Self.facts(1, 10)]

      let reports = (1...2).map { state.refuse(.system, "a", facts, isTransient: isTransient, number: $0) }
      let findings = [facts, facts, [Self.facts(1, 11)]].map { Self.find($0, in: &state) }

      #expect(reports == ["the TLS files in use are invalid: a", nil])
      #expect(findings == (isTransient ? [.changed, .changed, .changed] : [.unchanged, .unchanged, .changed]))
      #expect(state.problem != nil)
    }

    @Test func `a late look does not replace newer contents`() {
      var state = Self.state(with: [Self.facts(1, 10)])

      let isNew = state.use(Self.settings, [Self.facts(3, 10)], number: 3)
      let isOld = state.use(.system, [Self.facts(2, 10)], number: 2)
      let report = state.refuse(.system, "a", [Self.facts(2, 10)], isTransient: false, number: 2)

      #expect(isNew && !isOld && report == nil)
      #expect(state.settings == Self.settings && state.generation == 1 && state.problem == nil)
    }

    @Test func `reports a problem once, until the files are valid`() {
      var state = Self.state(with: [Self.facts(1, 10)])

      let changed = [Self.facts(2, 10)]
      let kept = "the TLS files have changed, but their last contents stay in use"

      let reports = [("a", 2), ("a", 3), ("b", 4)].map {
        state.refuse(Self.settings, $0.0, changed, isTransient: false, number: $0.1)
      }
      #expect(reports == ["\(kept): a", nil, "\(kept): b"] && state.problem == "\(kept): b")
      #expect(state.settings == .system)
      _ = Self.find([Self.facts(1, 10)], in: &state)
      #expect(state.problem == nil)
      let report = state.refuse(Self.settings, "b", changed, isTransient: false, number: 5)
      #expect(report == "\(kept): b")
      _ = state.use(Self.settings, changed, number: 6)
      #expect(state.problem == nil && state.settings == Self.settings)
    }
  }
#endif
