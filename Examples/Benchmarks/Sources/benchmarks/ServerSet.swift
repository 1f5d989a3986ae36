import CCurlLoop
import Foundation

/// nginx and its files, in a temporary folder, until ``stop()``.
final class ServerSet {
  let servers: Servers
  private let folder: URL
  private let nginx = Process()

  init() throws {
    let program = try Tool("nginx")
    let openssl = try Tool("openssl")
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("benchmarks-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let own = Int(bench_server_start())
    let socket = Int(bench_websocket_server_start())
    guard own > 0, socket > 0 else { throw Complaint("no loopback socket can be opened, or libcrypto is missing") }
    servers = Servers(
      plain: Int(bench_free_port()), tls: Int(bench_free_port()), tlsOnce: Int(bench_free_port()),
      http2: Int(bench_free_port()), own: own, socket: socket,
      bundle: folder.appendingPathComponent("bundle.pem").path, file: folder.appendingPathComponent("big").path)
    try Self.writeFiles(folder)
    try Self.makeCertificates(folder, openssl)
    try Data(Self.configuration(servers, folder).utf8).write(to: folder.appendingPathComponent("nginx.conf"))

    nginx.executableURL = URL(fileURLWithPath: program.path)
    nginx.arguments = ["-p", folder.path, "-c", "nginx.conf", "-e", folder.appendingPathComponent("error.log").path]
    nginx.standardOutput = FileHandle.nullDevice
    nginx.standardError = FileHandle.nullDevice
    try nginx.run()
    for _ in 0..<50 where !FileManager.default.fileExists(atPath: folder.appendingPathComponent("nginx.pid").path) {
      usleep(100_000)
    }
    // nginx opens its sockets before it writes the file.
    guard nginx.isRunning, FileManager.default.fileExists(atPath: folder.appendingPathComponent("nginx.pid").path)
    else {
      let log = try? String(contentsOf: folder.appendingPathComponent("error.log"), encoding: .utf8)
      stop()
      throw Complaint("nginx does not start: \(log ?? "")")
    }
  }

  func stop() {
    if nginx.isRunning {
      nginx.terminate()
      nginx.waitUntilExit()
    }
    try? FileManager.default.removeItem(at: folder)
  }

  private static func writeFiles(_ folder: URL) throws {
    try Data("Hello, world\n".utf8).write(to: folder.appendingPathComponent("small"))
    try Data(count: Servers.middleLength).write(to: folder.appendingPathComponent("middle"))
    let big = folder.appendingPathComponent("big")
    try Data().write(to: big)
    let file = try FileHandle(forWritingTo: big)
    try file.truncate(atOffset: UInt64(Servers.bodyLength))
    try file.close()
    // If the master runs as root, nginx's workers run as another user.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
  }

  /// Creates a certificate for 127.0.0.1 and its authority, and adds the authority to the system's certificates.
  private static func makeCertificates(_ folder: URL, _ openssl: Tool) throws {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout"]
    try openssl.run(
      ["req", "-x509"] + key + [
        "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Benchmark Authority",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
      ], in: folder)
    try openssl.run(
      ["req", "-new"] + key + ["server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1"], in: folder)
    let extensions = "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth\n"
    try Data(extensions.utf8).write(to: folder.appendingPathComponent("extensions"))
    try openssl.run(
      [
        "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-extfile", "extensions", "-out", "server.pem",
      ], in: folder)
    var bundle = (try? Data(contentsOf: URL(fileURLWithPath: "/etc/ssl/certs/ca-certificates.crt"))) ?? Data()
    bundle += try Data(contentsOf: folder.appendingPathComponent("ca.pem"))
    try bundle.write(to: folder.appendingPathComponent("bundle.pem"))
  }

  private static func configuration(_ servers: Servers, _ folder: URL) -> String {
    let tls = """
      ssl_certificate server.pem;
          ssl_certificate_key server.key;
          # Each new connection is a full handshake, also for a client that would resume.
          ssl_session_cache off;
          ssl_session_tickets off;
      """
    return """
      daemon off;
      worker_processes 1;
      worker_rlimit_nofile 8192;
      pid \(folder.path)/nginx.pid;
      error_log \(folder.path)/error.log;
      events { worker_connections 4096; }
      http {
        access_log off;
        sendfile on;
        tcp_nopush on;
        default_type text/plain;
        keepalive_requests 1000000000;
        keepalive_timeout 600;
        root \(folder.path);
        client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp; uwsgi_temp_path temp;
        scgi_temp_path temp;
        server {
          listen 127.0.0.1:\(servers.plain) backlog=4096;
          location /copied/ { alias \(folder.path)/; sendfile off; }
        }
        server {
          listen 127.0.0.1:\(servers.tls) ssl backlog=4096;
          \(tls)
          location = /upload {
            client_max_body_size 0;
            proxy_pass http://127.0.0.1:\(servers.own);
            proxy_http_version 1.1;
            proxy_request_buffering off;
          }
        }
        server {
          listen 127.0.0.1:\(servers.tlsOnce) ssl;
          keepalive_timeout 0;
          \(tls)
        }
        server {
          listen 127.0.0.1:\(servers.http2) ssl http2;
          http2_max_concurrent_streams 128;
          \(tls)
        }
      }

      """
  }
}
