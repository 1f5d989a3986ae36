#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The idle limit of uploads, which depends on what the server has received.
  @Suite(.needs(.openssl, .python, problem: SlowReader.problem), .hangLimit) struct SlowUploadTests {
    struct Case: CustomTestStringConvertible {
      var lane: Lane
      var version: SlowReader.Version
      var isSecure: Bool

      var testDescription: String { "\(lane), \(version.rawValue)\(isSecure ? " over TLS" : "")" }

      static let all = Lane.engines.flatMap { lane in
        [
          Case(lane: lane, version: .http1, isSecure: false), Case(lane: lane, version: .http1, isSecure: true),
          Case(lane: lane, version: .http2, isSecure: true),
        ]
      }
      .filter { $0.version == .http1 || HostFact.http2.holds }

      func server(isDeaf: Bool, _ authority: CertificateAuthority) async throws -> SlowReader {
        try await SlowReader(version, isDeaf: isDeaf, isSecure ? authority.identity() : nil)
      }

    }

    private static func idle(_ limit: Duration) -> TimeoutPolicy {
      TimeoutPolicy(connect: nil, idle: limit, total: nil)
    }

    @Test(arguments: Case.all, [600_000, 6_000_000])
    func `does not time out an upload that progresses slowly`(_ what: Case, size: Int) async throws {
      let authority = try await CertificateAuthority()
      let server = try await what.server(isDeaf: false, authority)
      let client = what.lane.client(
        .trusting(authority.root), .timeout(Self.idle(.seconds(isSanitized ? 5 : 3))), .expectsContinue(false))
      // Idle connections that libcurl's handle for the upload has used before.
      let others = try (0..<6).map { _ in try MockServer(.ok()) }
      defer { for other in others { other.stop() } }
      for other in others { _ = try await client.get(RequestTarget(other.url)) }

      let response = try await client.post(server.target, body: .data(Data(count: size)))

      #expect(response.text == "\(size)")
      #expect(response.httpVersion == (what.version == .http2 ? .http2 : .http1_1))
    }

    @Test(arguments: Case.all) func `times out an upload that the server does not read`(_ what: Case) async throws {
      let authority = try await CertificateAuthority()
      let server = try await what.server(isDeaf: true, authority)

      let error = await #expect(throws: HTTPError.self) {
        try await what.lane.client(.trusting(authority.root), .timeout(Self.idle(.seconds(1))), .expectsContinue(false))
          .post(
            server.target, body: .data(Data(count: 6_000_000)))
      }

      #expect(error?.kind == .timedOut && error?.phase == .sending)
      #expect(error?.message.contains("idle") == true)
    }
  }
#endif
