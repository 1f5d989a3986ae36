import Foundation
import MartletTesting
import Testing

/// `openssl s_server`, which answers every request with a page about its connection, and then closes that.
struct OpenSSLServer {
  let url: String
  private let process: ToolProcess

  /// Starts it on a free port.
  init(_ identity: CertificateAuthority.Identity, _ options: String...) async throws {
    let process = try TestProgram.openssl.start(
      ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", identity.certificate.path, "-key", identity.key.path]
        + options)
    var port: Int?
    for _ in 0..<1000 where port == nil && process.isRunning {
      // It says so when the port is open.
      let line = process.outputSoFar.split(separator: "\n").first { $0.hasPrefix("ACCEPT 127.0.0.1:") }
      port = line.flatMap { Int($0.dropFirst("ACCEPT 127.0.0.1:".count)) }
      if port == nil { try await Task.sleep(for: .milliseconds(10)) }
    }
    let open = try #require(port, "openssl s_server did not start")
    url = "https://127.0.0.1:\(open)"
    self.process = process
  }
}
