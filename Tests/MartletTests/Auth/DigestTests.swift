import Testing

@testable import Martlet

@Suite struct DigestTests {
  private static func session(
    _ challenge: String, user: String, password: String, clientNonce: String
  ) throws -> DigestSession {
    let parsed = try #require(Challenge.parse([challenge]).first.flatMap { DigestChallenge($0) })
    return DigestSession(parsed, user: user, password: password, clientNonce: clientNonce)
  }

  private static func parameters(_ field: String) throws -> [String: String] {
    try #require(Challenge.parse([field]).first).parameters
  }

  /// RFC 7616 §3.9.1.
  @Test(arguments: [
    ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
  ]) func `answers the first example of RFC 7616`(algorithm: String, response: String) throws {
    let session = try Self.session(
      """
      Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
      nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", \
      opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
      """, user: "Mufasa", password: "Circle of Life", clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")

    let field = session.field(method: "GET", uri: "/dir/index.html")

    #expect(
      try Self.parameters(field) == [
        "username": "Mufasa", "realm": "http-auth@example.org", "uri": "/dir/index.html", "algorithm": algorithm,
        "nonce": "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", "nc": "00000001",
        "cnonce": "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "qop": "auth", "response": response,
        "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
      ])
    // RFC 7616 §3.4: these values are not quoted.
    #expect(field.contains("algorithm=\(algorithm),") && field.contains("qop=auth,") && field.contains("nc=00000001"))
  }

  /// RFC 7616 §3.9.2, with the hashes of erratum 4897, because the RFC's own text shows those of another hash function.
  @Test func `answers the second example of RFC 7616`() throws {
    let challenge = """
      Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
      nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \
      opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true
      """
    let clientNonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v"
    let session = try Self.session(
      challenge, user: "J\u{E4}s\u{F8}n Doe", password: "Secret, or not?", clientNonce: clientNonce)
    let decomposed = try Self.session(
      challenge, user: "Ja\u{308}s\u{F8}n Doe", password: "Secret, or not?", clientNonce: clientNonce)

    let parameters = try Self.parameters(session.field(method: "GET", uri: "/doe.json"))

    #expect(parameters["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
    #expect(parameters["response"] == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
    #expect(parameters["userhash"] == "true")
    #expect(try Self.parameters(decomposed.field(method: "GET", uri: "/doe.json")) == parameters)
  }

  @Test func `answers a challenge without qop as in RFC 2069`() throws {
    let session = try Self.session(
      #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc""#,
      user: "Mufasa", password: "Circle Of Life", clientNonce: "x")

    let parameters = try Self.parameters(session.field(method: "GET", uri: "/dir/index.html"))

    #expect(parameters["response"] == "670fd8c2df070c60b045671b8b24ff02")
    #expect(parameters["nc"] == nil && parameters["qop"] == nil && parameters["algorithm"] == nil)
  }

  /// The expected value comes from another implementation.
  @Test func `keeps the session key and nonce of a -sess algorithm`() throws {
    let session = try Self.session(
      #"Digest realm="http-auth@example.org", nonce="abc", qop=auth, algorithm=SHA-256-sess"#,
      user: "Mufasa", password: "Circle of Life", clientNonce: "def")

    _ = session.field(method: "GET", uri: "/dir/index.html")
    session.takeNext(from: ["Authentication-Info": #"nextnonce="other""#])
    let second = try Self.parameters(session.field(method: "GET", uri: "/dir/index.html"))

    #expect(second["response"] == "a18abdd39fa7ec1780b31828799369a238027573b82e031bb958e60d0efc771e")
    #expect(second["nc"] == "00000002" && second["cnonce"] == "def" && second["nonce"] == "abc")
  }

  @Test func `increments the nonce count and uses nextnonce`() throws {
    let session = try Self.session(
      #"Digest realm="r", nonce="one", qop="auth""#, user: "u", password: "p", clientNonce: "first")

    let fields = try (0..<18).map { _ in try Self.parameters(session.field(method: "GET", uri: "/")) }
    session.takeNext(from: ["Authentication-Info": #"qop=auth, rspauth="a", nextnonce="two""#])
    session.takeNext(from: ["Authentication-Info": "{}"])
    let next = try Self.parameters(session.field(method: "GET", uri: "/"))

    #expect(fields.map { $0["nc"] }.last == "00000012")
    #expect(Set(fields.map { $0["cnonce"] }).count == 18)
    #expect(next["nonce"] == "two" && next["nc"] == "00000001")
  }

  /// RFC 7616 §3.4: `nc` counts the requests with this nonce, across challenges.
  @Test func `a repeated nonce continues its count`() throws {
    let challenge = try #require(DigestChallenge(Challenge.parse([#"Digest realm="r", nonce="n", qop="auth""#])[0]))
    let counts = NonceCounts()
    let place = AuthState.AuthorityScope(origin: nil, authority: "")
    let sessions = ["wrong", "right"].map {
      DigestSession(challenge, user: "u", password: $0, counts: counts, at: place)
    }
    let other = DigestSession(challenge, user: "u", password: "p")

    let fields = try [sessions[0], sessions[1], sessions[0], other].map {
      try Self.parameters($0.field(method: "GET", uri: "/"))
    }
    sessions[0].takeNext(from: ["Authentication-Info": #"nextnonce="two""#])
    _ = sessions[0].field(method: "GET", uri: "/")
    sessions[0].takeNext(from: ["Authentication-Info": #"nextnonce="n""#])
    let back = try Self.parameters(sessions[0].field(method: "GET", uri: "/"))

    #expect(fields.map { $0["nc"] } == ["00000001", "00000002", "00000003", "00000001"])
    #expect(back["nc"] == "00000004")
  }

  @Test func `escapes quotes and backslashes in quoted parameters`() throws {
    let session = try Self.session(
      #"Digest realm="a \"b\" \\c", nonce="n\"", qop="auth""#, user: #"u"\"#, password: "p", clientNonce: "c")

    let field = session.field(method: "GET", uri: #"/?a="b""#)

    #expect(field.contains(#"username="u\"\\", realm="a \"b\" \\c", nonce="n\"""#))
    #expect(try Self.parameters(field)["uri"] == #"/?a="b""#)
  }

  @Test func `sends a non-ASCII user name in extended form only if the charset is UTF-8`() throws {
    let plain = try Self.session(#"Digest realm="r", nonce="n""#, user: "J\u{E4}s n", password: "p", clientNonce: "c")
    let extended = try Self.session(
      #"Digest realm="r", nonce="n", charset=UTF-8"#, user: "J\u{E4}s n", password: "p", clientNonce: "c")

    #expect(plain.field(method: "GET", uri: "/").contains("username=\"J\u{E4}s n\","))
    #expect(extended.field(method: "GET", uri: "/").contains("username*=UTF-8''J%C3%A4s%20n,"))
  }

  @Test(arguments: [
    #"Digest realm="r""#, #"Digest nonce="n""#, #"Digest realm="r", nonce="n", qop="auth-int""#,
    #"Digest realm="r", nonce="n", algorithm=SHA-1"#, #"Digest realm="r", nonce="n", algorithm="-sess""#,
    #"Digest realm="r", nonce="n", algorithm=MD5-sess"#, #"Digest realm="r", nonce="n", algorithm="M D5""#,
    #"Basic realm="r", nonce="n""#,
  ]) func `rejects incomplete, unsupported and non-Digest challenges`(challenge: String) throws {
    let parsed = try #require(Challenge.parse([challenge]).first)

    #expect(DigestChallenge(parsed) == nil)
  }

  @Test func `creates unique client nonces of 128 bits`() {
    let nonces = Set((0..<1000).map { _ in DigestSession.newClientNonce() })

    #expect(nonces.count == 1000 && nonces.allSatisfy { $0.utf8.count == 32 })
  }

  @Test func `chooses the strongest supported scheme and algorithm`() throws {
    let challenges = Challenge.parse([
      #"Basic realm="b", Bearer realm="t", Digest realm="d", nonce="n", Digest realm="d", nonce="n", algorithm=SHA-256"#,
      #"Digest realm="d", nonce="n", algorithm=SHA-512-256, Digest realm="d", nonce="n", algorithm=SHA-3, Negotiate"#,
    ])
    func choice(_ schemes: [AuthenticationScheme]) -> String? {
      let offer = Offer.strongest(of: challenges, among: schemes)
      return offer.map { "\($0.scheme) \($0.digest?.algorithm.rawValue ?? "")" }
    }

    #expect(choice([.basic, .bearer, .digest]) == "Digest SHA-512-256")
    #expect(choice([.basic, .bearer]) == "Bearer ")
    #expect(choice([.basic]) == "Basic ")
    #expect(choice([.negotiate]) == "Negotiate ")
    #expect(choice([.ntlm, .negotiate, .digest]) == "Negotiate ")
    #expect(choice([AuthenticationScheme(rawValue: "scram-sha-256")]) == nil)
  }
}
