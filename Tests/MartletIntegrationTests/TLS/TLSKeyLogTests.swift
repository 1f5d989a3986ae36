#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The secrets that libcurl could write for tools that decrypt recorded connections.
  @Suite(.needs(.openssl), .needs(.openSSL), .needs(.curlWithOpenSSL), .ownThreads, .hangLimit) struct TLSKeyLogTests {
    @Test(arguments: Lane.engines, ["-tls1_2", "-tls1_3"])
    func `writes no TLS secrets to the file that SSLKEYLOGFILE names`(lane: Lane, version: String) async throws {
      let authority = try await CertificateAuthority()
      let server = try await OpenSSLServer(try await authority.identity(), version)
      let folder = try TemporaryFolder()

      await #expect(processExitsWith: .success) {
        [
          lane = lane as Lane, url = server.url as String, root = authority.root.path as String,
          log = folder.path("keys") as String
        ] in
        setenv("SSLKEYLOGFILE", log, 1)
        let client = lane.client { $0.tls = .customRoots(pem: URL(filePath: root)) }
        let response = try await client.get(RequestTarget(url))
        #expect(response.status == .ok)
      }

      #expect((try? folder.contents("keys"))?.isEmpty ?? true)
    }
  }
#endif
