#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Errors about a Unix socket that accepts no connection.
  @Suite(.ownThreads, .hangLimit) struct UnixSocketErrorTests {
    /// Returns a socket that listens at a path, unless `backlog` is `nil`.
    private static func listening(_ path: String, backlog: Int32? = 8) throws -> Int32 {
      let descriptor = try made(path, bind)
      if let backlog { try #require(listen(descriptor, backlog) == 0) }
      return descriptor
    }

    /// Returns a socket after a system call, `bind` or `connect`, with the address of a path.
    private static func made(
      _ path: String, _ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
    ) throws -> Int32 {
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let code = withUnsafeBytes(of: &address) {
        call(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, size)
      }
      try #require(code == 0)
      return descriptor
    }

    private static func message(_ path: String) async -> String? {
      let client = HTTPClient { $0.unixSocket = path }
      let error = await #expect(throws: HTTPError.self) { try await client.get("http://nowhere.example/") }
      #expect(error?.kind == .cannotConnect)
      return error?.message
    }

    private static let refused = "refused the connection: no program listens on it, or its queue is full"

    @Test func `a socket without a listener refuses connections`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("s")
      let socket = try Self.listening(path, backlog: nil)
      defer { close(socket) }

      #expect(await Self.message(path) == "the Unix socket '\(path)' \(Self.refused)")
    }

    @Test(.needs(.refusesFullQueues)) func `a socket with a full queue refuses connections`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("s")
      // The queue has room for one connection.
      let sockets = [try Self.listening(path, backlog: 0), try Self.made(path, connect)]
      defer { for socket in sockets { close(socket) } }

      #expect(await Self.message(path) == "the Unix socket '\(path)' \(Self.refused)")
    }

    @Test func `names the missing permission for a socket or its folder`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let (path, hidden, inner) = (folder.path("s"), folder.path("inner/s"), folder.path("inner"))
        try #require(mkdir(inner, 0o755) == 0)
        let descriptors = [try UnixSocketErrorTests.listening(path), try UnixSocketErrorTests.listening(hidden)]
        try #require(chmod(path, 0) == 0 && chmod(inner, 0) == 0 && chmod(folder.url.path, 0o755) == 0)
        // Permissions do not restrict root, so the test drops root's rights.
        let isRoot = geteuid() == 0
        if isRoot { try #require(seteuid(65_534) == 0) }

        for path in [path, hidden] {
          let message = await UnixSocketErrorTests.message(path)
          #expect(message == "the Unix socket '\(path)' cannot be reached: Permission denied")
        }

        if isRoot { seteuid(0) }
        chmod(inner, 0o755)
        for descriptor in descriptors { close(descriptor) }
      }
    }
  }
#endif
