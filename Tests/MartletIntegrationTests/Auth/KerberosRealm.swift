#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  extension TestProgram {
    static let krb5kdc = TestProgram("krb5kdc")
    static let kdb5Util = TestProgram("kdb5_util")
    static let kadminLocal = TestProgram("kadmin.local")
    static let kinit = TestProgram("kinit")
  }

  /// A Kerberos realm with MIT's key distribution center, all of whose files are in a temporary folder.
  ///
  /// Its only user is ada, and its only services are `www` and `other` in `martlet.test`. Servers receive only the key
  /// of `www`.
  final class KerberosRealm {
    /// The settings that a process needs to use its tickets.
    struct Ticket: Codable, Sendable {
      var configuration: String
      var cache: String

      /// Makes this process use the tickets.
      ///
      /// Exit tests call it before anything else.
      func use() {
        setenv("KRB5_CONFIG", configuration, 1)
        setenv("KRB5CCNAME", "FILE:\(cache)", 1)
      }
    }

    private let folder: TemporaryFolder
    private let centre: ToolProcess

    /// Creates the realm, starts its server on a free port and signs ada in.
    ///
    /// - Throws: A test failure if the server does not start.
    init() async throws {
      let folder = try TemporaryFolder()
      func configure(port: Int) throws {
        try folder.write(Self.configuration(port: port), to: "krb5.conf")
        try folder.write(Self.centre(port: port, folder.url.path), to: "kdc.conf")
      }
      try configure(port: 1)
      try folder.write(Self.configuration(port: 1), to: "dead.conf")
      let environment = [
        "KRB5_CONFIG": folder.path("krb5.conf"), "KRB5_KDC_PROFILE": folder.path("kdc.conf"),
        "KRB5CCNAME": "FILE:\(folder.path("tickets"))",
      ]
      try await TestProgram.kdb5Util.run(
        ["create", "-s", "-r", "MARTLET.TEST", "-P", "master"], environment: environment)
      for query in [
        "add_principal -randkey ada", "ktadd -k \(folder.path("ada.keytab")) ada",
        "add_principal -randkey HTTP/www.martlet.test", "ktadd -k \(folder.path("keytab")) HTTP/www.martlet.test",
        "add_principal -randkey HTTP/other.martlet.test",
      ] {
        try await TestProgram.kadminLocal.run(["-q", query], environment: environment)
      }
      let running = try await ToolProcess.listening("krb5kdc") { port in
        try configure(port: port)
        return try TestProgram.krb5kdc.start(["-n", "-P", folder.path("pid")], environment: environment)
      }
      (self.folder, centre) = (folder, running.process)
      try await TestProgram.kinit.run(["-k", "-t", folder.path("ada.keytab"), "ada"], environment: environment)
      try FileManager.default.copyItem(atPath: folder.path("tickets"), toPath: folder.path("first"))
      // Servers may run with fewer rights than the tests, so the key must be readable by everyone.
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.path("keytab"))
    }

    /// The path of the key of `HTTP/www.martlet.test`.
    var keytab: String { folder.path("keytab") }
    var configuration: String { folder.path("krb5.conf") }

    /// The tickets of ada, who has signed in.
    var ticket: Ticket { Ticket(configuration: configuration, cache: folder.path("tickets")) }
    /// The settings of a user who has not signed in.
    var nothing: Ticket { Ticket(configuration: configuration, cache: folder.path("nothing")) }
    /// The ticket-granting ticket of ada, with a key distribution center that is unreachable.
    var cutOff: Ticket { Ticket(configuration: folder.path("dead.conf"), cache: folder.path("first")) }

    private static func configuration(port: Int) -> String {
      """
      [libdefaults]
      default_realm = MARTLET.TEST
      dns_lookup_realm = false
      dns_lookup_kdc = false
      dns_canonicalize_hostname = false
      rdns = false
      udp_preference_limit = 1
      [realms]
      MARTLET.TEST = {
        kdc = 127.0.0.1:\(port)
      }
      [domain_realm]
      .martlet.test = MARTLET.TEST

      """
    }

    private static func centre(port: Int, _ folder: String) -> String {
      """
      [kdcdefaults]
      kdc_listen = 127.0.0.1:\(port)
      kdc_tcp_listen = 127.0.0.1:\(port)
      [realms]
      MARTLET.TEST = {
        database_name = \(folder)/principal
        key_stash_file = \(folder)/stash
        acl_file = \(folder)/acl
        supported_enctypes = aes128-cts-hmac-sha256-128:normal
      }
      [logging]
      kdc = FILE:\(folder)/kdc.log
      default = FILE:\(folder)/kdc.log

      """
    }
  }
#endif
