#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Bodies that only the end of their connection ends (RFC 9112 §9.8).
  @Suite(.needs(.openssl, .python), .hangLimit) struct TLSEndTests {
    private struct Place {
      let server: WireServer
      let client: HTTPClient

      init(_ lane: Lane, allowsMissing: Bool = false) async throws {
        let authority = try await CertificateAuthority()
        server = try await WireServer(try await authority.identity())
        var tls = TLSSettings.customRoots(pem: authority.root)
        tls.allowsMissingCloseNotify = allowsMissing
        client = lane.client { [tls] in $0.tls = tls }
      }
    }

    @Test(arguments: Lane.engines) func `one that is ended as TLS has it is whole`(_ lane: Lane) async throws {
      let place = try await Place(lane)
      for number in 0..<5 {
        let response = try await place.client.get(place.server.target(number, 200, .end))
        #expect(response.text == "\(number)" && response.headers["Content-Length"] == nil)
      }
    }

    @Test(arguments: Lane.engines) func `one that is cut is not, however it is read`(_ lane: Lane) async throws {
      let place = try await Place(lane)
      let (client, target) = (place.client, place.server.target(1, 200, .cut))
      var kinds: [HTTPError.Kind?] = []
      func note(_ read: () async throws -> Void) async {
        do {
          try await read()
          kinds.append(nil)
        } catch { kinds.append((error as? HTTPError)?.kind) }
      }
      await note { _ = try await client.get(target) }
      await note { try await client.stream(.get(target)) { for try await _ in $0.body {} } }
      let folder = try TemporaryFolder()
      await note { _ = try await client.download(.get(target), to: URL(filePath: folder.path("file"))) }
      #expect(kinds == [.connectionLost, .connectionLost, .connectionLost])
      #expect(!FileManager.default.fileExists(atPath: folder.path("file")))
    }

    @Test(arguments: Lane.engines) func `servers that never end TLS can be allowed to`(_ lane: Lane) async throws {
      let place = try await Place(lane, allowsMissing: true)
      #expect(try await place.client.get(place.server.target(1, 200, .cut)).text == "1")
    }

    @Test(arguments: Lane.engines) func `a length ends a body, and the connection may end as it likes`(
      _ lane: Lane
    ) async throws {
      let place = try await Place(lane)
      for number in 0..<5 {
        // The 408 comes with the end of the connection, and TLS is not ended.
        let response = try await place.client.get(place.server.target(number, 200, .timeout, pause: 1))
        #expect(response.text == "\(number)")
        #expect(await place.server.waitForSent(number))
      }
    }
  }
#endif
