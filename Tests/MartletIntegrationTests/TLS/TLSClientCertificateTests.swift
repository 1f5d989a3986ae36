#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  @Suite(.needs(.openssl, .nginx), .hangLimit) struct TLSClientCertificateTests {
    private typealias Certificate = TLSSettings.ClientCertificate

    private func settings(_ authority: CertificateAuthority, _ certificate: Certificate?) -> TLSSettings {
      var tls = TLSSettings.customRoots(pem: authority.root)
      tls.clientCertificate = certificate
      return tls
    }

    private func nginx(_ authority: CertificateAuthority, isHTTP2: Bool = false) async throws -> NginxServer {
      try await NginxServer(
        try await authority.identity(), isHTTP2: isHTTP2, "ssl_client_certificate \(authority.root.path);",
        "ssl_verify_client on;")
    }

    @Test func `presents a client certificate from every supported format`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await nginx(authority)
      let identity = try await authority.identity("alice")
      let locked = try await authority.encrypted(identity, password: "open sesame")
      let archive = try await authority.pkcs12(identity, password: "open sesame")
      let plain = try await authority.pkcs12(identity, password: "")
      let both = try Data(contentsOf: identity.certificate) + Data(contentsOf: identity.key)

      let certificates: [Certificate] = [
        .pem(certificate: identity.certificate, key: identity.key),
        .pem(certificate: both, key: both),
        .pem(certificate: locked.certificate, key: locked.key, password: "open sesame"),
        .pkcs12(archive, password: "open sesame"),
        .pkcs12(try Data(contentsOf: archive), password: "open sesame"),
        .pkcs12(plain),
      ]
      for certificate in certificates {
        let client = Lane.curl.client(.tls(settings(authority, certificate)))
        let response = try await client.get(RequestTarget(server.url))
        #expect(response.headers["X-Client"] == "CN=alice")
      }
    }

    @Test(.needs(.curlWithOpenSSL)) func `fails with a TLS error for a wrong password or key`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await nginx(authority)
      let identity = try await authority.identity("alice")
      let other = try await authority.identity("bob")
      let locked = try await authority.encrypted(identity, password: "open sesame")
      let archive = try await authority.pkcs12(identity, password: "open sesame")

      let certificates: [(Certificate, String)] = [
        (.pem(certificate: identity.certificate, key: other.key), "private key"),
        (.pem(certificate: locked.certificate, key: locked.key, password: "wrong"), "private key"),
        (.pem(certificate: locked.certificate, key: locked.key, password: ""), "private key"),
        (.pkcs12(archive, password: "wrong"), "PKCS12"),
        (.pkcs12(archive), "PKCS12"),
      ]
      for (certificate, words) in certificates {
        await TLSTrustTests.expectRefusal(settings(authority, certificate), server.url, saying: words)
      }
    }

    @Test(.needs(.curlWithOpenSSL), arguments: ["-tls1_2", "-tls1_3"], ["http/1.1", "h2"])
    func `fails with a TLS error if the certificate is missing or not trusted`(version: String, next: String)
      async throws
    {
      let authority = try await CertificateAuthority()
      let server = try await OpenSSLServer(
        try await authority.identity(), version, "-Verify", "1", "-verify_return_error", "-CAfile",
        authority.root.path, "-alpn", next)
      let own = try await authority.identity("alice")
      let stranger = try await authority.selfSigned()

      if next == "http/1.1" {
        let good = settings(authority, .pem(certificate: own.certificate, key: own.key))
        #expect(try await Lane.curl.client(.tls(good)).get(RequestTarget(server.url)).status == 200)
      }
      await TLSTrustTests.expectRefusal(settings(authority, nil), server.url, saying: " alert ")
      let bad = settings(authority, .pem(certificate: stranger.certificate, key: stranger.key))
      await TLSTrustTests.expectRefusal(bad, server.url, saying: " alert ")
    }

    @Test(arguments: [false, true])
    func `clients with different certificates share no connections`(isHTTP2: Bool) async throws {
      let authority = try await CertificateAuthority()
      let server = try await nginx(authority, isHTTP2: isHTTP2)
      var clients: [(name: String, client: HTTPClient)] = []
      for name in ["alice", "bob"] {
        let identity = try await authority.identity(name)
        let tls = settings(authority, .pem(certificate: identity.certificate, key: identity.key))
        clients.append((name, Lane.curl.client(.tls(tls))))
      }

      let owners = try await withThrowingTaskGroup { group in
        for number in 0..<100 {
          let (name, client) = clients[number % 2]
          let path = server.url + "/\(number)"
          group.addTask {
            let response = try await client.get(RequestTarget(path))
            #expect(response.headers["X-Client"] == "CN=\(name)")
            return (response.headers["X-Connection"] ?? "", name)
          }
        }
        var owners: [String: Set<String>] = [:]
        for try await (connection, name) in group { owners[connection, default: []].insert(name) }
        return owners
      }

      #expect(owners.count >= 2)
      #expect(owners.values.allSatisfy { $0.count == 1 })
    }
  }
#endif
