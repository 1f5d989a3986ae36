import Foundation
import MartletTesting
import Testing

/// The tool against a server that others made.
@Suite(.oneAtATime, .serialized) struct ToolNginxTests {
  /// Where it is installed; in CI it has to be.
  private static let nginx = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/opt/homebrew/bin/nginx"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }
  private static let isCI = ProcessInfo.processInfo.environment["CI"] == "true"

  @Test(.enabled(if: nginx != nil || isCI, "nginx is not installed"))
  func `prints status, header and body of nginx`() async throws {
    let server = try await start()

    let found = try await ToolProcess.martlet("GET", "\(server.url)/file.txt", "-i")
    let missing = try await ToolProcess.martlet("GET", "\(server.url)/none", "-i")

    #expect(found.status == 0)
    #expect(found.text.hasPrefix("HTTP") && found.text.contains(" 200 OK\n"))
    #expect(found.text.contains("\nServer: nginx") && found.text.contains("\nContent-Type: text/plain\n"))
    #expect(found.text.hasSuffix("\n\nserved by nginx\n"))
    #expect(missing.status == 4 && missing.text.contains(" 404 Not Found\n"))
    // Nothing gentler: a child of a test may have inherited a mask that blocks it.
    server.process.send(SIGKILL)
    _ = try await server.process.end()
  }

  private struct Server {
    let process: ToolProcess
    let folder: TemporaryFolder
    let url: String
  }

  /// Starts it on a free port, with every file of its own in a temporary folder.
  private func start() async throws -> Server {
    let nginx = try #require(Self.nginx, "nginx is not installed, which CI has to do")
    let folder = try TemporaryFolder()
    let port = try MockServer.refusedPort()
    try folder.write("served by nginx\n", to: "www/file.txt")
    try folder.write(configuration(folder.url.path, port), to: "nginx.conf")
    let process = try ToolProcess(
      URL(fileURLWithPath: nginx),
      ["-p", folder.url.path, "-e", folder.path("error.log"), "-c", folder.path("nginx.conf")])
    // The file is written when the port is open.
    for _ in 0..<1000 where !folder.names.contains("nginx.pid") { try await Task.sleep(for: .milliseconds(10)) }
    try #require(folder.names.contains("nginx.pid"), "nginx did not start")
    return Server(process: process, folder: folder, url: "http://127.0.0.1:\(port)")
  }

  private func configuration(_ folder: String, _ port: Int) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: "\n  ")
    return """
      daemon off;
      master_process off;
      pid \(folder)/nginx.pid;
      error_log \(folder)/error.log;
      events { worker_connections 64; }
      http {
        access_log off;
        \(temporary)
        types { text/plain txt; }
        server {
          listen 127.0.0.1:\(port);
          root \(folder)/www;
        }
      }

      """
  }
}
