#if os(Linux)
  import CMartletShim
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// What the programs that a process starts get of Martlet's descriptors: nothing.
  @Suite(.ownThreads, .hangLimit) struct InheritedDescriptorTests {
    /// The descriptors that a program has which is started now, beyond its input, output and errors.
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
      // Not Foundation's `Process`, which closes what the program is not to have.
      try #require(posix_spawn(&child, list.path, &actions, nil, arguments + [nil], [nil]) == 0)
      var status: CInt = 0
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      let links = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").compactMap { line in
        line.split(separator: " -> ").count == 2 ? line.split(separator: " ").suffix(3) : nil
      }
      // One is the folder that it lists.
      return Set(links.filter { Int($0.first ?? "") ?? 0 > 2 }.compactMap(\.last).map { String($0) })
        .filter { !$0.hasPrefix("/proc/") }
    }

    @Test(.needs(.list), arguments: Lane.engines)
    func `a program inherits no descriptor of a client that is at work`(_ lane: Lane) async {
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
        let download = Task { try await client.download(RequestTarget(server.url("/begun")), to: file) }
        try await outbox.submit(.post(RequestTarget(server.url("/wait")), body: .data(Data(count: 1000))))
        #expect(await server.wait { $0.openConnections >= 4 })
        #expect(await becomes { full.openConnections == 1 })
        #expect(await becomes { folder.names.contains { $0.hasSuffix(".part") } })

        let inherited = try InheritedDescriptorTests.inherited(folder)

        // A session of Foundation's has a multi handle of its own, with a pair of sockets that nothing can name.
        let foreign = lane == .urlSession ? 2 : 0
        #expect(inherited.subtracting(before).count <= foreign, "\(inherited.subtracting(before))")
        download.cancel()
      }
    }

    @Test func `both ends of a pair are kept from children, wherever the other one is`() throws {
      let (pair, other) = (try makeSocketPair(), try makeSocketPair())
      defer { for end in pair + other { close(end) } }

      martlet_keep_from_children(other[1])

      #expect(other.map { fcntl($0, F_GETFD) } == [FD_CLOEXEC, FD_CLOEXEC])
      #expect(pair.map { fcntl($0, F_GETFD) } == [0, 0])
      // What is used for anything else is as it was.
      #expect(send(other[0], "x", 1, 0) == 1 && martlet_inherited_bytes(other[1]) == -1)
    }
  }
#endif
