import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite struct ChallengeTests {
  private static func shown(_ values: String...) -> [String] {
    Challenge.parse(values).map { challenge in
      let parameters = challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      return ([challenge.scheme.rawValue] + parameters + [challenge.token68].compactMap { $0 })
        .joined(separator: " ")
    }
  }

  @Test func `reads the example of RFC 9110`() {
    let field = #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#

    #expect(Self.shown(field) == ["basic realm=simple", #"newauth realm=apps title=Login to "apps" type=1"#])
  }

  @Test(arguments: [
    (#"Basic realm="a""#, "basic realm=a"),
    (#"bAsIc ReAlM="a""#, "basic realm=a"),
    ("Basic realm=a", "basic realm=a"),
    (#"Basic   realm = "a""#, "basic realm=a"),
    ("Basic\trealm=\t\"a\"", "basic realm=a"),
    (#"Basic realm="""#, "basic realm="),
    (#"Basic realm="a, b", charset="UTF-8""#, "basic charset=UTF-8 realm=a, b"),
    (#"Basic realm="a\\b\"c""#, #"basic realm=a\b"c"#),
    (#", , Basic realm="a", ,"#, "basic realm=a"),
    ("Negotiate", "negotiate"),
    ("Negotiate a87421000492aa874209af8bc028==", "negotiate a87421000492aa874209af8bc028=="),
    ("NTLM TlRMTVNTUAAB=", "ntlm TlRMTVNTUAAB="),
    ("Other a-b.c_d~e+f/g", "other a-b.c_d~e+f/g"),
    ("Basic realm=\"j\u{F6}rg\"", "basic realm=j\u{F6}rg"),
  ]) func `reads one challenge`(field: String, expected: String) {
    #expect(Self.shown(field) == [expected])
  }

  @Test func `reads several challenges in one field and across fields`() {
    let fields = [
      #"Digest realm="d", nonce="n", qop="auth, auth-int", Basic realm="b""#, "Negotiate, NTLM", #"Bearer scope="a b""#,
    ]

    let schemes = Challenge.parse(fields).map(\.scheme.description)

    #expect(schemes == ["Digest", "Basic", "Negotiate", "NTLM", "Bearer"])
  }

  @Test(arguments: [
    "", " ", ",", "=", "=a", "\"", "\"a\"", "realm=a", "a=b, c=d", "Ba{sic realm=a",
  ]) func `skips text without a scheme`(field: String) {
    #expect(Self.shown(field).isEmpty)
  }

  /// Cameras and other small devices send challenges like these.
  @Test(arguments: [
    ("Basic realm=my realm", "basic realm=my realm"), ("Basic realm='x'", "basic realm='x'"),
    ("Basic realm='my realm'", "basic realm='my realm'"), (#"Basic realm="a"#, "basic realm=a"),
    (#"Basic realm="a" b"#, "basic realm=a"), (#"Basic realm="a", realm="b""#, "basic realm=b"),
    ("Basic realm=\"a\u{7}\"", "basic"), ("Basic {}", "basic"), ("Basic a b", "basic"),
    ("Basic realm=", "basic realm="),
    (#"Basic realm="a", ="#, "basic realm=a"), (#"Basic realm="a", "b"=c"#, "basic realm=a"),
    ("Negotiate abc==, realm=a", "negotiate abc=="),
    (#"Digest realm="r" nonce="n" qop="auth""#, "digest nonce=n qop=auth realm=r"),
    (#"Digest realm="r"; nonce="n"; qop=auth"#, "digest nonce=n qop=auth realm=r"),
    (#"Digest realm=my realm; nonce=ab+/c==;qop=auth"#, "digest nonce=ab+/c== qop=auth realm=my realm"),
    (#"Digest nonce=YWJj==, realm="r""#, "digest nonce=YWJj== realm=r"),
    ("Digest realm=r nonce=YQ== opaque=x;y", "digest nonce=YQ== opaque=x;y realm=r"),
    (#"Digest realm=;nonce=n"#, "digest nonce=n realm="),
    (#"Digest qop="", realm="r", nonce="n"#, "digest nonce=n qop= realm=r"),
  ]) func `reads the malformed challenges of small devices`(field: String, expected: String) {
    #expect(Self.shown(field) == [expected])
  }

  @Test func `continues after a challenge with mistakes`() {
    let digest = "digest nonce=c realm=b"
    #expect(Self.shown(#"Digest realm="a", realm="b", nonce=c, Basic realm="d""#) == [digest, "basic realm=d"])
    #expect(Self.shown(#"Digest realm="a"#, #"Basic realm="d""#) == ["digest realm=a", "basic realm=d"])
  }

  @Test func `limits the number of challenges, their parameters and their size`() {
    let many = (0..<1000).map { "S\($0)" }.joined(separator: ", ")
    let parameters = (0..<1000).map { "p\($0)=v" }.joined(separator: ", ")
    let large = #"Basic realm=""# + String(repeating: "a", count: 1 << 20) + #"""#

    #expect(Challenge.parse([many]).count == 16)
    #expect(Challenge.parse(["Basic " + parameters]).isEmpty)
    #expect(Challenge.parse([large, #"Basic realm="a""#]).isEmpty)
    #expect(Challenge.parse([#"Basic realm="a""#, large]).count == 1)
  }

  @Test func `reads damaged challenges without crashing`() {
    var random = SeededGenerator(seed: 4)
    let samples = [
      #"Digest realm="a", nonce="n", qop="auth,auth-int", algorithm=SHA-256-sess, opaque="o", stale=true, userhash=true"#,
      #"Basic realm="si\"mple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
      "Negotiate a87421000492aa874209af8bc028==, Bearer scope=\"a b\", error=invalid_token",
    ]
    var read = 0

    let rounds = Stress.count(2_000, full: 20_000)
    for _ in 0..<rounds {
      let challenges = Challenge.parse([random.damagedText(of: samples), random.damagedText(of: samples)])
      for challenge in challenges {
        read += 1
        guard let digest = DigestChallenge(challenge) else { continue }
        let field = DigestSession(digest, user: "u\"", password: "p").field(method: "GET", uri: "/")
        #expect(FieldSyntax.isFieldValue(field))
        #expect(Challenge.parse([field]).count == 1, "\(field)")
      }
    }

    #expect(read > rounds / 20)
  }
}
