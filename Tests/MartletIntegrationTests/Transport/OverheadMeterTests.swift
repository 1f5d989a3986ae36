#if os(Linux)
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct OverheadMeterTests {
    @Test func `allows 1 MiB of overhead or 256 bytes per body byte`() {
      var meter = OverheadMeter()
      func exceeds(_ body: Int64, _ taken: Int64) -> Bool { meter.isExceeded(body: body, taken: taken) }

      // Bytes from before the first check do not count, because the connection may have served other requests.
      #expect(!exceeds(0, 5 << 20))
      #expect(!exceeds(0, 6 << 20))
      #expect(exceeds(0, (6 << 20) + 1))
      #expect(exceeds(4095, (6 << 20) + 256))
      // After that, the count starts over.
      #expect(!exceeds(4097, (6 << 20) + 256))
      #expect(!exceeds(4097, 7 << 20))
      #expect(exceeds(4097, 9 << 20))
    }

    @Test func `reports no excess if the system provides no byte counts`() {
      var meter = OverheadMeter()
      func exceeds(_ socket: CInt) -> Bool { meter.isExceeded(body: 0, on: socket) }

      for _ in 0..<100 { #expect(!exceeds(-1)) }
    }
  }
#endif
