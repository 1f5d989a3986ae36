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

/// nginx with TLS, whose answers tell about their connection: `X-Connection` has its number, `X-Reused` is `r` if its
/// session was resumed, `X-Client` the subject of the client's certificate.
struct NginxServer {
  let url: String
  private let process: ToolProcess
  private let folder: TemporaryFolder

  /// Starts it on a free port; `directives` are what else stands in its `server`.
  init(_ identity: CertificateAuthority.Identity, isHTTP2: Bool = false, _ directives: String...) async throws {
    folder = try TemporaryFolder()
    let path = folder.url.path
    let port = try MockServer.refusedPort()
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(path)/\($0);" }.joined(separator: " ")
    try folder.write(
      """
      daemon off;
      master_process off;
      pid \(path)/nginx.pid;
      error_log \(path)/error.log;
      events { worker_connections 256; }
      http {
        access_log off;
        \(temporary)
        server {
          listen 127.0.0.1:\(port) ssl\(isHTTP2 ? " http2" : "");
          ssl_certificate \(identity.certificate.path);
          ssl_certificate_key \(identity.key.path);
          \(directives.joined(separator: "\n"))
          add_header X-Connection $connection;
          add_header X-Reused $ssl_session_reused;
          add_header X-Client $ssl_client_s_dn;
          location / { return 200 ok; }
        }
      }

      """, to: "nginx.conf")
    process = try TestProgram.nginx.start([
      "-p", path, "-e", folder.path("error.log"), "-c", folder.path("nginx.conf"),
    ])
    // The file is written when the port is open.
    for _ in 0..<1000 where !folder.names.contains("nginx.pid") && process.isRunning {
      try await Task.sleep(for: .milliseconds(10))
    }
    try #require(folder.names.contains("nginx.pid"), "nginx did not start")
    url = "https://127.0.0.1:\(port)"
  }
}
