#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Apache with `mod_auth_gssapi`, which accepts the tickets of a ``KerberosRealm`` over HTTP and TLS.
  ///
  /// Apache forwards requests to a backend and includes the user's name. The response contains that name and the length
  /// of the request body. A login applies to all later requests on its connection.
  struct TicketServer: Sendable {
    /// The settings that a client needs.
    struct Place: Codable, Sendable {
      var port: Int
      var securePort: Int
      /// The path of the root certificate that issued the server's certificate.
      var root: String

      /// Returns the origin of a host in `martlet.test`.
      func origin(isSecure: Bool = true, host: String = "www") -> String {
        let (scheme, port) = isSecure ? ("https", securePort) : ("http", port)
        return "\(scheme)://\(host).martlet.test:\(port)"
      }

      /// Returns the URL of a path on a host.
      func url(_ path: String, isSecure: Bool = true, host: String = "www") -> RequestTarget {
        RequestTarget("\(raw: origin(isSecure: isSecure, host: host))\(raw: path)")
      }

      /// Returns a client that resolves the hosts of `martlet.test` to this server.
      func client(
        _ lane: Lane, _ configure: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
      ) -> HTTPClient {
        lane.client {
          $0.tls = .customRoots(pem: URL(filePath: root))
          for host in ["www", "other", "unknown"] { $0.resolve["\(host).martlet.test"] = ["127.0.0.1"] }
          configure(&$0)
        }
      }
    }

    /// A logged request.
    struct Entry: Hashable {
      /// The client's address and port.
      var connection: String
      var method: String
      var status: String
      /// The first word of `Authorization`, or a dash.
      var scheme: String
    }

    /// The server that a suite's tests share.
    @TaskLocal static var current: TicketServer?

    let place: Place
    let ticket: KerberosRealm.Ticket
    let nothing: KerberosRealm.Ticket
    let cutOff: KerberosRealm.Ticket
    /// The server behind Apache.
    let backend: MockServer
    fileprivate let log: String

    /// Returns the logged requests for a path, in order of completion.
    func entries(_ path: String) throws -> [Entry] {
      try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        .map { $0.split(separator: " ", omittingEmptySubsequences: false).map(String.init) }
        .filter { $0.count >= 5 && $0[2] == path }
        .map { Entry(connection: $0[0], method: $0[1], status: $0[3], scheme: $0[4]) }
    }

    fileprivate static let module = TestProgram.modules.map { "\($0)/mod_auth_gssapi.so" }

    /// The reason the server cannot run here, or `nil`.
    static let problem: String? = {
      let programs: [TestProgram] = [.apache, .openssl, .krb5kdc, .kdb5Util, .kadminLocal, .kinit]
      var missing = programs.filter { $0.url == nil }.map(\.name)
      if !FileManager.default.fileExists(atPath: module ?? "") { missing.append("mod_auth_gssapi") }
      let packages = "krb5-kdc, krb5-admin-server, krb5-user, apache2-bin and libapache2-mod-auth-gssapi have them"
      return missing.isEmpty ? nil : "\(missing.joined(separator: " and ")) is not installed: \(packages)"
    }()
  }

  extension TestProgram {
    /// The folder of Apache's modules.
    static let modules = ["/usr/lib/apache2/modules", "/usr/libexec/apache2", "/usr/lib64/httpd/modules"]
      .first { FileManager.default.fileExists(atPath: $0) }
  }

  extension Trait where Self == Needs {
    /// Skips the test if Kerberos or Apache's module for it is missing, except in CI.
    static var needsKerberos: Needs {
      .needs(.apache, .openssl, .krb5kdc, .kdb5Util, .kadminLocal, .kinit, problem: TicketServer.problem)
    }
  }

  extension Trait where Self == Surroundings<TicketServer> {
    /// Starts a ``TicketServer`` for the suite.
    static var ticketServer: Surroundings<TicketServer> {
      Surroundings(facts: TicketServer.$current) {
        let running = try await RunningTicketServer()
        return (running.facts, running)
      }
    }
  }

  /// The processes of a ``TicketServer``, which end when they are released.
  private struct RunningTicketServer {
    let facts: TicketServer
    private let realm: KerberosRealm
    private let authority: CertificateAuthority
    private let process: ToolProcess
    private let folder: TemporaryFolder

    init() async throws {
      try #require(TicketServer.problem == nil, "\(TicketServer.problem ?? ""), which CI has to do")
      let realm = try await KerberosRealm()
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity(
        for: "DNS:www.martlet.test,DNS:other.martlet.test,DNS:unknown.martlet.test")
      let folder = try TemporaryFolder()
      let backend = try MockServer { request in
        .ok("\(request.header("X-User") ?? "") \(request.bodyLength)")
      }
      let place = TicketServer.Place(
        port: try MockServer.refusedPort(), securePort: try MockServer.refusedPort(), root: authority.root.path)
      try folder.write("", to: "run/empty")
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path("run"))
      try folder.write(Self.configuration(place, identity, realm, backend, folder.url.path), to: "apache.conf")
      let environment = [
        "KRB5_CONFIG": realm.configuration, "KRB5RCACHENAME": "file2:\(folder.path("run/replays"))",
      ]
      let process = try TestProgram.apache.start(["-X", "-f", folder.path("apache.conf")], environment: environment)
      let isOpen = await process.opens(place.port, place.securePort)
      try #require(isOpen, "apache2 did not start: \(process.outputSoFar)")
      facts = TicketServer(
        place: place, ticket: realm.ticket, nothing: realm.nothing, cutOff: realm.cutOff, backend: backend,
        log: folder.path("access.log"))
      (self.realm, self.authority, self.process, self.folder) = (realm, authority, process, folder)
    }

    private static func configuration(
      _ place: TicketServer.Place, _ identity: CertificateAuthority.Identity, _ realm: KerberosRealm,
      _ backend: MockServer, _ folder: String
    ) -> String {
      let modules = TestProgram.modules ?? ""
      let names = ["mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi", "headers", "ssl", "http2"]
      let loaded = (names + ["proxy", "proxy_http"])
        .map { "LoadModule \($0)_module \(modules)/mod_\($0).so" }.joined(separator: "\n")
      return """
        \(loaded)
        ServerRoot \(folder)
        DefaultRuntimeDir \(folder)/run
        PidFile \(folder)/run/pid
        ErrorLog \(folder)/error.log
        LogFormat "%{c}a:%{remote}p %m %U %>s %{Authorization}i" short
        CustomLog \(folder)/access.log short
        Listen 127.0.0.1:\(place.port)
        Listen 127.0.0.1:\(place.securePort) https
        ServerName www.martlet.test
        User daemon
        Group daemon
        <VirtualHost *:\(place.securePort)>
          SSLEngine on
          SSLCertificateFile \(identity.certificate.path)
          SSLCertificateKeyFile \(identity.key.path)
          Protocols h2 http/1.1
        </VirtualHost>
        ProxyPass / \(backend.url)/
        <Location />
          AuthType GSSAPI
          AuthName "tickets"
          GssapiCredStore keytab:\(realm.keytab)
          GssapiAllowedMech krb5
          GssapiConnectionBound On
          Require valid-user
          RequestHeader set X-User "expr=%{REMOTE_USER}"
        </Location>

        """
    }
  }
#endif
