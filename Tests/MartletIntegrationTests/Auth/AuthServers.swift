#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  extension TestProgram {
    static let apache = TestProgram("apache2")
  }

  /// Apache with `mod_auth_digest`: `/file.txt` is for ada, whose password is `s3cret`.
  final class ApacheServer {
    static let realm = "a realm, with \u{FC}"

    let url: String
    private let port: Int
    private var process: ToolProcess
    private let folder: TemporaryFolder

    /// Starts Apache on a free port.
    ///
    /// - Parameter directives: Further directives for the folder.
    /// - Throws: A test failure if Apache does not start.
    init(_ directives: String...) async throws {
      let folder = try TemporaryFolder()
      let modules = try #require(
        ["/usr/lib/apache2/modules", "/usr/libexec/apache2", "/usr/lib64/httpd/modules"]
          .first { FileManager.default.fileExists(atPath: "\($0)/mod_auth_digest.so") }, "mod_auth_digest is missing")
      let loaded = ["mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_digest"]
        .map { "LoadModule \($0)_module \(modules)/mod_\($0).so" }.joined(separator: "\n")
      try folder.write("served by apache\n", to: "www/file.txt")
      try folder.write("", to: "run/empty")
      // MD5 of `ada:a realm, with ü:s3cret`, as `htdigest` would write it.
      try folder.write("ada:\(Self.realm):\(Self.key)\n", to: "users")
      (process, port) = try await ToolProcess.listening("apache2") { port in
        try folder.write(
          """
          \(loaded)
          ServerRoot \(folder.url.path)
          DefaultRuntimeDir \(folder.path("run"))
          PidFile \(folder.path("run/pid"))
          ErrorLog \(folder.path("error.log"))
          LogFormat "%{Authorization}i" proofs
          CustomLog \(folder.path("access.log")) proofs
          Listen 127.0.0.1:\(port)
          ServerName 127.0.0.1
          # Drops the rights of the user who runs the tests if that is root.
          User daemon
          Group daemon
          DocumentRoot \(folder.path("www"))
          <Directory \(folder.path("www"))>
            AuthType Digest
            AuthName "\(Self.realm)"
            AuthDigestProvider file
            AuthUserFile \(folder.path("users"))
            \(directives.joined(separator: "\n"))
            Require valid-user
          </Directory>

          """, to: "apache.conf")
        return try Self.start(folder)
      }
      self.folder = folder
      url = "http://127.0.0.1:\(port)"
    }

    private static func start(_ folder: TemporaryFolder) throws -> ToolProcess {
      try TestProgram.apache.start(["-X", "-f", folder.path("apache.conf")])
    }

    /// Returns the path of a file in the server's folder.
    func path(_ name: String) -> String { folder.path(name) }

    /// Kills the server and restarts it on the same port.
    func restart() async throws {
      process.send(SIGKILL)
      _ = try await process.end()
      process = try Self.start(folder)
      try #require(await process.opens(port), "apache2 did not start: \(process.outputSoFar)")
    }

    /// The nonces of the logged requests, in order of completion; `nil` for a request without credentials.
    var nonces: [String?] {
      let log = String(decoding: (try? folder.contents("access.log")) ?? Data(), as: UTF8.self)
      return log.split(separator: "\n").map { line in
        let parts = line.replacing("\\", with: "").components(separatedBy: " nonce=\"")
        return parts.dropFirst().first.map { String($0.prefix { $0 != "\"" }) }
      }
    }

    private static let key = "11b8716b86e3d3f9c13d5ce98089fca0"
  }

  /// Records the status of each exchange.
  struct StatusNotes: Middleware {
    let statuses = Shared<[Int]>([])

    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
    ) async throws -> StreamedResponse {
      let response = try await next(request)
      statuses.withLock { $0.append(response.status.rawValue) }
      return response
    }

    var all: [Int] { statuses.withLock { $0 } }
  }
#endif
