#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  extension TestProgram {
    static let squid = TestProgram("squid")
  }

  /// squid, which admits ada and bob, or everyone, depending on the port.
  struct SquidProxy: Sendable {
    /// The authentication that a port requires.
    enum Entrance: String, CaseIterable, Sendable {
      case open, basic
      /// Offers Basic as well, for clients without Digest.
      case digest
    }

    /// A logged request.
    struct Entry: Hashable {
      var status: String
      var method: String
      /// A URL, or a host and port.
      var target: String
      /// The authenticated user, or a dash.
      var user: String
      /// The first word of `Proxy-Authorization`, or a dash.
      var scheme: String
      /// The nonce in `Proxy-Authorization`, if any.
      var nonce: String?
    }

    static let password = "secret"

    /// The proxy that a suite's tests share.
    @TaskLocal static var current: SquidProxy?

    private let ports: [Entrance: Int]
    private let log: String

    /// Returns the URL of a port.
    func url(_ entrance: Entrance) -> String { "http://127.0.0.1:\(ports[entrance] ?? 0)" }

    /// Returns the requests for a target, in order of completion; a tunnel is logged only when it closes.
    func entries(_ target: String) throws -> [Entry] {
      try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        .map { $0.split(separator: " ").map(String.init) }
        .filter { $0.count >= 5 && $0[2] == target }
        .map { words in
          let scheme = words[4].prefix { $0 != "%" }
          // Quotes and spaces are percent-encoded in the log.
          let nonce = words[4].components(separatedBy: ",%20nonce=%22").dropFirst().first?.prefix { $0 != "%" }
          return Entry(
            status: words[0], method: words[1], target: words[2], user: words[3], scheme: String(scheme),
            nonce: nonce.map { String($0) })
        }
    }

    private static let helpers = "/usr/lib/squid"

    /// The reason squid cannot run here, or `nil`.
    static let problem: String? = {
      let programs = ["\(helpers)/basic_ncsa_auth", "\(helpers)/digest_file_auth"]
      guard TestProgram.squid.url != nil else { return "squid is not installed" }
      guard programs.allSatisfy(FileManager.default.isExecutableFile) else {
        return "squid's helpers for passwords are not in \(helpers)"
      }
      return nil
    }()

    /// A running squid, whose process ends when it is released.
    final class Running {
      let facts: SquidProxy
      private let name: String
      private let process: ToolProcess
      private let folder: TemporaryFolder

      init() async throws {
        try #require(SquidProxy.problem == nil, "\(SquidProxy.problem ?? ""), which CI has to do")
        let folder = try TemporaryFolder()
        let name = "martlet\(UInt32.random(in: 0...UInt32.max))"
        let ports = try [Entrance: Int](
          uniqueKeysWithValues: Entrance.allCases.map { ($0, try MockServer.refusedPort()) })
        // MD5 in Apache's format, as `htpasswd` would write it.
        let key = "$apr1$martlet1$EZyVhxgK33miPv/KA0VKv/"
        try folder.write("ada:\(key)\nbob:\(key)\n", to: "basic")
        try folder.write("ada:\(SquidProxy.password)\nbob:\(SquidProxy.password)\n", to: "digest")
        try folder.write("", to: "own/access.log")
        // squid drops root's rights if the tests run as root, so its files must be writable by everyone.
        for (path, mode) in [("own", 0o777), ("own/access.log", 0o666)] {
          try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path(path))
        }
        try folder.write(SquidProxy.configuration(ports, folder.url.path), to: "squid.conf")
        let process = try TestProgram.squid.start(["-N", "-n", name, "-f", folder.path("squid.conf")])
        let isOpen = await process.opens(Array(ports.values))
        let log = String(decoding: (try? folder.contents("own/cache.log")) ?? Data(), as: UTF8.self)
        try #require(isOpen, "squid did not start: \(process.outputSoFar)\(log)")
        facts = SquidProxy(ports: ports, log: folder.path("own/access.log"))
        (self.name, self.process, self.folder) = (name, process, folder)
      }

      deinit {
        // squid takes seconds to shut down, and a killed squid leaves these segments behind.
        process.send(SIGKILL)
        for segment in (try? FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) ?? []
        where segment.hasPrefix("\(name)-") {
          try? FileManager.default.removeItem(atPath: "/dev/shm/\(segment)")
        }
      }
    }

    private static func configuration(_ ports: [Entrance: Int], _ folder: String) -> String {
      let listening = ports.map { "http_port 127.0.0.1:\($1) name=\($0)" }.joined(separator: "\n")
      return """
        \(listening)
        pid_filename \(folder)/own/pid
        cache_log \(folder)/own/cache.log
        logformat facts %>Hs %rm %ru %un %{Proxy-Authorization}>h
        access_log stdio:\(folder)/own/access.log facts
        strip_query_terms off
        coredump_dir \(folder)/own
        cache deny all
        cache_mem 0 MB
        pinger_enable off
        visible_hostname martlet.test
        forwarded_for delete
        auth_param digest program \(helpers)/digest_file_auth \(folder)/digest
        auth_param digest children 1
        auth_param digest realm a proxy
        auth_param digest nonce_max_count 10
        auth_param basic program \(helpers)/basic_ncsa_auth \(folder)/basic
        auth_param basic children 1
        auth_param basic realm a proxy
        acl open myportname open
        acl basic myportname basic
        acl known proxy_auth REQUIRED
        auth_schemes basic basic
        http_access allow open
        http_access allow known
        http_access deny all

        """
    }
  }

  extension Trait where Self == Needs {
    /// Skips the test if squid is missing, except in CI.
    static var needsSquid: Needs { .needs(.squid, problem: SquidProxy.problem) }
  }

  extension Trait where Self == Surroundings<SquidProxy> {
    /// Starts a ``SquidProxy`` for the suite.
    static var squidProxy: Surroundings<SquidProxy> {
      Surroundings(facts: SquidProxy.$current) {
        let running = try await SquidProxy.Running()
        return (running.facts, running)
      }
    }
  }
#endif
