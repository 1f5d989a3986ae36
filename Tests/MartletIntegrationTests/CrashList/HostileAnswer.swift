#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// One answer that the system's loader of Linux does not bear, or did not without our care.
  struct HostileAnswer: Sendable, CustomTestStringConvertible {
    /// How a process ends that has asked for it with the system's loader.
    enum End: Sendable {
      case survives
      /// A trap of Swift's in the loader.
      case crashes
      /// The process lives on, but no other request of it was answered meanwhile.
      case freezes

      var condition: ExitTest.Condition {
        switch self {
        case .survives: .success
        #if arch(x86_64) || arch(i386)
          case .crashes: .signal(SIGILL)
        #else
          case .crashes: .signal(SIGTRAP)
        #endif
        case .freezes: .exitCode(HostileAnswer.frozen)
        }
      }
    }

    static let frozen: CInt = 75

    let id: String
    let end: End
    let bytes: String

    var testDescription: String { id }

    /// The crash list of `Docs/LinuxNotes.md`.
    static let all: [HostileAnswer] = [
      /// The connection ends inside the header block. URLSession/NativeProtocol.swift, `didReceive(headerData:)`.
      HostileAnswer(id: "C1", end: .crashes, bytes: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
      /// A trailer field after a chunked body. As C1.
      HostileAnswer(
        id: "C2", end: .crashes,
        bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n"),
      /// A length of 2⁶³ - 1. URLSession/libcurl/EasyHandle.swift, the arithmetic of the progress.
      HostileAnswer(
        id: "C3", end: .crashes, bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhi"),
      /// A cookie whose name is not one ASCII letter after the other. HTTPCookie.swift; the policy `.never` avoids it.
      HostileAnswer(
        id: "C4", end: .survives, bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: 😀😀=a\r\n\r\n"),
      /// A redirect to a host in brackets. URLSession/HTTP/HTTPURLProtocol.swift, `redirectRequest(for:fromRequest:)`.
      redirect("C5 address", to: "//[::1]/x"),
      /// A redirect to a host with an encoded slash. As above.
      redirect("C5 slash", to: "//h%2f/x"),
      /// A redirect to a host with an encoded zero. As above.
      redirect("C5 zero", to: "//%00/"),
      /// C1 after an informational response. As C1.
      HostileAnswer(
        id: "C6", end: .crashes,
        bytes: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
      /// A challenge that nobody answers. URLSession/URLSessionTask.swift waits for ever; a session delegate avoids it.
      HostileAnswer(
        id: "H1", end: .survives,
        bytes: "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 0\r\n\r\n"),
      /// Many small header fields: the loader's one thread is busy with them, in the square of their number.
      HostileAnswer(
        id: "H2", end: .freezes,
        bytes: "HTTP/1.1 200 OK\r\n" + String(repeating: "A: \r\n", count: 20_000) + "Content-Length: 0\r\n\r\n"),
    ]

    private static func redirect(_ id: String, to location: String) -> HostileAnswer {
      HostileAnswer(
        id: id, end: .crashes, bytes: "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: \(location)\r\n\r\n")
    }

    /// Asks for all of them in pieces, over TLS if there are a root and who the server is; to be called in a process that
    /// may end by it.
    static func meetAllInPieces(_ lane: Lane, seed: UInt64, _ root: URL?, _ files: [URL]) async throws {
      signal(SIGILL, SIG_DFL)
      signal(SIGTRAP, SIG_DFL)
      let answers: [Delivery.Answer] = all.map {
        let isFollowed = $0.id == "C2" || $0.bytes.contains("Content-Length: 0\r\n")
        return (name: $0.id, bytes: Array($0.bytes.utf8), isFollowed: isFollowed)
      }
      // An error is a way to survive.
      let deliveries = Delivery.all(answers, seed: seed) { _, _ in nil }
      let identity = root.map { _ in CertificateAuthority.Identity(certificate: files[0], key: files[1]) }
      let client = lane.client { configuration in
        if let root { configuration.tls = .customRoots(pem: root) }
      }
      let wrong = try await Delivery.run(deliveries, on: { try DeliveryLine(.direct, identity) }, with: { _ in client })
      for wrong in wrong.prefix(10) { Issue.record("\(wrong)") }
    }

    /// Asks a server for the answer; to be called in a process that may end by it.
    static func meet(_ id: String, _ transport: any Transport) async {
      // Without these a crash prints pages.
      signal(SIGILL, SIG_DFL)
      signal(SIGTRAP, SIG_DFL)
      do {
        guard let answer = all.first(where: { $0.id == id }) else { exit(EX_USAGE) }
        let server = try MockServer(.raw(answer.bytes))
        let client = HTTPClient {
          $0.transport = transport
          $0.retry = .off
        }
        let handle = client.start(.get(RequestTarget(server.url)), options: .accepts(.any).timeout(.unlimited))
        _ = await server.waitForRequests(1)
        // Other requests of the same process, one after the other until this one ends, to a server that answers at once:
        // one of them is under way when the answer is read.
        let other = try MockServer(.ok("x"))
        let isOver = Shared(false)
        let hostile = Task {
          defer { isOver.withLock { $0 = true } }
          _ = try await handle.value
        }
        while !isOver.value {
          let isAnswered = Shared(false)
          let asking = Task {
            defer { isAnswered.withLock { $0 = true } }
            _ = try await client.get(RequestTarget(other.url), options: .timeout(.unlimited))
          }
          // By the time that the process has, so that nobody else's counts: who spends that much of it on a few bytes
          // comes to nothing else.
          let start = ProcessFacts.processorTime
          while !isAnswered.value {
            if ProcessFacts.processorTime - start > .milliseconds(isSanitized ? 5_000 : 700) { exit(frozen) }
            try await Task.sleep(for: .milliseconds(5))
          }
          try await asking.value
        }
        try await hostile.value
      } catch {
        // An error is a way to survive.
      }
    }
  }
#endif
