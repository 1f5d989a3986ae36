#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  /// Encoded bodies that are complete, truncated or damaged, and arrive in chunks.
  @Suite(.hangLimit) struct CodedDeliveryTests {
    /// The expected result of a body.
    private enum Expectation {
      case text(Data)
      /// An error.
      case cut
      /// An error, or the same text if the coding has no checksum for the damaged part.
      case damaged(hasChecksum: Bool)
    }

    private struct Body {
      let name: String
      let coding: String
      let bytes: Data
      let expectation: Expectation

      /// Returns what is wrong with the result, or `nil`.
      func problem(_ result: Result<DeliveryLine.Answer, any Error>) -> String? {
        switch (result, expectation) {
        case (.success(let answer), .text(let text)): return answer.body == text ? nil : "\(answer.body.count) bytes"
        case (.success(let answer), .damaged(let hasChecksum)):
          let text = Data(CodedBodies.text.utf8)
          if answer.body == text { return nil }
          return hasChecksum || text.starts(with: answer.body) ? "\(answer.body.count) bytes" : nil
        case (.success(let answer), .cut): return "whole, with \(answer.body.count) bytes"
        case (.failure(let error), .text): return "\(error)"
        case (.failure(let error), _):
          return (error as? HTTPError)?.kind == .protocolViolation ? nil : "\(error)"
        }
      }
    }

    private static var bodies: [Body] {
      var all: [Body] = []
      let text = Data(CodedBodies.text.utf8)
      for (place, (coding, body)) in CodedBodies.usable.enumerated() {
        let name = "\(place) \(coding)"
        all.append(Body(name: "\(name), whole", coding: coding, bytes: body, expectation: .text(text)))
        let isGzip = coding.hasSuffix("gzip")
        all.append(
          Body(
            name: "\(name), and more", coding: coding, bytes: body + Data("?".utf8),
            expectation: isGzip ? .text(text) : .cut))
        for count in [1, 2, body.count / 2, body.count - 1] {
          let name = "\(name), \(count) bytes"
          all.append(Body(name: name, coding: coding, bytes: body.prefix(count), expectation: .cut))
        }
        let hasChecksum = isGzip || coding == "zstd"
        for offset in [0, 2, body.count / 2, body.count - 3] {
          var damaged = body
          damaged[offset] ^= 0x24
          let name = "\(name), changed at \(offset)"
          all.append(
            Body(name: name, coding: coding, bytes: damaged, expectation: .damaged(hasChecksum: hasChecksum)))
        }
      }
      guard ContentCoding.usable.contains(.zstd) else { return all }
      // The body exceeds a sleeping reader's buffer, so the rest waits in the decoder, whatever bytes follow.
      let large = CodedBodies.zstdOfMebibyte
      for (name, bytes, expectation) in [
        ("whole", large, Expectation.text(Data(count: 1 << 20))), ("cut", large.dropLast(), .cut),
        ("and more", large + Data("?".utf8), .cut),
      ] {
        all.append(Body(name: "a MiB, \(name)", coding: "zstd", bytes: bytes, expectation: expectation))
      }
      return all
    }

    /// Returns responses that contain the body and whose length is unambiguous.
    private static func answers(_ body: Body) -> [Delivery.Answer] {
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(body.coding)\r\n"
      let length = Data("\(head)Content-Length: \(body.bytes.count)\r\n\r\n".utf8) + body.bytes
      var chunked = Data("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8)
      let middle = (body.bytes.count + 1) / 2
      for part in [body.bytes.prefix(middle), body.bytes.dropFirst(middle)] where !part.isEmpty {
        chunked += Data("\(String(part.count, radix: 16))\r\n".utf8) + part + Data("\r\n".utf8)
      }
      chunked += Data("0\r\n\r\n".utf8)
      let open = Data("\(head)\r\n".utf8) + body.bytes
      return [
        (name: body.name, bytes: Array(length), isFollowed: true),
        (name: body.name, bytes: Array(chunked), isFollowed: true),
        (name: body.name, bytes: Array(open), isFollowed: false),
      ]
    }

    @Test(.needs(.openssl), arguments: Lane.engines, [false, true])
    func `split encoded bodies are correct or errors, and the next response is correct`(
      lane: Lane, isSecure: Bool
    ) async throws {
      let seed = Delivery.seed("coded \(lane) \(isSecure ? "https" : "http")")
      let authority = try await CertificateAuthority()
      let identity = isSecure ? try await authority.identity() : nil
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
      let bodies = Self.bodies
      let byName = Dictionary(uniqueKeysWithValues: bodies.map { ($0.name, $0) })
      let answers = bodies.flatMap(Self.answers)

      let deliveries = Delivery.all(answers, seed: seed) { byName[$0]?.problem($1) }
      let wrong = try await Delivery.run(deliveries, on: { try DeliveryLine(.direct, identity) }, with: { _ in client })

      #expect(deliveries.count > answers.count)
      for wrong in wrong.prefix(10) { Issue.record("\(wrong)") }
    }
  }
#endif
