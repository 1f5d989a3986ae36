#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Proxy responses that are split or followed by extra bytes.
  @Suite(.hangLimit) struct ProxyDeliveryTests {
    private static func expectRight(
      _ deliveries: [Delivery], _ way: DeliveryWay, _ lane: Lane, signsIn: Bool = false
    ) async throws {
      let wrong = try await Delivery.run(deliveries, on: { try DeliveryLine(way) }) { line in
        lane.client { [proxy = line.proxy, url = line.server.url] in
          $0.proxy = proxy
          if signsIn { $0.authenticators[.proxy(url)] = .password(user: "ada", password: "secret") }
        }
      }
      for wrong in wrong.prefix(10) { Issue.record("\(wrong)") }
    }

    @Test(arguments: Lane.engines)
    func `a split CONNECT response fails the request, and the next request gets its own response`(lane: Lane)
      async throws
    {
      let seed = Delivery.seed("CONNECT \(lane)")
      // The endless responses, here with an end, and other data in place of TLS.
      var answers: [Delivery.Answer] = HostileProxyTests.Answer.all.map {
        let bytes = Data($0.start.utf8) + $0.rest + $0.rest + $0.rest
        return (name: $0.testDescription, bytes: Array(bytes), isFollowed: $0.start.contains("\r\n\r\n"))
      }
      let yes = "HTTP/1.1 200 Yes\r\n\r\n"
      for (name, text) in [
        ("nothing", ""), ("a yes", yes), ("a yes and a response", "\(yes)HTTP/1.1 200 OK\r\n\r\n"),
        ("a yes with a body", "HTTP/1.1 200 Yes\r\nContent-Length: 5\r\n\r\nSTRAY"),
        ("a yes in chunks", "HTTP/1.1 200 Yes\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("a yes after 1xx", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n\(yes)\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{28}"),
      ] { answers.append((name: name, bytes: Array(text.utf8), isFollowed: false)) }
      let kinds = Dictionary(uniqueKeysWithValues: HostileProxyTests.Answer.all.map { ($0.testDescription, $0.kind) })

      let deliveries = Delivery.all(answers, seed: seed) { name, result in
        guard case .failure(let error as HTTPError) = result else { return "\(result)" }
        // If a head never ends, the error can only report the end of the connection.
        let isRight =
          [kinds[name] ?? .tls, .cannotConnect].contains(error.kind) || error.message.contains("Nul byte in header")
        return isRight && error.phase == .connecting && !error.mayHaveReachedServer ? nil : "\(error)"
      }

      try await Self.expectRight(deliveries, .tunnel, lane)
    }

    private static func answers(_ head: String) -> [Delivery.Answer] {
      FramingTests.whole.map { (name: head, bytes: Array("HTTP/1.1 \(head)\r\n\($0)".utf8), isFollowed: true) }
    }

    @Test(arguments: Lane.engines)
    func `a split proxy response is used without the bytes that follow it`(lane: Lane) async throws {
      let seed = Delivery.seed("proxy \(lane)")
      let asking = "407 No\r\nProxy-Authenticate: Basic realm=\"r\""
      let answers = ["200 OK", "502 No", "401 No\r\nWWW-Authenticate: Basic", asking].flatMap(Self.answers)

      let deliveries = Delivery.all(answers, seed: seed) { name, result in
        switch result {
        case .success(let answer):
          return name != asking && answer.body == Data("ok".utf8) && name.hasPrefix("\(answer.status)")
            ? nil : "\(answer)"
        case .failure(let error):
          let isRight = name == asking && (error as? HTTPError)?.status == 407
          return isRight && (error as? HTTPError)?.kind == .authenticationFailed ? nil : "\(error)"
        }
      }

      try await Self.expectRight(deliveries, .proxy, lane)
    }

    @Test(arguments: Lane.engines)
    func `a split 407 is answered, and the next request gets its own response`(lane: Lane) async throws {
      let seed = Delivery.seed("407 \(lane)")
      // Each challenge has a new nonce, which invalidates the previous one.
      let head = "407 No\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"once\", qop=\"auth\", stale=true"
      // Extra bytes would be taken for the response to the next request, so none follow.
      let answers = Self.answers(head).map { (name: $0.name, bytes: $0.bytes, isFollowed: false) }
      let many = Array(repeating: answers, count: Stress.isOn ? 1 : 8).flatMap { $0 }

      let deliveries = Delivery.all(
        many, seed: seed, end: .keep, isAskedTwice: true,
        name: { bytes, number in
          let text = String(decoding: bytes, as: UTF8.self).replacing("\"once\"", with: "\"\(number)\"")
          return DeliveryLine.named(Array(text.utf8), number)
        },
        check: { _, result in (try? result.get())?.status == 200 ? nil : "\(result)" })

      try await Self.expectRight(deliveries, .proxy, lane, signsIn: true)
    }
  }
#endif
