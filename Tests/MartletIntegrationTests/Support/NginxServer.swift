import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// nginx as one process, with all of its files in a temporary folder, which is its root.
struct NginxServer: Sendable {
  let url: String
  private let process: ToolProcess
  private let folder: TemporaryFolder

  /// Starts nginx on a free port.
  ///
  /// - Parameters:
  ///   - listening: The parameters after the port in `listen`, such as `ssl`.
  ///   - files: The files in its folder, by path.
  ///   - canReload: Whether a worker process serves, which ``reload()`` replaces; if so, ``stop()`` must be called.
  ///   - directives: Further directives for its `server` block.
  /// - Throws: A test failure if nginx does not start.
  init(
    listening: String = "", files: [String: String] = [:], canReload: Bool = false, _ directives: String...
  ) async throws {
    let folder = try TemporaryFolder()
    let path = folder.url.path
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(path)/\($0);" }.joined(separator: " ")
    for (name, text) in files { try folder.write(text, to: name) }
    let running = try await ToolProcess.listening("nginx") { port in
      try folder.write(
        """
        daemon off;
        master_process \(canReload ? "on" : "off");
        \(canReload && geteuid() == 0 ? "user root;" : "")
        pid \(path)/nginx.pid;
        error_log \(path)/error.log;
        events { worker_connections 256; }
        http {
          access_log off;
          \(temporary)
          types { text/plain txt; }
          server {
            listen 127.0.0.1:\(port) \(listening);
            root \(path);
            \(directives.joined(separator: "\n"))
          }
        }

        """, to: "nginx.conf")
      return try TestProgram.nginx.start([
        "-p", path, "-e", folder.path("error.log"), "-c", folder.path("nginx.conf"),
      ])
    } isReady: { process, _ in
      // nginx writes this file when the port is open.
      await becomes(every: .milliseconds(10)) { folder.names.contains("nginx.pid") || !process.isRunning }
        && process.isRunning
    }
    (self.folder, process) = (folder, running.process)
    url = "\(listening.hasPrefix("ssl") ? "https" : "http")://127.0.0.1:\(running.port)"
  }

  /// Starts a new worker process for new connections; the old one closes its connections as they become idle.
  func reload() { process.send(SIGHUP) }

  /// Stops listening, and ends when all responses are sent; it must run with `canReload`.
  func drain() { process.send(SIGQUIT) }

  /// Stops nginx with its processes.
  func stop() async {
    process.send(SIGTERM)
    _ = await becomes { !process.isRunning }
  }

  /// Returns the path of a file in the server's folder.
  func path(_ name: String) -> String { folder.path(name) }

  /// Starts nginx with TLS.
  ///
  /// Responses describe their connection: `X-Connection` contains its number, `X-Reused` is `r` if its session was
  /// resumed, and `X-Client` contains the subject of the client's certificate.
  init(
    _ identity: CertificateAuthority.Identity, isHTTP2: Bool = false, canReload: Bool = false, _ directives: String...
  ) async throws {
    try await self.init(
      listening: isHTTP2 ? "ssl http2" : "ssl", canReload: canReload,
      """
      ssl_certificate \(identity.certificate.path);
      ssl_certificate_key \(identity.key.path);
      \(directives.joined(separator: "\n"))
      add_header X-Connection $connection;
      add_header X-Reused $ssl_session_reused;
      add_header X-Client $ssl_client_s_dn;
      location / { return 200 ok; }
      """)
  }

  /// Starts nginx with a `/file.txt` for ada, whose password is `s3cret ü`.
  static func basic() async throws -> NginxServer {
    try await NginxServer(
      files: ["users": "ada:{PLAIN}s3cret \u{FC}\n", "www/file.txt": "served by nginx\n"],
      """
      location /file.txt {
        root www;
        auth_basic "a realm";
        auth_basic_user_file users;
      }
      """)
  }
}
