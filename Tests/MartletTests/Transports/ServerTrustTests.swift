import Foundation
import Testing

@testable import Martlet
@testable import MartletBase

/// Decisions about trust.
///
/// The verdict of the system is an input here. The tests show what follows from it, not what Apple's evaluation finds.
@Suite(.hangLimit) struct ServerTrustTests {
  private static let root = TLSSettings.customRoots(pem: pem)
  private static let added = TLSSettings.system(adding: pem)
  private static let pem = Data("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".utf8)

  private static func pinned(_ tls: TLSSettings, _ vectors: CertificateVector...) -> TLSSettings {
    var tls = tls
    tls.pins = vectors.map(\.pin)
    return tls
  }

  private static let server = ServerTrust.Peer(host: "a.test", challenged: "a.test", isProxy: false)
  private static let proxy = ServerTrust.Peer(host: "a.test", challenged: "proxy.test", isProxy: true)

  // MARK: Challenges

  @Test func `leaves the system's own decision to the system`() {
    #expect(ServerTrust(tls: .system).step(for: Self.server) == .systemDefault)
    var tls = TLSSettings.system
    tls.minimumVersion = .v1_3
    #expect(ServerTrust(tls: tls).step(for: Self.server) == .systemDefault)
  }

  @Test func `custom trust never leaves the decision to the system`() {
    for tls in [Self.root, Self.added, Self.pinned(.system, .rsa), Self.pinned(Self.root, .rsa)] {
      #expect(ServerTrust(tls: tls).step(for: Self.server) == .evaluate, "\(tls)")
    }
    for tls in [TLSSettings.insecureTrustAnything, Self.pinned(.insecureTrustAnything, .rsa)] {
      #expect(ServerTrust(tls: tls).step(for: Self.server) == .readChain, "\(tls)")
    }
  }

  @Test func `only roots apply to a proxy`() {
    for tls in [
      TLSSettings.system, Self.pinned(.system, .rsa), .insecureTrustAnything, Self.pinned(.insecureTrustAnything, .rsa),
    ] {
      #expect(ServerTrust(tls: tls).step(for: Self.proxy) == .systemDefault, "\(tls)")
    }
    for tls in [Self.root, Self.added, Self.pinned(Self.root, .rsa)] {
      let trust = ServerTrust(tls: tls)
      #expect(trust.step(for: Self.proxy) == .evaluate, "\(tls)")
      #expect(trust.decide(Self.proxy, chain: [CertificateVector.p256.der], verdict: .trusted) == .accept)
      let refusal = trust.decide(Self.proxy, chain: [CertificateVector.p256.der], verdict: .rejected("expired"))
      #expect(refusal == .refuse("the certificate of proxy.test is not trusted: expired"))
    }
    // A proxy is checked even by a client that trusts any server.
    let trust = ServerTrust(tls: .insecureTrustAnything)
    #expect(trust.decide(Self.proxy, chain: [CertificateVector.p256.der], verdict: nil) != .accept)
  }

  static let hosts: [(host: String, challenged: String, isSame: Bool)] = [
    ("a.test", "a.test", true), ("a.test", "A.Test", true), ("a.test", "a.test.", true), ("a.test.", "a.test", true),
    ("127.0.0.1", "127.0.0.1", true), ("[::1]", "::1", true), ("[::1]", "0:0:0:0:0:0:0:1", true),
    ("a.test", "b.test", false), ("a.test", "x.a.test", false), ("a.test", "a.test.evil", false), ("a.test", "", false),
    ("", "", false), ("127.0.0.1", "127.0.0.2", false), ("[::1]", "[::2]", false), ("a.test", "a.test\0", false),
    ("a.test", "a.test..", false),
  ]

  @Test(arguments: hosts)
  func `refuses a challenge for another host`(_ host: String, _ challenged: String, _ isSame: Bool) {
    let peer = ServerTrust.Peer(host: host, challenged: challenged, isProxy: false)
    for tls in [Self.root, .insecureTrustAnything, Self.pinned(.system, .p256)] {
      let trust = ServerTrust(tls: tls)
      let decision = trust.decide(peer, chain: [CertificateVector.p256.der], verdict: .trusted)

      #expect((decision == .accept) == isSame)
      if case .refuse(let reason) = trust.step(for: peer) {
        #expect(!isSame && decision == .refuse(reason) && reason.hasPrefix("the challenge is for "))
      } else {
        #expect(isSame)
      }
    }
  }

  // MARK: Verdicts

  static let verdicts: [(isTrusted: Bool, result: UInt32?, failure: String?, verdict: ServerTrust.Verdict)] = [
    (true, 1, nil, .trusted), (true, 4, nil, .trusted),
    (false, 5, "expired", .rejected("expired")), (false, 3, "denied", .rejected("denied")),
    (false, nil, "expired", .rejected("expired")), (false, 4, "expired\n", .rejected("expired\\n")),
    (true, 4, "expired", .unclear("result 4")), (true, nil, nil, .unclear("result unknown")),
    (true, 0, nil, .unclear("result 0")), (true, 2, nil, .unclear("result 2")), (true, 3, nil, .unclear("result 3")),
    (true, 5, nil, .unclear("result 5")), (true, 6, nil, .unclear("result 6")), (true, 7, nil, .unclear("result 7")),
    (true, 99, nil, .unclear("result 99")), (false, 4, nil, .unclear("result 4")),
    (false, nil, nil, .unclear("result unknown")),
  ]

  @Test(arguments: verdicts)
  func `trusts only an explicit success`(
    _ isTrusted: Bool, _ result: UInt32?, _ failure: String?, _ verdict: ServerTrust.Verdict
  ) {
    #expect(ServerTrust.Verdict(isTrusted: isTrusted, result: result, failure: failure) == verdict)
  }

  private static let untrusted: [(ServerTrust.Verdict?, String)] = [
    (.rejected("certificate has expired"), "the certificate of a.test is not trusted: certificate has expired"),
    (.unclear("result 7"), "the certificate of a.test is not trusted: its evaluation is unclear (result 7)"),
    (nil, "the certificate of a.test is not trusted: it was not evaluated"),
  ]

  @Test func `requires the system's verdict unless anything is trusted`() {
    let chain = [CertificateVector.p256.der]
    for tls in [TLSSettings.system, Self.root, Self.added, Self.pinned(.system, .p256), Self.pinned(Self.root, .p256)] {
      let trust = ServerTrust(tls: tls)
      #expect(trust.decide(Self.server, chain: chain, verdict: .trusted) == .accept, "\(tls)")
      for (verdict, reason) in Self.untrusted {
        // The right pin does not compensate.
        #expect(trust.decide(Self.server, chain: chain, verdict: verdict) == .refuse(reason), "\(tls)")
      }
    }
    for verdict in [nil, .trusted] + Self.untrusted.map(\.0) {
      let trust = ServerTrust(tls: .insecureTrustAnything)
      #expect(trust.decide(Self.server, chain: chain, verdict: verdict) == .accept)
    }
  }

  @Test func `refuses an empty chain`() {
    for tls in [TLSSettings.system, Self.root, .insecureTrustAnything, Self.pinned(.insecureTrustAnything, .rsa)] {
      for verdict in [nil, ServerTrust.Verdict.trusted] {
        let decision = ServerTrust(tls: tls).decide(Self.server, chain: [], verdict: verdict)
        #expect(decision == .refuse("a.test presented no certificate"))
      }
    }
  }

  // MARK: Pins

  @Test(arguments: CertificateVector.allCases) func `compares the pin of every kind of key`(_ vector: CertificateVector)
  {
    let others = CertificateVector.allCases.filter { $0 != vector }
    for tls in [TLSSettings.system, Self.root, Self.added, .insecureTrustAnything] {
      var tls = tls
      tls.pins = others.map(\.pin) + [vector.pin.replacing("sha256//", with: "sha256/")]
      #expect(ServerTrust(tls: tls).decide(Self.server, chain: [vector.der], verdict: .trusted) == .accept)
      tls.pins = others.map(\.pin)
      let decision = ServerTrust(tls: tls).decide(Self.server, chain: [vector.der], verdict: .trusted)
      #expect(decision == .refuse("the public key of a.test matches no pin: it is \(vector.pin)"))
    }
  }

  @Test func `only the first certificate of the chain is the server's`() {
    let (leaf, middle, root) = (CertificateVector.p256.der, CertificateVector.p384.der, CertificateVector.rsa.der)
    for tls in [TLSSettings.system, .insecureTrustAnything] {
      let pinned = ServerTrust(tls: Self.pinned(tls, .p256))
      for chain in [[leaf, middle, root], [leaf, root, middle], [leaf, leaf], [leaf, Data([0xFF])]] {
        #expect(pinned.decide(Self.server, chain: chain, verdict: .trusted) == .accept)
      }
      // A pin of a certificate above the server's does not count.
      for chain in [[middle, leaf, root], [root, leaf]] {
        #expect(pinned.decide(Self.server, chain: chain, verdict: .trusted) != .accept)
      }
      let above = ServerTrust(tls: Self.pinned(tls, .p384, .rsa))
      #expect(above.decide(Self.server, chain: [leaf, middle, root], verdict: .trusted) != .accept)
    }
  }

  @Test(arguments: [Data(), Data([0x30, 0]), CertificateVector.p256.der.dropLast(), CertificateVector.p256.der + [0]])
  func `refuses a key that cannot be read`(_ certificate: Data) {
    for tls in [TLSSettings.system, .insecureTrustAnything] {
      let trust = ServerTrust(tls: Self.pinned(tls, .p256))
      let decision = trust.decide(Self.server, chain: [certificate, CertificateVector.p256.der], verdict: .trusted)
      #expect(
        decision == .refuse("the certificate of a.test is malformed, so its public key matches no pin"))
    }
  }

  @Test func `an invalid pin matches nothing`() {
    for pins in [[], ["sha256//AAAA"], [String(CertificateVector.p256.pin.dropFirst(8))]] {
      var tls = TLSSettings.insecureTrustAnything
      tls.pins = pins
      let decision = ServerTrust(tls: tls).decide(Self.server, chain: [CertificateVector.p256.der], verdict: .trusted)
      #expect(decision != .accept)
    }
  }

  // MARK: Responses

  @Test func `refuses a response from a host whose certificate was never accepted`() {
    let https = Origin(scheme: "https", host: "a.test", port: 443)
    let http = Origin(scheme: "http", host: "a.test", port: 80)
    for tls in [Self.root, .insecureTrustAnything, Self.pinned(.system, .p256)] {
      let trust = ServerTrust(tls: tls)
      #expect(trust.decide(responseOf: https, wasAccepted: true) == .accept)
      #expect(trust.decide(responseOf: http, wasAccepted: false) == .accept)
      #expect(trust.decide(responseOf: https, wasAccepted: false) != .accept)
    }
    #expect(ServerTrust(tls: .system).decide(responseOf: https, wasAccepted: false) == .accept)
  }
}
