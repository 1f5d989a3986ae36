#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Connections of HTTP/2 that nginx ends while requests are on their way.
  @Suite(.needs(.openssl, .nginx), .hangLimit) struct HTTP2EndTests {
    struct Case: CustomTestStringConvertible {
      var lane: Lane
      var method: HTTPMethod
      var width: Int

      var testDescription: String { "\(lane), \(method), \(width) at a time" }

      static let all = Lane.engines.flatMap { lane in
        [HTTPMethod.get, .post].flatMap { method in
          [1, 6, 20].map { Case(lane: lane, method: method, width: $0) }
        }
      }
    }

    @Test(arguments: Case.all) func `loses and doubles nothing when a server has served its number of requests`(
      _ what: Case
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await NginxServer(
        try await authority.identity(), isHTTP2: true, "keepalive_requests 20;", "access_log served.log;")
      let client = what.lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.retry = .standard
        $0.maximumConnectionsPerHost = 50
      }
      let (count, url) = (Stress.count(200, full: 2000), server.url)

      let errors = await withTaskGroup { group in
        for worker in 0..<what.width {
          group.addTask {
            var errors: [String] = []
            for number in stride(from: worker, to: count, by: what.width) {
              let body: HTTPBody? = what.method == .post ? .text("x") : nil
              let request = HTTPRequest(what.method, RequestTarget("\(raw: url)/\(number)"), body: body)
              do {
                if try await client.send(request).httpVersion != "2" { errors.append("another version") }
              } catch { errors.append("\(error)") }
            }
            return errors
          }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect(errors.isEmpty, "\(errors.count) of \(count): \(errors.first ?? "")")

      let log = server.path("served.log")
      #expect(await becomes { Self.served(log).count >= count - errors.count })
      let times = Dictionary(grouping: Self.served(log)) { $0 }.filter { $0.value.count > 1 }
      #expect(times.isEmpty, "served twice: \(times.count)")
    }

    /// The targets of the requests that were served.
    private static func served(_ log: String) -> [Substring] {
      let text = (try? String(contentsOf: URL(filePath: log), encoding: .utf8)) ?? ""
      return text.split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ")
        return words.firstIndex { $0.hasPrefix("\"") }.map { words[$0 + 1] }
      }
    }
  }
#endif
