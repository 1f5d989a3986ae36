#if os(Linux)
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct UploadProgressMonitorTests {
    @Test func `written bytes and acknowledged bytes count as progress`() {
      var pace = UploadProgressMonitor()

      let moves = [
        pace.hasMoved(written: 1000, acknowledged: 500, queued: 900, isShared: false),
        pace.hasMoved(written: 1000, acknowledged: 501, queued: 899, isShared: false),
        pace.hasMoved(written: 1000, acknowledged: 501, queued: 899, isShared: false),
        pace.hasMoved(written: 1001, acknowledged: 501, queued: 900, isShared: false),
      ]

      #expect(moves == [true, true, false, true])
    }

    @Test func `bytes of other requests on a shared connection do not count as progress`() {
      var pace = UploadProgressMonitor()

      let moves = [
        pace.hasMoved(written: 1000, acknowledged: 500, queued: 900, isShared: true),
        pace.hasMoved(written: 1000, acknowledged: 1_000_000, queued: 70_000, isShared: true),
        pace.hasMoved(written: 1000, acknowledged: 2_000_000, queued: 0, isShared: true),
      ]

      #expect(moves == [true, true, false])
    }

    @Test func `keep-alive traffic does not count as progress`() {
      var pace = UploadProgressMonitor()
      // Ten bytes of a body are written; then each check sees the response to a PING.
      let moves = (0..<40).map { look in
        pace.hasMoved(written: 10, acknowledged: 500 + Int64(look) * 40, queued: 0, isShared: true)
      }

      #expect(moves.count { $0 } < 10)
    }

    @Test func `a shrinking queue counts as progress if acknowledgements are unknown`() {
      var pace = UploadProgressMonitor()

      let moves = [
        pace.hasMoved(written: 1000, acknowledged: -900, queued: 900, isShared: false),
        pace.hasMoved(written: 1000, acknowledged: -800, queued: 800, isShared: false),
        pace.hasMoved(written: 1000, acknowledged: -800, queued: 800, isShared: false),
        pace.hasMoved(written: 1000, acknowledged: 0, queued: 0, isShared: false),
        pace.hasMoved(written: 1000, acknowledged: 0, queued: 0, isShared: false),
      ]

      #expect(moves == [true, true, false, true, false])
    }

    @Test func `nothing counts as progress before the first byte on a shared connection`() {
      var pace = UploadProgressMonitor()

      let moves = [
        pace.hasMoved(written: 0, acknowledged: 400, queued: 0, isShared: true),
        pace.hasMoved(written: 0, acknowledged: 500, queued: 0, isShared: true),
      ]

      #expect(moves == [false, false])
    }
  }
#endif
