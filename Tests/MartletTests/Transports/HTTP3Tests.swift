#if os(Linux)
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct HTTP3Tests {
    private static let feature: CInt = 1 << 25

    @Test(
      arguments: [
        (feature, UInt32(0x075800), true), (feature | 1 << 16, 0x081500, true), (feature, 0x075701, false),
        (1 << 16, 0x081500, false), (0, 0, false),
      ])
    func `libcurl needs the feature and a fallback to older versions`(features: CInt, version: UInt32, has: Bool) {
      #expect(CurlLibrary.hasHTTP3(features: features, version: version) == has)
    }

    @Test(
      arguments: [
        (true, true, false, false, nil), (false, true, false, false, "built with HTTP/3"),
        (true, false, false, false, "requires https"), (true, true, true, false, "Unix socket"),
        (true, true, false, true, "TLS settings"),
      ] as [(Bool, Bool, Bool, Bool, String?)])
    func `names what HTTP/3 lacks, and the remedy`(
      isSupported: Bool, isSecure: Bool, hasUnixSocket: Bool, hasTLSSettings: Bool, reason: String?
    ) {
      let problem = CurlRouter.http3Problem(
        isSupported: isSupported, isSecure: isSecure, hasUnixSocket: hasUnixSocket, hasTLSSettings: hasTLSSettings)

      #expect((problem == nil) == (reason == nil))
      if let problem, let reason {
        #expect(problem.contains(reason) && problem.hasSuffix("leave httpVersion at .automatic"))
      }
    }

    @Test func `a response over HTTP/3 reports its version`() throws {
      var reader = ResponseHeadReader()
      var head: ResponseHeadReader.Head?
      for line in ["HTTP/3 200 \r\n", "content-type: text/plain\r\n", "\r\n"] {
        let step = try Array(line.utf8).withUnsafeBufferPointer { try reader.read($0) }
        if case .final(let found) = step { head = found }
      }

      #expect(head.map { HTTPVersion($0.version) } == .http3)
    }
  }
#endif
