#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// A response that the system's loader on Linux does not survive, or would not without our precautions.
  struct HostileAnswer: Sendable, CustomTestStringConvertible {
    /// The fate of a process that requests the response with the system's loader.
    enum End: Sendable {
      case survives
      /// A Swift trap in the loader.
      case crashes
      /// The process survives, but none of its other requests gets a response in the meantime.
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

    /// The crash list of `Docs/URLSessionOnLinux.md`.
    static let all: [HostileAnswer] = [
      /// The connection ends inside the header block. URLSession/NativeProtocol.swift, `didReceive(headerData:)`.
      HostileAnswer(id: "C1", end: .crashes, bytes: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
      /// A trailer field after a chunked body. Same cause as C1.
      HostileAnswer(
        id: "C2", end: .crashes,
        bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n"),
      /// A length of 2⁶³ - 1. URLSession/libcurl/EasyHandle.swift, arithmetic of the progress.
      HostileAnswer(
        id: "C3", end: .crashes, bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhi"),
      /// A cookie whose name contains a non-ASCII character. HTTPCookie.swift; the policy `.never` avoids it.
      HostileAnswer(
        id: "C4", end: .survives, bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: 😀😀=a\r\n\r\n"),
      /// A redirect to a host in brackets. URLSession/HTTP/HTTPURLProtocol.swift, `redirectRequest(for:fromRequest:)`.
      redirect("C5 address", to: "//[::1]/x"),
      /// A redirect to a host with an encoded slash. Same cause.
      redirect("C5 slash", to: "//h%2f/x"),
      /// A redirect to a host with an encoded zero. Same cause.
      redirect("C5 zero", to: "//%00/"),
      /// C1 after an informational response. Same cause.
      HostileAnswer(
        id: "C6", end: .crashes,
        bytes: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
      /// An unanswered challenge. URLSession/URLSessionTask.swift waits forever; a session delegate avoids it.
      HostileAnswer(
        id: "H1", end: .survives,
        bytes: "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 0\r\n\r\n"),
      /// Many small header fields, which keep the loader's only thread busy in quadratic time.
      HostileAnswer(
        id: "H2", end: .freezes,
        bytes: "HTTP/1.1 200 OK\r\n" + String(repeating: "A: \r\n", count: 20_000) + "Content-Length: 0\r\n\r\n"),
    ]

    private static func redirect(_ id: String, to location: String) -> HostileAnswer {
      HostileAnswer(
        id: id, end: .crashes, bytes: "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: \(location)\r\n\r\n")
    }

    /// Requests all responses in fragments, over TLS if there is a root certificate.
    ///
    /// Call it only in a process that the responses may crash.
    static func meetAllInPieces(_ lane: Lane, seed: UInt64, _ root: URL?, _ files: [URL]) async throws {
      signal(SIGILL, SIG_DFL)
      signal(SIGTRAP, SIG_DFL)
      let answers: [Delivery.Answer] = all.map {
        let isFollowed = $0.id == "C2" || $0.bytes.contains("Content-Length: 0\r\n")
        return (name: $0.id, bytes: Array($0.bytes.utf8), isFollowed: isFollowed)
      }
      // An error counts as survival.
      let deliveries = Delivery.all(answers, seed: seed) { _, _ in nil }
      let identity = root.map { _ in CertificateAuthority.Identity(certificate: files[0], key: files[1]) }
      let client = lane.client { configuration in
        if let root { configuration.tls = .customRoots(pem: root) }
      }
      let wrong = try await Delivery.run(deliveries, on: { try DeliveryLine(.direct, identity) }, with: { _ in client })
      for wrong in wrong.prefix(10) { Issue.record("\(wrong)") }
    }

    /// Requests a response from a server.
    ///
    /// Call it only in a process that the response may crash.
    static func meet(_ id: String, _ transport: any Transport) async {
      // Without the default handlers, a crash would print a long report.
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
        // Sends other requests of the same process, one after another, to a server that responds at once. One of them
        // is in progress when the hostile response is read.
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
          // CPU time, unlike elapsed time, does not depend on other processes. A process that spends this much of it on
          // a few bytes is frozen.
          let start = ProcessFacts.processorTime
          while !isAnswered.value {
            if ProcessFacts.processorTime - start > .milliseconds(isSanitized ? 5_000 : 700) { exit(frozen) }
            try await Task.sleep(for: .milliseconds(5))
          }
          try await asking.value
        }
        try await hostile.value
      } catch {
        // An error counts as survival.
      }
    }
  }
#endif
