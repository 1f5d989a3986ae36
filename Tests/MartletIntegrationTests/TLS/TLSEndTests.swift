#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Bodies that end only with their connection (RFC 9112 §9.8).
  @Suite(.needs(.openssl, .python), .hangLimit) struct TLSEndTests {
    private struct Place {
      let server: WireServer
      let client: HTTPClient

      init(_ lane: Lane, _ way: WireServer.Way = .direct, allowsMissing: Bool = false) async throws {
        let authority = try await CertificateAuthority()
        server = try await WireServer(try await authority.identity(), way)
        var tls = TLSSettings.customRoots(pem: authority.root)
        tls.allowsMissingCloseNotify = allowsMissing
        client = lane.client { [tls, proxy = server.proxy] in
          $0.tls = tls
          $0.proxy = proxy
        }
      }

      /// Reads 1 MiB, with a delay at the beginning that pauses the transfer.
      func readLate(_ after: WireServer.After) async throws -> Int {
        try await client.stream(.get(server.target(1, 200, after))) { response in
          var count = 0
          for try await piece in response.body {
            if count == 0 { try await Task.sleep(for: .milliseconds(100)) }
            count += piece.count
          }
          return count
        }
      }
    }

    @Test(arguments: Lane.engines, WireServer.Way.allCases)
    func `a body that ends with close_notify is complete`(_ lane: Lane, _ way: WireServer.Way) async throws {
      let place = try await Place(lane, way)
      for number in 0..<5 {
        let response = try await place.client.get(place.server.target(number, 200, .end))
        #expect(response.text == "\(number)" && response.headers["Content-Length"] == nil)
        #expect(try await place.readLate(.longEnd) == WireServer.longBody)
      }
    }

    @Test(arguments: Lane.engines, WireServer.Way.allCases)
    func `a body without close_notify fails however it is read`(_ lane: Lane, _ way: WireServer.Way) async throws {
      let place = try await Place(lane, way)
      let (client, target) = (place.client, place.server.target(1, 200, .cut))
      var kinds: [HTTPError.Kind?] = []
      func record(_ read: () async throws -> Void) async {
        do {
          try await read()
          kinds.append(nil)
        } catch { kinds.append((error as? HTTPError)?.kind) }
      }
      await record { _ = try await client.get(target) }
      await record { try await client.stream(.get(target)) { for try await _ in $0.body {} } }
      let folder = try TemporaryFolder()
      await record { _ = try await client.download(.get(target), to: URL(filePath: folder.path("file"))) }
      await record { _ = try await place.readLate(.longCut) }
      #expect(kinds == [.connectionLost, .connectionLost, .connectionLost, .connectionLost])
      #expect(!FileManager.default.fileExists(atPath: folder.path("file")))
    }

    /// A part of the body has arrived, so the connection was not stale.
    @Test(arguments: Lane.engines) func `a body without close_notify is not requested again`(_ lane: Lane) async throws
    {
      let place = try await Place(lane)
      let request = HTTPRequest.get(place.server.target(1, 200, .cut))

      let error = await #expect(throws: HTTPError.self) {
        try await place.client.send(request, options: .retry(.standard))
      }

      #expect(error?.kind == .connectionLost && error?.attempts.count == 1)
    }

    @Test(.needs(.curlWithOpenSSL), arguments: Lane.engines, WireServer.Way.allCases)
    func `allowsMissingCloseNotify accepts a body without close_notify`(_ lane: Lane, _ way: WireServer.Way)
      async throws
    {
      let place = try await Place(lane, way, allowsMissing: true)
      #expect(try await place.client.get(place.server.target(1, 200, .cut)).text == "1")
    }

    @Test(arguments: Lane.engines, WireServer.Way.allCases)
    func `a body with a Content-Length needs no close_notify`(
      _ lane: Lane, _ way: WireServer.Way
    ) async throws {
      let place = try await Place(lane, way)
      for number in 0..<5 {
        // The 408 arrives with the end of the connection, without a `close_notify`.
        let response = try await place.client.get(place.server.target(number, 200, .timeout, pause: 1))
        #expect(response.text == "\(number)")
        #expect(await place.server.waitForSent(number))
      }
    }
  }
#endif
