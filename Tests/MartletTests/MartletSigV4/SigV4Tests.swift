import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletSigV4

@Suite(.hangLimit) struct SigV4Tests {
  /// 30 August 2015, the date of Amazon's test suite.
  private static let suiteDay = Date(timeIntervalSince1970: 1_440_938_160)
  /// 24 May 2013, the date of the examples in S3's documentation.
  private static let day = Date(timeIntervalSince1970: 1_369_353_600)
  private static let place = "https://example.amazonaws.com"
  private static let bucket = "https://examplebucket.s3.amazonaws.com"
  private static let keys = SigV4.Credentials(
    accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

  private static let storage = SigV4(.origin(bucket), region: "us-east-1", service: "s3", credentials: keys)

  private static func suite(_ additionalFields: [String]) -> SigV4 {
    var signer = SigV4(
      .origin(place), region: "us-east-1", service: "service",
      credentials: .init(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))
    signer.additionalFields = additionalFields
    return signer
  }

  @Test(
    arguments: [
      // get-vanilla
      (
        HTTPRequest.get("\(raw: place)/"), "host;x-amz-date",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
      ),
      // get-vanilla-query-order-key-case
      (
        .get("\(raw: place)/?Param2=value2&Param1=value1"), "host;x-amz-date",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
      ),
      // post-vanilla
      (
        .post("\(raw: place)/"), "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
      ),
      // post-x-www-form-urlencoded
      (
        .post(
          "\(raw: place)/", headers: ["Content-Type": "application/x-www-form-urlencoded"],
          body: .data(Data("Param1=value1".utf8))), "content-type;host;x-amz-date",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
      ),
      // get-header-value-trim
      (
        .get("\(raw: place)/", headers: ["My-Header1": " value1", "My-Header2": " \"a   b   c\""]),
        "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
      ),
      // get-unreserved
      (
        .get("\(raw: place)/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), "host;x-amz-date",
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"
      ),
      // normalize-path/get-slashes
      (
        .get("\(raw: place)//example//"), "host;x-amz-date",
        "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"
      ),
    ])
  func `matches the signatures of Amazon's test suite`(
    request: HTTPRequest, names: String, signature: String
  ) async throws {
    let signed = try await Self.suite(["My-Header1", "my-header2"]).signed(request, at: Self.suiteDay)

    #expect(signed.headers["X-Amz-Date"] == "20150830T123600Z")
    #expect(!signed.headers.contains("X-Amz-Content-Sha256"))
    #expect(
      signed.headers["Authorization"]
        == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        + "SignedHeaders=\(names), Signature=\(signature)")
  }

  @Test(
    arguments: [
      (
        HTTPRequest.get("\(raw: bucket)/test.txt", headers: ["Range": "bytes=0-9"]),
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
      ),
      (
        .put(
          "\(raw: bucket)/test$file.text",
          headers: ["Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
          body: .data(Data("Welcome to Amazon S3.".utf8))),
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
      ),
      (
        .get("\(raw: bucket)/?lifecycle"), "host;x-amz-content-sha256;x-amz-date",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
      ),
      (
        .get("\(raw: bucket)/", query: ["prefix": "J", "max-keys": 2]), "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
      ),
    ])
  func `matches the signatures in S3's documentation`(
    request: HTTPRequest, names: String, signature: String
  ) async throws {
    let signed = try await Self.storage.signed(request, at: Self.day)

    #expect(
      signed.headers["Authorization"]
        == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        + "SignedHeaders=\(names), Signature=\(signature)")
  }

  @Test func `matches the presigned URL in S3's documentation`() async throws {
    let url = try await Self.storage.presigned(
      .get("\(raw: Self.bucket)/test.txt"), for: .seconds(86_400), at: Self.day)

    #expect(
      url.absoluteString == Self.bucket + "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }

  @Test func `builds the canonical request of S3`() throws {
    var request = HTTPRequest.get(
      "http://h.test:9000/a%2Fb//c d$é?c=%ff&%FE=1+2&bare", query: ["b": "x y", "a-": "+", "a": nil, "aa": "="])
    request.headers["User-Agent"] = "changes"
    request.headers["Authorization"] = "old"
    request.headers["Content-Type"] = " text/plain;  charset=utf-8 "
    request.headers.append("1", for: "X-Amz-Meta-N")
    request.headers.append("2", for: "x-amz-meta-n")
    let url = try #require(request.absoluteURL)

    let canonical = CanonicalRequest(
      request, url, query: CanonicalRequest.items(of: url.query), digest: "D", Self.storage.scope,
      additionalFields: ["Host", "authorization"])

    #expect(
      canonical.text == """
        GET
        /a/b//c%20d%24%C3%A9
        %FE=1%202&a-=%2B&aa=%3D&b=x%20y&bare=&c=%FF
        content-type:text/plain; charset=utf-8
        host:h.test:9000
        x-amz-meta-n:1,2

        content-type;host;x-amz-meta-n
        D
        """)
  }

  @Test(
    arguments: [
      ("X-Amz-Signature=1", true), ("a=1&X-Amz-Signature", true), ("X-Amz%2DSignature=1", true),
      ("fooX-Amz-Signature=1", false), ("a=X-Amz-Signature=1", false), ("", false),
    ])
  func `compares names to find a signature in a URL`(query: String, isPresigned: Bool) throws {
    let url = try #require(HTTPRequest.get("\(raw: Self.bucket)/a?\(raw: query)").absoluteURL)

    #expect(CanonicalRequest.isPresigned(url) == isPresigned)
  }

  /// botocore computed the signatures.
  @Test func `presigns the digest in the request's own field`() async throws {
    let digests = ["UNSIGNED-PAYLOAD", SHA2.sha256([]).hexadecimal]

    var signatures: [String] = []
    for digest in digests {
      let link = try await Self.storage.presigned(
        .get("\(raw: Self.bucket)/a", headers: ["X-Amz-Content-Sha256": digest]), at: Self.day)
      signatures.append(try #require(Query(parsing: link.query ?? "")["X-Amz-Signature"]))
    }

    #expect(
      signatures == [
        "99ef9a80ca2473b127df9c3d729b6115e44bd63efb9550d7dd212032f51c515c",
        "95d38a7bee43efd6e6672a029f555de233955d6c90b009fc55830201d62c19a9",
      ])
  }

  @Test(arguments: [("/", "/"), ("/a%20b", "/a%2520b"), ("//a///b//", "/a/b/"), ("/a:b/c", "/a%3Ab/c"), ("///", "/")])
  func `other services encode the path that was sent again`(path: String, canonical: String) {
    #expect(CanonicalRequest.path(path, SigningScope(region: "r", service: "sts")) == canonical)
  }

  @Test func `HMAC matches RFC 4231`() {
    let long = [UInt8](repeating: 0xAA, count: 131)

    #expect(
      SigningScope.hmac(Array("Jefe".utf8), "what do ya want for nothing?").hexadecimal
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(
      SigningScope.hmac(long, "Test Using Larger Than Block-Size Key - Hash Key First").hexadecimal
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  @Test func `signs each attempt with the client's date and current credentials`() async throws {
    let transport = StubTransport(script: [.status(503), .status(200)])
    let seconds = Shared(0.0)
    let count = Shared(0)
    let signer = SigV4(.baseURL, region: "us-east-1", service: "s3") {
      let number = count.withLock { count in
        count += 1
        return count
      }
      return SigV4.Credentials(accessKeyID: "KEY\(number)", secretAccessKey: "s", sessionToken: "T\(number)")
    }
    let client = HTTPClient.stubbed(transport) {
      $0.baseURL = "https://s3.test"
      $0.exchangeMiddleware = [signer]
      $0.retry = .backoff(initialDelay: .milliseconds(1))
      $0.now = {
        seconds.withLock { seconds in
          seconds += 1
          return Self.day + seconds
        }
      }
    }

    try await client.put("/a", body: .text("hello"))

    let requests = transport.requests
    #expect(requests.count == 2)
    #expect(requests.map { $0.headers["X-Amz-Security-Token"] } == ["T1", "T2"])
    #expect(requests[1].headers["Authorization"]?.contains("Credential=KEY2/20130524/") == true)
    #expect(Set(requests.map { $0.headers["X-Amz-Date"] }).count == 2)
    #expect(
      requests.allSatisfy {
        $0.headers["X-Amz-Content-Sha256"] == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      })
  }

  @Test(arguments: [false, true])
  func `signs for each server of a cluster that is one service`(_ isOneService: Bool) async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport) {
      $0.baseURL = "https://s3.test"
      $0.cluster = .roundRobin(["https://a.test"], isOneService: isOneService)
      $0.exchangeMiddleware = [SigV4(.baseURL, region: "us-east-1", service: "s3", credentials: Self.keys)]
    }

    try await client.get("/a")
    try await client.get("https://a.test/a")

    #expect(transport.requests.map(\.url?.absoluteString) == ["https://a.test/a", "https://a.test/a"])
    #expect(transport.requests.map { $0.headers.contains("Authorization") } == [isOneService, false])
  }

  @Test func `signs no request to another server and no presigned URL`() async throws {
    let transport = StubTransport(script: [.redirect(to: "https://other.test/a"), .status(200), .status(200)])
    let signer = SigV4(.origin("https://s3.test"), region: "us-east-1", service: "s3", credentials: Self.keys)
    let client = HTTPClient.stubbed(transport) { $0.exchangeMiddleware = [signer] }

    try await client.get("https://s3.test/a")
    try await client.get(RequestTarget(try await signer.presigned(.get("https://s3.test/b"))))

    #expect(transport.requests.map { $0.headers.contains("Authorization") } == [true, false, false])
    #expect(transport.requests.map { $0.headers.contains("X-Amz-Date") } == [true, false, false])
  }

  @Test func `signs a stream once it is declared unsigned over https`() async throws {
    let once = HTTPBody.stream(AsyncStream<Data> { $0.finish() })
    var signer = SigV4(.host("s3.test"), region: "us-east-1", service: "s3", credentials: Self.keys)

    let refusal = await #expect(throws: HTTPError.self) {
      try await signer.signed(.put("https://s3.test/a", body: once), at: Self.day)
    }
    signer.isBodySigned = false
    let signed = try await signer.signed(.put("https://s3.test/a", body: once), at: Self.day)
    let plain = await #expect(throws: HTTPError.self) {
      try await signer.signed(.put("http://s3.test/a", body: once), at: Self.day)
    }

    #expect(refusal?.kind == .bodyNotReplayable && refusal?.message.contains("isBodySigned") == true)
    #expect(signed.headers["X-Amz-Content-Sha256"] == "UNSIGNED-PAYLOAD")
    #expect(plain?.kind == .invalidRequest && plain?.message.contains("use https") == true)
  }

  @Test func `digests a stream that can be sent again, and sends it afterwards`() async throws {
    let transport = StubTransport { _ in .status(200) }
    let signer = SigV4(.host("s3.test"), region: "us-east-1", service: "s3", credentials: Self.keys)
    let client = HTTPClient.stubbed(transport) { $0.exchangeMiddleware = [signer] }
    let body = HTTPBody.stream(length: 5) {
      AsyncStream<Data> {
        $0.yield(Data("hello".utf8))
        $0.finish()
      }
    }

    try await client.put("https://s3.test/a", body: body)

    #expect(
      transport.requests.first?.headers["X-Amz-Content-Sha256"]
        == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
  }

  @Test(
    arguments: [
      ("", "s3", keys, "region"), ("us-east-1", "s3/x", keys, "service"),
      ("us-east-1", "s3", SigV4.Credentials(accessKeyID: "a b", secretAccessKey: "secret"), "accessKeyID"),
      ("us-east-1", "s3", SigV4.Credentials(accessKeyID: "a", secretAccessKey: "secret\n"), "secretAccessKey"),
      (
        "us-east-1", "s3", SigV4.Credentials(accessKeyID: "a", secretAccessKey: "secret", sessionToken: ""),
        "sessionToken"
      ),
    ])
  func `names an invalid setting without its secret, and sends nothing`(
    region: String, service: String, keys: SigV4.Credentials, name: String
  ) async throws {
    let transport = StubTransport { _ in .status(200) }
    let client = HTTPClient.stubbed(transport) {
      $0.exchangeMiddleware = [SigV4(.host("s3.test"), region: region, service: service, credentials: keys)]
    }

    let error = await #expect(throws: HTTPError.self) { try await client.get("https://s3.test/a") }

    #expect(error?.kind == .invalidRequest && error?.message.contains(name) == true)
    #expect(error.map { !"\($0)".contains("secret\n") } == true)
    #expect(transport.requests.isEmpty)
  }

  @Test(
    arguments: [
      Authenticators.OriginPattern.everywhere, .proxy("http://p.test:1"), .origin("nothing"), .host("api.*"),
    ])
  func `refuses origins that are not servers`(origins: Authenticators.OriginPattern) async throws {
    let transport = StubTransport { _ in .status(200) }
    let signer = SigV4(origins, region: "us-east-1", service: "s3", credentials: Self.keys)
    let client = HTTPClient.stubbed(transport) { $0.exchangeMiddleware = [signer] }

    let error = await #expect(throws: HTTPError.self) { try await client.get("https://s3.test/a") }

    #expect(error?.kind == .invalidRequest && error?.message.contains("origins of SigV4") == true)
    #expect(transport.requests.isEmpty)
  }

  @Test(
    arguments: [
      (HTTPRequest.get("/relative"), Duration.seconds(9), "full URL"),
      (.get("https://other.test/"), .seconds(9), "origin"),
      (.get("\(raw: bucket)/a"), .seconds(0), "from 1 s to 7 days"),
      (.get("\(raw: bucket)/a"), .seconds(604_801), "from 1 s to 7 days"),
      (.get("\(raw: bucket)/a?X-Amz-Signature=1"), .seconds(9), "already presigned"),
    ])
  func `refuses to presign`(request: HTTPRequest, duration: Duration, reason: String) async {
    let error = await #expect(throws: HTTPError.self) {
      try await Self.storage.presigned(request, for: duration, at: Self.day)
    }

    #expect(error?.kind == .invalidRequest && error?.message.contains(reason) == true)
  }

  @Test func `presigns nothing for the base URL, which only a client has`() async {
    let signer = SigV4(.baseURL, region: "us-east-1", service: "s3", credentials: Self.keys)

    let error = await #expect(throws: HTTPError.self) { try await signer.presigned(.get("https://other.test/a")) }

    #expect(error?.kind == .invalidRequest && error?.message.contains("replace .baseURL with .origin(_:)") == true)
  }

  @Test(arguments: CallerNumberTests.numbers)
  func `accepts any date, and any duration up to 7 days`(number: CallerNumberTests.Number) async throws {
    let request = HTTPRequest.get("\(raw: Self.bucket)/a")

    let signed = try await Self.storage.signed(request, at: number.date)
    let url = try? await Self.storage.presigned(request, for: number.duration, at: number.date)

    #expect(signed.headers["X-Amz-Date"]?.utf8.count == 16)
    #expect((url != nil) == (1...604_800 ~= number.duration.clampedComponents.seconds))
  }

  @Test func `no description shows a secret`() {
    let keys = SigV4.Credentials(accessKeyID: "KEYID", secretAccessKey: "SECRET", sessionToken: "TOKEN")
    let signer = SigV4(.host("s3.test"), region: "us-east-1", service: "s3", credentials: keys)
    var text = "\(keys) \(signer)"
    dump(keys, to: &text)
    dump(signer, to: &text)

    #expect(text.contains("SigV4(us-east-1/s3)"))
    #expect(["KEYID", "SECRET", "TOKEN"].allSatisfy { !text.contains($0) })
  }
}
