import Foundation
import MartletTesting
import TestSupport
import Testing

/// `openssl s_server`, which responds to every request with a page about its connection, and then closes it.
struct OpenSSLServer {
  let url: String
  private let process: ToolProcess

  /// Starts the server on a free port.
  init(_ identity: CertificateAuthority.Identity, _ options: String...) async throws {
    let process = try TestProgram.openssl.start(
      ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", identity.certificate.path, "-key", identity.key.path]
        + options)
    var port: Int?
    _ = await becomes(every: .milliseconds(5)) {
      // The server prints this line when the port is open.
      let line = process.outputSoFar.split(separator: "\n").first { $0.hasPrefix("ACCEPT 127.0.0.1:") }
      port = line.flatMap { Int($0.dropFirst("ACCEPT 127.0.0.1:".count)) }
      return port != nil || !process.isRunning
    }
    let open = try #require(port, "openssl s_server did not start")
    url = "https://127.0.0.1:\(open)"
    self.process = process
  }
}
