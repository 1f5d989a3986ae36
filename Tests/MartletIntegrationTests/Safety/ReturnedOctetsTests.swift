#if os(Linux)
  import Foundation
  @testable import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Every value that a peer sends and receives back keeps its octets (RFC 9110 §5.5, RFC 7616 §3.4, RFC 6265bis
  /// §5.8.3).
  @Suite(.hangLimit) struct ReturnedOctetsTests {
    enum Value: String, CaseIterable, Sendable {
      case entityTag, ifRange, ifMatch, cookie, realm, nonce, opaque, nextNonce, proxyRealm, location, link
    }

    /// ASCII, UTF-8, ISO 8859-1, and other octets.
    static let octets: [[UInt8]] = [
      Array("abc".utf8), Array("\u{E9}\u{1F600}".utf8), [0x63, 0xE9], [0xFF, 0x80, 0xC3],
    ]

    @Test(arguments: Lane.engines, Value.allCases) func `are returned unchanged`(lane: Lane, value: Value) async throws
    {
      for octets in Self.octets {
        let server = try MockServer(answering: { Self.response(to: $0, value, octets) })
        let client = lane.client {
          $0.retry = .backoff(attempts: 3, initialDelay: .milliseconds(1))
          $0.redirects = .follow
          $0.cache = .memory()
          if value == .proxyRealm {
            $0.proxy = .proxy(Proxy(server.url), except: [])
            $0.authenticators[.proxy(server.url)] = .digest(user: "ada", password: "s3cret")
          } else {
            $0.authenticators[.origin(server.url)] = .digest(user: "ada", password: "s3cret")
          }
        }

        try await Self.use(client, server.url, value)

        let last = try #require(server.requests.last)
        let head = [UInt8](last.rawHead)
        let expected = Self.expected(value, octets)
        #expect(head.firstRange(of: expected) != nil, "\(octets): \(String(decoding: head, as: UTF8.self))")
        if value == .realm || value == .proxyRealm {
          let proof = Self.proof(octets, method: "GET", uri: value == .realm ? "/x" : "http://a.test/x")
          #expect(head.firstRange(of: Array("response=\"\(proof)\"".utf8)) != nil)
        }
        server.stop()
      }
    }

    private static func use(_ client: HTTPClient, _ url: String, _ value: Value) async throws {
      switch value {
      case .ifRange:
        let folder = try TemporaryFolder()
        try await client.download(.get(RequestTarget(url + "/x")), to: folder.url.appending(path: "x"))
      case .ifMatch:
        let tag = try await client.get(RequestTarget(url + "/x")).headers[octets: "ETag"]
        var request = HTTPRequest.put(RequestTarget(url + "/x"), body: .text("new"))
        request.headers[octets: "If-Match"] = tag
        try await client.send(request)
      case .link:
        let next = try #require(try await client.get(RequestTarget(url + "/x")).link("next"))
        try await client.get(RequestTarget(next))
      case .proxyRealm: try await client.get("http://a.test/x")
      case .location, .realm, .nonce, .opaque: try await client.get(RequestTarget(url + "/x"))
      case .entityTag, .cookie, .nextNonce:
        for _ in 0..<2 { try await client.get(RequestTarget(url + "/x")) }
      }
    }

    private static func response(to request: RecordedRequest, _ value: Value, _ octets: [UInt8]) -> MockResponse {
      func head(_ status: Int, _ field: String, _ before: String, _ after: String, _ rest: String = "Content-Length: 0")
        -> MockResponse
      {
        let start = Data("HTTP/1.1 \(status) x\r\n\(field): \(before)".utf8)
        return .steps([.bytes(start + Data(octets) + Data("\(after)\r\n\(rest)\r\n\r\n".utf8))])
      }
      let isKnown = request.header("Authorization") != nil
      switch value {
      case .entityTag, .ifMatch:
        let rest = "Cache-Control: max-age=0\r\nContent-Length: 0"
        return head(request.header("If-None-Match") == nil ? 200 : 304, "ETag", "\"", "\"", rest)
      case .ifRange:
        guard request.header("Range") == nil else {
          let rest = head(206, "ETag", "\"", "\"", "Content-Range: bytes 2-3/4\r\nContent-Length: 2")
          return .steps(rest.steps + [.text("cd")])
        }
        let first = head(200, "ETag", "\"", "\"", "Accept-Ranges: bytes\r\nContent-Length: 4")
        return .steps(first.steps + [.text("ab"), .cut])
      case .cookie: return head(200, "Set-Cookie", "a=", "; Path=/")
      case .location: return request.path == "/x" ? head(302, "Location", "/", "?q") : .ok()
      case .link: return request.path == "/x" ? head(200, "Link", "</", ">; rel=next") : .ok()
      case .realm where !isKnown: return head(401, "WWW-Authenticate", "Digest nonce=n, realm=\"", "\"")
      case .nonce where !isKnown: return head(401, "WWW-Authenticate", "Digest realm=r, nonce=\"", "\"")
      case .opaque where !isKnown: return head(401, "WWW-Authenticate", "Digest realm=r, nonce=n, opaque=\"", "\"")
      case .nextNonce where !isKnown:
        return .status(401, headers: ["WWW-Authenticate": "Digest realm=r, nonce=n, qop=auth"])
      case .nextNonce: return head(200, "Authentication-Info", "nextnonce=\"", "\"")
      case .proxyRealm where request.header("Proxy-Authorization") == nil:
        return head(407, "Proxy-Authenticate", "Digest nonce=n, realm=\"", "\"")
      case .realm, .nonce, .opaque, .proxyRealm: return .ok()
      }
    }

    private static func expected(_ value: Value, _ octets: [UInt8]) -> [UInt8] {
      let quoted = [0x22] + octets + [0x22]
      switch value {
      case .entityTag: return Array("If-None-Match: ".utf8) + quoted + [0x0D]
      case .ifRange: return Array("If-Range: ".utf8) + quoted + [0x0D]
      case .ifMatch: return Array("If-Match: ".utf8) + quoted + [0x0D]
      case .cookie: return Array("Cookie: a=".utf8) + octets + [0x0D]
      case .realm, .proxyRealm: return Array("realm=".utf8) + quoted
      case .nonce, .nextNonce: return Array(" nonce=".utf8) + quoted
      case .opaque: return Array("opaque=".utf8) + quoted
      case .location, .link:
        let path = octets.map { $0 < 0x80 ? String(Unicode.Scalar($0)) : "%" + String($0, radix: 16, uppercase: true) }
        return Array("GET /\(path.joined())".utf8)
      }
    }

    /// Returns the response of RFC 7616 §3.4.1 without `qop`, over the realm's octets.
    private static func proof(_ realm: [UInt8], method: String, uri: String) -> String {
      let key = MD5.hash(Array("ada:".utf8) + realm + Array(":s3cret".utf8)).hexadecimal
      let subject = MD5.hash(Array("\(method):\(uri)".utf8)).hexadecimal
      return MD5.hash(Array("\(key):n:\(subject)".utf8)).hexadecimal
    }
  }
#endif
