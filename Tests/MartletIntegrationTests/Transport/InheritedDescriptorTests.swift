#if os(Linux)
  import CMartletShim
  import Foundation
  import MartletOutbox
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Programs that a process starts inherit none of Martlet's descriptors.
  @Suite(.ownThreads, .hangLimit) struct InheritedDescriptorTests {
    /// Returns the descriptors of a program that is started now, except for its standard streams.
    static func inherited(_ folder: TemporaryFolder) throws -> Set<String> {
      let list = try #require(TestProgram.list.url)
      let output = folder.path("inherited")
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      let words: [String] = ["ls", "-l", "/proc/self/fd"]
      let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
      defer { for argument in arguments { free(argument) } }
      var child: pid_t = 0
      // Foundation's `Process` closes the descriptors that the program should not have, so it is not used.
      try #require(posix_spawn(&child, list.path, &actions, nil, arguments + [nil], [nil]) == 0)
      var status: CInt = 0
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      let links = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").compactMap { line in
        line.split(separator: " -> ").count == 2 ? line.split(separator: " ").suffix(3) : nil
      }
      // One is the folder that the program lists. Others may come from the test process, which may have had another
      // test's file open when it started this process, and the file's name may change.
      return Set(links.filter { Int($0.first ?? "") ?? 0 > 2 }.compactMap(\.last).map { String($0) })
        .filter { !$0.hasPrefix("/proc/") }
        .filter { !$0.contains("/martlet-") || $0.contains(folder.url.lastPathComponent) }
    }

    @Test(.needs(.ownDescriptors), .needs(.list), arguments: Lane.engines)
    func `a child process inherits no descriptors of an active client`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let folder = try TemporaryFolder()
        let server = try MockServer { (request: RecordedRequest) in
          switch request.path {
          case "/rest": .ok("x", headers: ["Cache-Control": "max-age=600", "Set-Cookie": "a=b; Max-Age=600"])
          case "/begun": .raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc", thenClose: false)
          default: .steps([.hang])
          }
        }
        let full = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
        let upload = try folder.write(Data(count: 50_000_000), to: "upload")
        let before = try InheritedDescriptorTests.inherited(folder)
        let client = lane.client {
          $0.cache = .disk(folder.url.appending(path: "cache"))
          $0.timeout = .unlimited
        }
        let outbox = try await client.outbox(at: folder.url.appending(path: "outbox"))

        _ = try await client.get(RequestTarget(server.url("/rest")))
        client.start(.get(RequestTarget(server.url("/wait"))))
        client.start(.get(RequestTarget(server.url("/begun"))))
        client.start(.put(RequestTarget(full.url("/")), body: .file(upload)))
        let file = folder.url.appending(path: "file")
        let download = Task { try await client.download(.get(RequestTarget(server.url("/begun"))), to: file) }
        try await outbox.submit(.post(RequestTarget(server.url("/wait")), body: .data(Data(count: 1000))))
        #expect(await server.wait { $0.openConnections >= 4 })
        #expect(await becomes { full.openConnections == 1 })
        #expect(await becomes { folder.names.contains { $0.hasSuffix(".part") } })

        var inherited = try InheritedDescriptorTests.inherited(folder)
        // A descriptor that Foundation opens only briefly is gone the second time.
        if inherited != before { inherited.formIntersection(try InheritedDescriptorTests.inherited(folder)) }

        // A Foundation session has its own multi handle, with a socket pair that cannot be identified.
        let foreign = lane == .curl ? 0 : 2
        #expect(inherited.subtracting(before).count <= foreign, "\(inherited.subtracting(before))")
        download.cancel()
      }
    }

    /// Records the files of a folder that this process has open and a program would inherit, on a separate thread.
    final class FileWatch: Sendable {
      private let state = Shared((isOver: false, hasEnded: false, names: Set<String>()))

      init(_ folder: TemporaryFolder) {
        let name = folder.url.lastPathComponent
        Thread { [state] in
          while !state.value.isOver {
            for descriptor in CInt(3)..<400 {
              // The check is repeated, because the number may belong to another file by then.
              guard let file = Self.inheritable(descriptor), file.contains(name) else { continue }
              if Self.inheritable(descriptor) == file { state.withLock { _ = $0.names.insert(file) } }
            }
          }
          state.withLock { $0.hasEnded = true }
        }.start()
      }

      /// Returns the file of a descriptor that a program would inherit.
      private static func inheritable(_ descriptor: CInt) -> String? {
        let flags = fcntl(descriptor, F_GETFD)
        guard flags >= 0, flags & FD_CLOEXEC == 0 else { return nil }
        return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
      }

      /// Stops watching.
      ///
      /// - Returns: The recorded files.
      func end() async -> Set<String> {
        state.withLock { $0.isOver = true }
        await state.wait { $0.hasEnded }
        return state.value.names
      }
    }

    /// The locations of a test's servers.
    struct Places: Codable {
      var root: URL
      var port: Int
      var unix: String
      var proxies: [String]
    }

    /// Connects over TLS, through proxies and to a Unix socket, and uses everything that a client stores on disk.
    static func expectNothingInherited(_ lane: Lane, _ places: Places) async throws {
      let folder = try TemporaryFolder()
      let before = try inherited(folder)
      let credentials = Authenticators.FileCredentialStore(folder.url.appending(path: "credentials"))
      let client = lane.client {
        $0.tls = .customRoots(pem: places.root)
        $0.cookies = .file(folder.url.appending(path: "cookies"))
        $0.cache = .disk(folder.url.appending(path: "cache"))
        $0.guards = [.hsts(.file(folder.url.appending(path: "hsts")))]
        $0.timeout = .unlimited
      }
      let outbox = try await client.outbox(at: folder.url.appending(path: "outbox"))
      let server = "https://localhost:\(places.port)"
      let watch = FileWatch(folder)

      for number in 1...20 {
        // The client stores each response or its cookie, and also the host's HSTS policy.
        _ = try await client.get(RequestTarget("\(raw: server)/\(number)"))
        let space = ProtectionSpace(scheme: "https", host: "h\(number).test", port: 443)
        try await credentials.set(.user("u", password: "p"), for: space)
        try await outbox.submit(.post(RequestTarget("\(raw: server)/0"), body: .data(Data(count: 100))))
      }
      let names: Set<String> = ["cookies", "hsts", "credentials", "cache", "outbox"]
      #expect(await becomes { names.isSubset(of: folder.names) }, "\(folder.names)")
      client.start(.get(RequestTarget("\(raw: server)/0")))
      let body = HTTPBody.stream(UploadPieces(Data(count: 10_000), count: 100)).spooled(in: folder.url)
      client.start(.put(RequestTarget("\(raw: server)/0"), body: body))
      var clients: [HTTPClient] = []
      for proxy in places.proxies {
        let behind = client.derived { $0.proxy = .proxy(Proxy(proxy)) }
        #expect(try await behind.get("https://localhost/200/nothing/0/1").text == "1")
        clients.append(behind)
      }
      let local = client.derived { $0.unixSocket = places.unix }
      #expect(try await local.get("http://local.example/200/nothing/0/1").text == "1")
      // The body never yields a chunk.
      let (pieces, continuation) = AsyncStream<Data>.makeStream()
      local.start(.put("http://local.example/200/nothing/0/1", body: .stream(pieces, length: 10)))
      // The file of the spooled body no longer has a name.
      #expect(
        await becomes {
          links().contains { $0.hasSuffix("(deleted)") && $0.contains(folder.url.lastPathComponent) }
        }, "\(links())")

      // The following code itself opens a file that a program would inherit.
      let found = await watch.end()
      #expect(found.isEmpty, "\(found)")
      for _ in 0..<5 {
        let more = try inherited(folder).subtracting(before)
        // As above, each Foundation session has a socket pair.
        let foreign = lane == .curl ? 0 : 2 * (2 + clients.count)
        #expect(more.count <= foreign && !more.contains { $0.contains(folder.url.lastPathComponent) }, "\(more)")
      }
      continuation.finish()
    }

    /// Returns the files that this process has open.
    private static func links() -> [String] {
      let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    }

    @Test(.needs(.ownDescriptors), .needs(.list, .openssl, .python), arguments: Lane.engines)
    func `a child process inherits no TLS, proxy, unix socket or file descriptors`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let folder = try TemporaryFolder()
      let server = try ByteServer(identity) { number in
        // A response that sets a cookie is not stored.
        let fields = number % 2 == 0 ? "Cache-Control: max-age=600\r\n" : "Set-Cookie: a=\(number); Max-Age=600\r\n"
        let head = "HTTP/1.1 200 OK\r\n\(fields)Strict-Transport-Security: max-age=\(number)\r\n"
        // The first requests never get a response.
        return DeliveryPlan(pieces: number == 0 ? [] : [Array("\(head)Content-Length: 1\r\n\r\nx".utf8)], end: .keep)
      }
      defer { server.stop() }
      let local = try await WireServer(path: folder.path("s"))
      let tunnel = try await WireServer(identity, .tunnel)
      let secureTunnel = try await WireServer(identity, .secureTunnel)
      let places = Places(
        root: authority.root, port: server.port, unix: folder.path("s"),
        proxies: ["http://127.0.0.1:\(tunnel.port)", "https://127.0.0.1:\(secureTunnel.port)"])

      await #expect(processExitsWith: .success) { [lane = lane as Lane, places = places as Places] in
        try await InheritedDescriptorTests.expectNothingInherited(lane, places)
      }
      withExtendedLifetime(local) {}
    }

    @Test func `sets close-on-exec on both ends of a socket pair and on no other pair`() throws {
      let (pair, other) = (try makeSocketPair(), try makeSocketPair())
      defer { for end in pair + other { close(end) } }

      martlet_keep_from_children(other[1])

      #expect(other.map { fcntl($0, F_GETFD) } == [FD_CLOEXEC, FD_CLOEXEC])
      #expect(pair.map { fcntl($0, F_GETFD) } == [0, 0])
      // Sockets with any other use are unchanged.
      #expect(send(other[0], "x", 1, 0) == 1 && martlet_inherited_bytes(other[1]) == -1)
    }
  }
#endif
