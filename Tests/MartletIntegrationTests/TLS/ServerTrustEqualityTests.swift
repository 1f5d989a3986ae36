#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Compares the decisions for Apple's platforms with those of the engine.
  ///
  /// `openssl verify` replaces the system's evaluation. So the tests show that equal verdicts lead to equal decisions, not
  /// that Apple's evaluation reaches the verdicts of OpenSSL.
  @Suite(.needs(.openssl), .hangLimit) struct ServerTrustEqualityTests {
    private struct Chain {
      /// The certificates as the server sends them.
      let certificates: [URL]
      let root: URL
      let server: OpenSSLServer

      init(
        _ identity: CertificateAuthority.Identity, _ others: [URL] = [], root: URL, _ authority: CertificateAuthority
      ) async throws {
        certificates = [identity.certificate] + others
        self.root = root
        if others.isEmpty {
          server = try await OpenSSLServer(identity)
        } else {
          server = try await OpenSSLServer(identity, "-cert_chain", try authority.file(of: others).path)
        }
      }

      var der: [Data] {
        get throws {
          try certificates.flatMap { PEM.blocks(in: try Data(contentsOf: $0)).blocks.map(\.content) }
        }
      }

      /// The verdict of `openssl verify` for 127.0.0.1.
      func verdict() async throws -> ServerTrust.Verdict {
        let others = certificates.dropFirst().flatMap { ["-untrusted", $0.path] }
        let options = ["-no-CApath", "-no-CAstore", "-CAfile", root.path, "-verify_ip", "127.0.0.1"]
        let openssl = try TestProgram.openssl.start(["verify"] + options + others + [certificates[0].path])
        let result = try await openssl.end()
        return ServerTrust.Verdict(
          isTrusted: result.status == 0, result: result.status == 0 ? 4 : 5,
          failure: result.status == 0 ? nil : result.errors)
      }
    }

    /// Expects the engine and the rules to decide alike.
    private static func compare(_ chain: Chain, _ tls: TLSSettings, isAccepted: Bool, _ name: String) async throws {
      let peer = ServerTrust.Peer(host: "127.0.0.1", challenged: "127.0.0.1", isProxy: false)
      let decision = ServerTrust(tls: tls).decide(peer, chain: try chain.der, verdict: try await chain.verdict())
      let response = try? await Lane.curl.client(.tls(tls)).get(RequestTarget(chain.server.url))

      #expect((decision == .accept) == isAccepted, "\(name), \(tls): \(decision)")
      #expect((response != nil) == isAccepted, "\(name), \(tls): the engine")
    }

    @Test func `decides like the engine about chains and pins`() async throws {
      let authority = try await CertificateAuthority()
      let other = try await CertificateAuthority()
      let identity = try await authority.identity()
      let expired = try await authority.identity(isExpired: true)
      let foreign = try await authority.identity(for: "DNS:other.example,IP:127.0.0.2")
      let middle = try await authority.intermediate()
      let low = try await authority.identity(signedBy: middle)
      let chains: [(String, CertificateAuthority.Identity, [URL], root: URL, isTrusted: Bool)] = [
        ("right", identity, [], authority.root, true), ("expired", expired, [], authority.root, false),
        ("another host", foreign, [], authority.root, false), ("another root", identity, [], other.root, false),
        ("in order", low, [middle.certificate, authority.root], authority.root, true),
        ("in an odd order", low, [authority.root, middle.certificate], authority.root, true),
        ("without the intermediate certificate", low, [], authority.root, false),
      ]
      let wrong = try await authority.pin(middle)

      for (name, identity, others, root, isTrusted) in chains {
        let chain = try await Chain(identity, others, root: root, authority)
        let right = try await authority.pin(identity)
        for (pins, isPinned) in [(nil, true), ([right], true), ([wrong, right], true), ([wrong], false)] {
          var strict = TLSSettings.customRoots(pem: root)
          strict.pins = pins
          try await Self.compare(chain, strict, isAccepted: isTrusted && isPinned, name)
          var open = TLSSettings.insecureTrustAnything
          open.pins = pins
          try await Self.compare(chain, open, isAccepted: isPinned, name)
        }
      }
    }

    static let keys: [[String]] = [
      ["-newkey", "rsa:2048"], ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
      ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"], ["-newkey", "ed25519"],
    ]

    @Test(arguments: keys) func `finds the pin that OpenSSL and the engine find`(_ options: [String]) async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.selfSigned(options)
      let chain = try await Chain(identity, root: identity.certificate, authority)
      let pin = try await authority.pin(identity)

      #expect(try chain.der.map(X509.pin) == [pin])
      var tls = TLSSettings.customRoots(pem: identity.certificate)
      tls.pins = [pin]
      try await Self.compare(chain, tls, isAccepted: true, "the right pin")
      tls.pins = [try await authority.pin(try await authority.selfSigned())]
      try await Self.compare(chain, tls, isAccepted: false, "another pin")
    }
  }
#endif
