#if os(Linux)
  import Foundation
  @testable import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Proxy credentials follow the same rules as server credentials.
  @Suite(.hangLimit) struct ProxyCredentialTests {
    @Test(arguments: Lane.engines)
    func `a repeated nonce continues its count, and a 503 does not discard the credential`(lane: Lane) async throws {
      let challenge = #"Digest realm="r", nonce="n", qop="auth""#
      let proxy = try MockServer(answering: { request in
        let sent = request.header("Proxy-Authorization").flatMap { Challenge.parse([$0]).first?.parameters } ?? [:]
        switch sent["nc"] {
        case nil, "00000001": return .status(407, headers: ["Proxy-Authenticate": challenge])
        case "00000002": return .status(503)
        default: return .ok(sent["nc"] ?? "")
        }
      })
      let address = proxy.url
      let client = lane.client {
        $0.retry = .backoff(attempts: 2, initialDelay: .milliseconds(1))
        $0.proxy = .proxy(Proxy(address), except: [])
        $0.authenticators[.proxy(address)] = .ask { .user("u", password: "\($0.previousFailures)") }
      }

      let response = try await client.get("http://a.test/")

      #expect(response.text == "00000003")
      #expect(proxy.requests.count == 4)
    }

    @Test(
      arguments: Lane.engines, ["Basic realm=my realm", #"Basic realm="a"#, #"Digest realm="r"; nonce=YQ==; qop="""#])
    func `answers the malformed challenges of small devices`(lane: Lane, challenge: String) async throws {
      let proxy = try MockServer(answering: { request in
        request.header("Proxy-Authorization") == nil
          ? .status(407, headers: ["Proxy-Authenticate": challenge]) : .ok("in")
      })
      let address = proxy.url
      let client = lane.client {
        $0.proxy = .proxy(Proxy(address), except: [])
        $0.authenticators[.proxy(address)] = .password(user: "u", password: "p")
      }

      #expect(try await client.get("http://a.test/").text == "in")
    }
  }
#endif
