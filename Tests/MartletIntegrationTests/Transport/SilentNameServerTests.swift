#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The system's own lookups with a name server that never responds, which no system call can end.
  ///
  /// Another process runs the test in separate namespaces, which contain the name server and the file that names it.
  @Suite(.hangLimit) struct SilentNameServerTests {
    private static let variable = "MARTLET_SILENT_NAME_SERVER"
    private static let address = "127.0.0.53"

    @Test(.needs(.countedLookups), .needs(.unshare))
    func `abandoned lookups count toward the connection limit until they end`() async throws {
      let folder = try TemporaryFolder()
      let settings = try folder.write(
        "nameserver \(Self.address)\noptions timeout:1 attempts:2\n", to: "resolv.conf")
      let names = try folder.write("hosts: files dns\n", to: "nsswitch.conf")
      let script = """
        mount --bind '\(settings.path)' /etc/resolv.conf && mount --bind '\(names.path)' /etc/nsswitch.conf || exit 77
        exec "$0" --testing-library swift-testing --filter 'SilentNameServerTests/`inside'
        """
      let program = try #require(CommandLine.arguments.first)
      let arguments = ["--map-root-user", "--mount", "--net", "sh", "-c", script, program]

      let result = try await TestProgram.unshare.start(arguments, environment: [Self.variable: "1", "LC_ALL": "C"])
        .end()

      if result.status == 77 || result.errors.hasPrefix("unshare: ") {
        try Test.cancel("this system has no namespaces for this user: \(result.errors)")
      }
      #expect(result.status == 0, "\(result.text)\n\(result.errors)")
      #expect(result.errors.contains("1 test "), "\(result.text)\n\(result.errors)")
    }

    @Test(
      .enabled(if: ProcessInfo.processInfo.environment[Self.variable] == "1", "the other test runs this one"),
      arguments: [Lane.curl])
    func `inside: bounds the threads and descriptors of lookups and frees their slots`(_ lane: Lane) async throws {
      try Self.beginLoopback()
      let nameServer = try Self.listenInSilence()
      defer { close(nameServer) }
      let server = try MockServer(.ok("here"))
      let client = lane.client {
        $0.timeout = TimeoutPolicy(total: .milliseconds(200))
        $0.maximumConnections = 8
      }
      #expect(try await client.get(RequestTarget(server.url("/"))).text == "here")
      let (threads, descriptors) = (ProcessFacts.threadCount, ProcessFacts.descriptorCount)
      let peak = Shared((threads: 0, descriptors: 0))

      let kinds = await withTaskGroup(of: [HTTPError.Kind?].self) { group in
        for wave in 0..<40 {
          group.addTask {
            var kinds: [HTTPError.Kind?] = []
            for number in 0..<10 {
              let error = await #expect(throws: HTTPError.self) {
                _ = try await client.get("http://name\(wave)-\(number).test/")
              }
              kinds.append(error?.kind)
              peak.withLock {
                $0.threads = max($0.threads, ProcessFacts.threadCount)
                $0.descriptors = max($0.descriptors, ProcessFacts.descriptorCount)
              }
            }
            return kinds
          }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }

      #expect(kinds.count == 400 && kinds.allSatisfy { $0 == .timedOut })
      let (peakThreads, peakDescriptors) = peak.withLock { $0 }
      // Each lookup has a thread, its socket, a pair that reports its end, and a copy of one of these. The thread pool
      // has one thread for each processor.
      let most = 12 + ProcessInfo.processInfo.activeProcessorCount
      #expect((8...most).contains(peakThreads - threads), "\(peakThreads) threads, \(threads) before")
      #expect(peakDescriptors - descriptors <= 8 * 5, "\(peakDescriptors) descriptors, \(descriptors) before")
      let answer = try await client.get(RequestTarget(server.url("/")), options: .timeout(.seconds(30)))
      #expect(answer.text == "here")
      #expect(await becomes { ProcessFacts.descriptorCount <= descriptors + 1 })
    }

    /// Brings up the loopback interface, which is down in a new network namespace.
    private static func beginLoopback() throws {
      let socket = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
      defer { close(socket) }
      var request = ifreq()
      withUnsafeMutableBytes(of: &request.ifr_ifrn) { $0.copyBytes(from: "lo".utf8) }
      request.ifr_ifru.ifru_flags = Int16(IFF_UP | IFF_RUNNING)
      try #require(ioctl(socket, UInt(SIOCSIFFLAGS), &request) == 0)
    }

    private static func listenInSilence() throws -> CInt {
      let socket = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(53).bigEndian
      inet_pton(AF_INET, Self.address, &address.sin_addr)
      let isBound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      try #require(isBound)
      return socket
    }
  }
#endif
