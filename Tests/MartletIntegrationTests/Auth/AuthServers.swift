#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import Testing

  extension TestProgram {
    static let apache = TestProgram("apache2")
  }

  /// Apache with `mod_auth_digest`: `/file.txt` is for ada, whose password is `s3cret`.
  struct ApacheServer {
    static let realm = "a realm, with \u{FC}"

    let url: String
    private let process: ToolProcess
    private let folder: TemporaryFolder

    /// Starts it on a free port.
    ///
    /// - Parameter directives: What else stands at the folder.
    /// - Throws: What fails in the test, if it does not start.
    init(_ directives: String...) async throws {
      folder = try TemporaryFolder()
      let port = try MockServer.refusedPort()
      let modules = try #require(
        ["/usr/lib/apache2/modules", "/usr/libexec/apache2", "/usr/lib64/httpd/modules"]
          .first { FileManager.default.fileExists(atPath: "\($0)/mod_auth_digest.so") }, "mod_auth_digest is missing")
      let loaded = ["mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_digest"]
        .map { "LoadModule \($0)_module \(modules)/mod_\($0).so" }.joined(separator: "\n")
      try folder.write("served by apache\n", to: "www/file.txt")
      try folder.write("", to: "run/empty")
      // MD5 of `ada:a realm, with ü:s3cret`, as `htdigest` would write it.
      try folder.write("ada:\(Self.realm):\(Self.key)\n", to: "users")
      try folder.write(
        """
        \(loaded)
        ServerRoot \(folder.url.path)
        DefaultRuntimeDir \(folder.path("run"))
        PidFile \(folder.path("run/pid"))
        ErrorLog \(folder.path("error.log"))
        Listen 127.0.0.1:\(port)
        ServerName 127.0.0.1
        # Without the rights of whoever runs the tests, if that is root.
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
      process = try TestProgram.apache.start(["-X", "-f", folder.path("apache.conf")])
      var isOpen = false
      for _ in 0..<1000 where !isOpen && process.isRunning {
        isOpen = (try? RawClient(port: port)) != nil
        if !isOpen { try await Task.sleep(for: .milliseconds(10)) }
      }
      try #require(isOpen, "apache2 did not start: \(process.outputSoFar)")
      url = "http://127.0.0.1:\(port)"
    }

    private static let key = "11b8716b86e3d3f9c13d5ce98089fca0"
  }

  /// Notes the status of each exchange.
  struct StatusNotes: Middleware {
    let statuses = Shared<[Int]>([])

    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: @Sendable (HTTPRequest) async throws -> StreamedResponse
    ) async throws -> StreamedResponse {
      let response = try await next(request)
      statuses.withLock { $0.append(response.status.rawValue) }
      return response
    }

    var all: [Int] { statuses.withLock { $0 } }
  }
#endif
