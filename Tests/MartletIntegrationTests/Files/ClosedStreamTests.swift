#if os(Linux)
  import CMartletShim
  import Foundation
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// A process whose standard input is closed, so the next file or socket could receive its number.
  @Suite(.ownThreads, .hangLimit) struct ClosedStreamTests {
    /// Whether a descriptor may belong to Martlet.
    ///
    /// libcurl wakes itself with a pair of Unix sockets or, in newer versions, with an eventfd. These may have any
    /// number.
    private static func isTaken(_ descriptor: Int32) -> Bool {
      if name(descriptor).hasSuffix("[eventfd]") { return false }
      var address = sockaddr_storage()
      var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let code = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
      }
      return code == 0 ? address.ss_family != sa_family_t(AF_UNIX) : fcntl(descriptor, F_GETFD) >= 0
    }

    private static func name(_ descriptor: Int32) -> String {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? ""
    }

    /// Starts a timer on each clock: libdispatch keeps a descriptor for each, which would take the number later.
    private static func openTimers() async throws {
      let moment = DispatchTimeInterval.milliseconds(1)
      await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + moment) {
          DispatchQueue.global().asyncAfter(wallDeadline: .now() + moment) { continuation.resume() }
        }
      }
      try await Task.sleep(for: .milliseconds(1), clock: .continuous)
      try await Task.sleep(for: .milliseconds(1), clock: .suspending)
    }

    @Test(arguments: Lane.engines)
    func `no file or connection takes the descriptor of a closed standard stream`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let folder = try TemporaryFolder()
        let server = try MockServer { (request: RecordedRequest) in
          request.path == "/rest"
            ? .ok("x", headers: ["Cache-Control": "max-age=600", "Set-Cookie": "a=b; Max-Age=600"])
            : .raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc", thenClose: false)
        }
        let upload = try folder.write(Data(count: 1000), to: "upload")
        try await Self.openTimers()
        close(0)
        let client = lane.client {
          $0.cache = .disk(folder.url.appending(path: "cache"))
          $0.timeout = .unlimited
        }

        _ = try await client.get(RequestTarget(server.url("/rest")))
        #expect(!Self.isTaken(0), "\(Self.name(0))")
        client.start(.put(RequestTarget(server.url("/begun")), body: .file(upload)))
        #expect(await server.waitForRequests(2))
        #expect(!Self.isTaken(0), "\(Self.name(0))")
        let download = Task {
          try await client.download(.get(RequestTarget(server.url("/begun"))), to: folder.url.appending(path: "file"))
        }
        #expect(await server.waitForRequests(3))
        #expect(!Self.isTaken(0), "\(Self.name(0))")
        download.cancel()
      }
    }

    /// Returns the results of the calls that open a descriptor, with two standard streams closed.
    private static func openAll(in folder: TemporaryFolder) async throws -> [Int32?] {
      let path = try folder.write("x", to: "file").path
      // The fields of `struct curl_sockaddr` before its address.
      let address: [Int32] = [AF_INET, Int32(SOCK_STREAM.rawValue), 0, 0]
      close(0)
      close(1)
      let wake = martlet_wake_new()
      return [
        OpenFile.at(path, O_RDONLY)?.number, try DiskFolder.open(folder.url.path)?.number, wake,
        martlet_poll_new(wake), martlet_open(path),
        address.withUnsafeBytes { martlet_memory_file($0.baseAddress, 4) },
        address.withUnsafeBytes { $0.baseAddress.map { martlet_socket_new($0) } },
        ParentFolder.Calls.system.open(folder.url.path),
      ]
    }

    @Test func `each call that opens a descriptor leaves the standard streams alone`() async {
      await #expect(processExitsWith: .success) {
        let opened = try await Self.openAll(in: TemporaryFolder())

        #expect(opened.count == 8 && opened.allSatisfy { $0 ?? 0 > 2 }, "\(opened)")
        #expect(fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0)
      }
    }
  }
#endif
