#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Certificate files that change while a client uses them.
  @Suite(.needs(.openssl, .nginx), .hangLimit) struct TLSRotationTests {
    private typealias Identity = CertificateAuthority.Identity

    /// The files that a client uses, and their contents.
    private struct Files {
      let folder: TemporaryFolder
      var certificate: URL { folder.url.appendingPathComponent("client.pem") }
      var key: URL { folder.url.appendingPathComponent("client.key") }
      var roots: URL { folder.url.appendingPathComponent("roots.pem") }

      init() throws { folder = try TemporaryFolder() }

      /// Replaces a file, as a program that rotates certificates does.
      func replace(_ file: URL, with other: URL) throws { try replace(file, with: Data(contentsOf: other)) }

      func replace(_ file: URL, with bytes: Data) throws {
        let new = try folder.write(bytes, to: "new")
        try #require(rename(new.path, file.path) == 0)
      }

      func replaceBoth(with identity: Identity) throws {
        try replace(certificate, with: identity.certificate)
        try replace(key, with: identity.key)
      }

      func client(_ lane: Lane = .curl, _ settings: ClientSetting...) -> HTTPClient {
        var tls = TLSSettings.customRoots(pem: roots)
        if FileManager.default.fileExists(atPath: key.path) {
          tls.clientCertificate = .pem(certificate: certificate, key: key)
        }
        let transport = PreparedTransport { settings in
          var settings = settings
          settings.fileInterval = 0
          return lane.transport.prepared(for: settings)
        }
        return lane.client(.tls(tls), ClientSetting(settings)) { $0.transport = transport }
      }
    }

    private func server(_ authority: CertificateAuthority, isHTTP2: Bool = false) async throws -> NginxServer {
      try await NginxServer(
        try await authority.identity(), isHTTP2: isHTTP2, "ssl_client_certificate \(authority.root.path);",
        "ssl_verify_client on;")
    }

    @Test(arguments: [false, true]) func `loses no request while certificates rotate`(isHTTP2: Bool) async throws {
      let authority = try await CertificateAuthority()
      let server = try await server(authority, isHTTP2: isHTTP2)
      var identities: [Identity] = []
      for number in 0..<5 { identities.append(try await authority.identity("v\(number)")) }
      let files = try Files()
      try files.replace(files.roots, with: authority.root)
      try files.replaceBoth(with: identities[0])
      let client = files.client()
      let isOver = Shared(false)
      let served = Shared(0)

      try await withThrowingTaskGroup { group in
        for _ in 0..<64 {
          group.addTask {
            while !isOver.withLock({ $0 }) {
              let response = try await client.get(RequestTarget(server.url))
              #expect(response.status == 200 && response.headers["X-Client"]?.hasPrefix("CN=v") == true)
              served.withLock { $0 += 1 }
            }
          }
        }
        for rotation in 1...50 {
          try files.replaceBoth(with: identities[rotation % identities.count])
          // All of the client's connections are older than the files, so this request needs a new one.
          let response = try await client.get(RequestTarget(server.url))
          #expect(response.headers["X-Client"] == "CN=v\(rotation % identities.count)")
        }
        isOver.withLock { $0 = true }
        try await group.waitForAll()
      }

      #expect(served.withLock { $0 } >= 64)
      #expect(client.diagnostics.warnings.allSatisfy { !$0.contains("TLS files") })
    }

    @Test(arguments: Lane.engines) func `keeps the last pair until a certificate and its key belong together`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await server(authority)
      let (old, new) = (try await authority.identity("old"), try await authority.identity("new"))
      let files = try Files()
      try files.replace(files.roots, with: authority.root)
      try files.replaceBoth(with: old)
      let client = files.client(lane, ClientSetting { $0.options.explains = true })
      let request = HTTPRequest(.get, RequestTarget(server.url), headers: ["Connection": "close"])
      let seen = { () async throws -> String? in try await client.send(request).headers["X-Client"] }
      let warning = { client.diagnostics.warnings.first { $0.contains("TLS files") } }

      #expect(try await seen() == "CN=old" && warning() == nil)
      try files.replace(files.certificate, with: new.certificate)
      let kept = try await client.send(request)
      #expect(kept.headers["X-Client"] == "CN=old")
      #expect(kept.explanation.description.contains("their last contents stay in use: the key does not belong"))
      #expect(warning()?.contains(files.certificate.path) == true)
      #expect(try await client.send(request).explanation.description.contains("last contents") == false)
      try files.replace(files.key, with: new.key)
      #expect(try await seen() == "CN=new" && warning() == nil)
      try files.replaceBoth(with: old)
      #expect(try await seen() == "CN=old")
    }

    @Test func `keeps valid contents while a new file is half written, broken or missing`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await server(authority)
      let (old, new) = (try await authority.identity("old"), try await authority.identity("new"))
      let files = try Files()
      try files.replace(files.roots, with: authority.root)
      try files.replaceBoth(with: old)
      let client = files.client()
      let seen = { () async throws -> String? in
        try await client.get(RequestTarget(server.url), headers: ["Connection": "close"]).headers["X-Client"]
      }
      let warning = { client.diagnostics.warnings.first { $0.contains("TLS files") } ?? "" }
      let whole = try Data(contentsOf: new.certificate)
      #expect(try await seen() == "CN=old")

      try whole.prefix(whole.count / 2).write(to: files.certificate)
      for _ in 0..<3 { #expect(try await seen() == "CN=old") }
      #expect(warning().contains("has a BEGIN line without its END line"))
      try files.replace(files.certificate, with: Data("nonsense\n".utf8))
      #expect(try await seen() == "CN=old" && warning().contains("contains no certificate"))
      try FileManager.default.removeItem(at: files.certificate)
      #expect(try await seen() == "CN=old" && warning().contains("does not exist"))
      try files.replaceBoth(with: new)
      #expect(try await seen() == "CN=new" && warning().isEmpty)
    }

    @Test func `uses new roots for new connections`() async throws {
      let (first, second) = (try await CertificateAuthority(), try await CertificateAuthority())
      let old = try await NginxServer(try await first.identity())
      let new = try await NginxServer(try await second.identity())
      let files = try Files()
      try files.replace(files.roots, with: first.root)
      let client = files.client()

      #expect(try await client.get(RequestTarget(old.url)).text == "ok")
      try files.replace(files.roots, with: second.root)
      #expect(try await client.get(RequestTarget(new.url)).text == "ok")
      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(old.url)) }

      #expect(error?.kind == .tls)
      try files.replace(files.roots, with: try Data(contentsOf: first.root) + Data(contentsOf: second.root))
      #expect(try await client.get(RequestTarget(old.url)).text == "ok")
      #expect(try await client.get(RequestTarget(new.url)).text == "ok")
    }

    @Test func `PKCS 12 files rotate`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await server(authority)
      let files = try Files()
      let archive = files.folder.url.appendingPathComponent("client.p12")
      let password = "open sesame"
      let names = ["old", "new"]
      var archives: [URL] = []
      for name in names {
        archives.append(try await authority.pkcs12(try await authority.identity(name), password: password))
      }
      let other = try await authority.pkcs12(try await authority.identity("other"), password: "different")
      try files.replace(files.roots, with: authority.root)
      try files.replace(archive, with: archives[0])
      let client = files.client(
        .curl,
        ClientSetting {
          $0.tls.clientCertificate = .pkcs12(archive, password: password)
        })

      for (file, name) in [(archives[0], "old"), (other, "old"), (archives[1], "new")] {
        try files.replace(archive, with: file)
        #expect(try await client.get(RequestTarget(server.url)).headers["X-Client"] == "CN=\(name)")
      }
    }
  }
#endif
