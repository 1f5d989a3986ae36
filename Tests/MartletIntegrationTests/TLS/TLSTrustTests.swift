#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.needs(.openssl), .hangLimit) struct TLSTrustTests {
    /// Expects a request to fail in TLS with libcurl's wording.
    static func expectRefusal(
      _ tls: TLSSettings, _ url: String, saying words: String, headers: HTTPHeaders = [:],
      _ location: SourceLocation = #_sourceLocation
    ) async {
      let error = await #expect(throws: HTTPError.self, sourceLocation: location) {
        try await Lane.curl.client(.tls(tls)).send(.get(RequestTarget(url), headers: headers))
      }
      #expect(error?.kind == .tls, sourceLocation: location)
      #expect(error?.phase == .connecting, sourceLocation: location)
      #expect(error?.isTransient == false, sourceLocation: location)
      // Other TLS libraries use other wordings.
      if HostFact.curlWithOpenSSL.holds {
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")", sourceLocation: location)
      }
      #expect(error?.message.contains("/proc/") == false, sourceLocation: location)
    }

    // MARK: Trust

    @Test func `trusts a custom root that the system does not trust`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await OpenSSLServer(try await authority.identity())

      for tls in [
        .customRoots(pem: authority.root), .customRoots(pem: try authority.rootPEM), .system(adding: authority.root),
        .system(adding: try authority.rootPEM), TLSSettings.insecureTrustAnything,
      ] {
        for lane in Lane.engines {
          let client = lane.client(.tls(tls))
          #expect(try await client.get(RequestTarget(server.url)).status == 200, "\(tls)")
        }
      }
      await Self.expectRefusal(.system, server.url, saying: "unable to get local issuer certificate")
      let other = try await CertificateAuthority()
      await Self.expectRefusal(.customRoots(pem: other.root), server.url, saying: "certificate")
    }

    @Test func `custom roots replace the system's roots or extend them`() async throws {
      // The tests cannot use a key of the system's roots.
      let pem = try await CertificateAuthority().rootPEM

      let both = try #require(CurlTLS.systemRoots(and: pem))

      #expect(CurlTLSSettings(.customRoots(pem: pem)).trust == .only(pem))
      #expect(CurlTLSSettings(.system(adding: pem)).trust == .systemAnd(pem))
      #expect(both.suffix(pem.count) == pem)
      #expect(CurlTLSSettings(.system).trust == .system)
    }

    @Test func `rejects an expired certificate`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await OpenSSLServer(try await authority.identity(isExpired: true))

      await Self.expectRefusal(.customRoots(pem: authority.root), server.url, saying: "certificate has expired")
    }

    @Test func `rejects a self-signed certificate unless it is configured as a root`() async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.selfSigned()
      let server = try await OpenSSLServer(identity)

      await Self.expectRefusal(.system, server.url, saying: "self-signed certificate")
      await Self.expectRefusal(.customRoots(pem: authority.root), server.url, saying: "self-signed certificate")
      let client = Lane.curl.client(.tls(.customRoots(pem: identity.certificate)))
      #expect(try await client.get(RequestTarget(server.url)).status == 200)
    }

    @Test func `rejects a certificate for another host`() async throws {
      let authority = try await CertificateAuthority()
      // The last certificate contains the address as a name, which is not equivalent (RFC 9110 §4.3.5).
      for hosts in ["DNS:other.example", "IP:127.0.0.2", "DNS:127.0.0.1"] {
        let server = try await OpenSSLServer(try await authority.identity("127.0.0.1", for: hosts))
        let tls = TLSSettings.customRoots(pem: authority.root)
        await Self.expectRefusal(tls, server.url, saying: "no alternative certificate subject name")
        // The `Host` field of the request does not matter.
        await Self.expectRefusal(
          tls, server.url, saying: "no alternative certificate subject name", headers: ["Host": "other.example"])
      }
    }

    // MARK: Versions

    @Test func `rejects a server that speaks only TLS 1.0`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await OpenSSLServer(
        try await authority.identity(), "-tls1", "-cipher", "ALL:@SECLEVEL=0")

      await Self.expectRefusal(.customRoots(pem: authority.root), server.url, saying: "protocol version")
      await Self.expectRefusal(.insecureTrustAnything, server.url, saying: "protocol version")
    }

    @Test func `accepts TLS 1.2 unless the minimum version is 1.3`() async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let old = try await OpenSSLServer(identity, "-tls1_2")
      let new = try await OpenSSLServer(identity, "-tls1_3")
      var tls = TLSSettings.customRoots(pem: authority.root)

      let client = Lane.curl.client(.tls(tls))
      #expect(try await client.get(RequestTarget(old.url)).text.contains("TLSv1.2"))
      #expect(try await client.get(RequestTarget(new.url)).text.contains("TLSv1.3"))
      tls.minimumVersion = .v1_3
      #expect(try await Lane.curl.client(.tls(tls)).get(RequestTarget(new.url)).status == 200)
      await Self.expectRefusal(tls, old.url, saying: "protocol version")
    }

    // MARK: Pins

    @Test func `requires a pinned key in addition to a trusted certificate`() async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let server = try await OpenSSLServer(identity)
      let right = try await authority.pin(identity)
      let wrong = try await authority.pin(try await authority.identity())
      var tls = TLSSettings.customRoots(pem: authority.root)

      for pins in [[right], [wrong, right], [right.replacingOccurrences(of: "sha256//", with: "sha256/")]] {
        tls.pins = pins
        #expect(try await Lane.curl.client(.tls(tls)).get(RequestTarget(server.url)).status == 200)
      }
      tls.pins = [wrong]
      await Self.expectRefusal(tls, server.url, saying: "public key does not match pinned public key")
      // The right key does not compensate for an unknown root.
      await Self.expectRefusal(.pins([right]), server.url, saying: "unable to get local issuer certificate")
    }

    @Test func `checks pins even with insecureTrustAnything`() async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.selfSigned()
      let server = try await OpenSSLServer(identity)
      var tls = TLSSettings.insecureTrustAnything

      tls.pins = [try await authority.pin(identity)]
      #expect(try await Lane.curl.client(.tls(tls)).get(RequestTarget(server.url)).status == 200)
      tls.pins = [try await authority.pin(try await authority.selfSigned())]
      await Self.expectRefusal(tls, server.url, saying: "public key does not match pinned public key")
    }

    // MARK: The system's loader

    #if canImport(Darwin) || URLSession
      @Test func `rejects TLS settings that the system loader does not support, before connecting`() async throws {
        let server = try MockServer(.ok())
        let authority = try await CertificateAuthority()
        var pinned = TLSSettings.system
        pinned.pins = [try await authority.pin(try await authority.identity())]
        var newest = TLSSettings.system
        newest.minimumVersion = .v1_3
        var named = TLSSettings.system
        let identity = try await authority.identity()
        named.clientCertificate = .pem(certificate: identity.certificate, key: identity.key)

        for tls in [
          .insecureTrustAnything, .customRoots(pem: authority.root), .system(adding: authority.root), pinned, newest,
          named,
        ] {
          let client = HTTPClient {
            $0.transport = .systemLoader
            $0.tls = tls
          }
          let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
          #expect(error?.kind == .unsupported)
          #expect(error?.message.contains(".curl") == true)
        }
        #expect(server.connectionCount == 0)
      }
    #endif
  }
#endif
