import Foundation
import Martlet
import MartletSigV4
import MartletTesting
import TestSupport
import Testing

nonisolated struct SigningKey: Sendable {
  typealias Function = @Sendable (_ message: Data, _ key: Data) -> Data
  var id: String
  var secret: Data
  var hmac: Function
  var sha256: @Sendable (Data) -> Data
}

nonisolated struct BodySignature: Middleware {
  var key: SigningKey
  var host: String

  func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    guard request.url?.host() == host else { return try await next(request) }
    var request = request
    let time = "\(Int(context.now.timeIntervalSince1970))"
    let body = try await request.body?.bytes() ?? Data()
    let mac = key.hmac(Data("\(time).".utf8) + body, key.secret)
    request.headers["X-Signature"] = "t=\(time),v1=\(mac.map { String(format: "%02x", $0) }.joined())"
    return try await next(request)
  }
}

nonisolated struct MessageSignature: Middleware {
  var key: SigningKey
  var host: String

  func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    guard let url = request.url, url.host() == host else { return try await next(request) }
    var request = request
    let digest = key.sha256(try await request.body?.bytes() ?? Data())
    request.headers["Content-Digest"] = "sha-256=:\(digest.base64EncodedString()):"
    let components = [
      ("@method", "\(request.method)"), ("@authority", host), ("@path", url.path()),
      ("@query", "?\(url.query() ?? "")"),
      ("content-digest", request.headers["Content-Digest"] ?? ""),
    ]
    let list = components.map { "\"\($0.0)\"" }.joined(separator: " ")
    let created = Int(context.now.timeIntervalSince1970)
    let parameters = "(\(list));created=\(created);keyid=\"\(key.id)\";alg=\"hmac-sha256\""
    let lines = components.map { "\"\($0.0)\": \($0.1)" } + ["\"@signature-params\": \(parameters)"]
    let mac = key.hmac(Data(lines.joined(separator: "\n").utf8), key.secret)
    request.headers["Signature-Input"] = "sig1=\(parameters)"
    request.headers["Signature"] = "sig1=:\(mac.base64EncodedString()):"
    return try await next(request)
  }
}

actor Role {
  private var current: (keys: SigV4.Credentials, expires: Date)?

  func credentials() async throws -> SigV4.Credentials {
    if let current, current.expires.timeIntervalSinceNow > 300 {
      return current.keys
    }
    let new = try await assume()
    current = new
    return new.keys
  }
}

extension Role {
  private func assume() async throws -> (keys: SigV4.Credentials, expires: Date) {
    let keys = SigV4.Credentials(accessKeyID: "a", secretAccessKey: "b", sessionToken: UUID().uuidString)
    return (keys, .distantFuture)
  }
}

nonisolated enum Nonce {
  struct Exhausted: Error {}
  static func next() throws -> String { throw Exhausted() }
}

nonisolated struct NonceEndpoint: Endpoint {
  typealias Output = String
  var target: RequestTarget { "/" }

  func prepare(_ request: inout HTTPRequest) throws {
    request.headers["X-Nonce"] = try Nonce.next()
  }
}

extension SamplesTests {
  private nonisolated static let key = SigningKey(
    id: "AKIAIOSFODNN7EXAMPLE", secret: Data("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8), hmac: SHA256.hmac,
    sha256: SHA256.hash)

  @Test func `signs the body of each attempt`() async throws {
    let key = SigningKey(id: "k", secret: Data("key".utf8), hmac: SHA256.hmac, sha256: SHA256.hash)
    let transport = StubTransport(script: [.status(503), .text("x"), .text("x"), .text("x")])
    let client = HTTPClient { $0.exchangeMiddleware = [BodySignature(key: key, host: "hooks.example.com")] }
    await client.update {
      $0.transport = transport
      $0.clock = TestClock()
      $0.now = { Date(timeIntervalSince1970: 1_700_000_000) }
      $0.retry = .backoff(attempts: 2)
    }

    try await client.put("https://hooks.example.com/", body: .text("hello"))
    var request = HTTPRequest.post("https://hooks.example.com/", body: .stream(AsyncStream<Data> { $0.finish() }))
    request.body = try await request.body?.collected(upTo: 8 << 20)
    try await client.send(request)
    try await client.get("https://other.example.com/")

    let digest = sha256(try await request.body?.bytes() ?? Data())
    #expect(hex(digest).hasPrefix("e3b0c442"))
    let expected = hex(SHA256.hmac(Data("1700000000.hello".utf8), Data("key".utf8)))
    let signatures = transport.requests.map { $0.headers["X-Signature"] }
    #expect(signatures[0] == "t=1700000000,v1=\(expected)" && signatures[1] == signatures[0])
    #expect(signatures[2] != nil && signatures[2] != signatures[1] && signatures[3] == nil)
  }

  /// The signature is that of Amazon's own example.
  @Test func `signs for AWS`() async throws {
    let keys = SigV4.Credentials(
      accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    let transport = StubTransport { _ in .text("x") }

    let signer = SigV4(.baseURL, region: "us-east-1", service: "s3", credentials: keys)
    let client = HTTPClient {
      $0.baseURL = "https://examplebucket.s3.amazonaws.com"
      $0.exchangeMiddleware = [signer]
    }
    await client.update {
      $0.transport = transport
      $0.now = { Date(timeIntervalSince1970: 1_369_353_600) }
    }
    try await client.get("/", query: ["prefix": "J", "max-keys": 2])

    #expect(
      transport.requests.first?.headers["Authorization"]?.hasSuffix(
        "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") == true)
  }

  @Test func `signs for AWS with temporary credentials`() async throws {
    let keys = SigV4.Credentials(accessKeyID: "a", secretAccessKey: "b")
    let role = Role()
    let name = "a b.txt"
    let folder = try TemporaryFolder()
    let file = try folder.write("hello", to: "a.txt")
    let transport = StubTransport { _ in .text("x") }
    do {
      let signer = SigV4(
        .host("bucket.s3.eu-central-1.amazonaws.com"), region: "eu-central-1",
        service: "s3", credentials: keys)
      let client = HTTPClient {
        $0.baseURL = "https://bucket.s3.eu-central-1.amazonaws.com"
        $0.exchangeMiddleware = [signer]
      }
      await client.update { $0.transport = transport }
      try await client.put("/\(path: name)", body: .file(file))

      let link = try await signer.presigned(
        .get("https://bucket.s3.eu-central-1.amazonaws.com/\(path: name)"),
        for: .seconds(3600))
      #expect(link.absoluteString.contains("X-Amz-Expires=3600"))
    }
    do {
      let signer = SigV4(.baseURL, region: "eu-central-1", service: "sqs") {
        try await role.credentials()
      }
      let client = Self.client(transport)
      await client.update { $0.exchangeMiddleware = [signer] }
      try await client.get("/")
      try await client.get("/")
    }

    let requests = transport.requests
    #expect(requests.first?.headers["Authorization"]?.contains("/eu-central-1/s3/aws4_request") == true)
    #expect(Set(requests.dropFirst().map { $0.headers["X-Amz-Security-Token"] }).count == 1)
  }

  @Test func `signs HTTP messages`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    await client.update { $0.exchangeMiddleware = [MessageSignature(key: Self.key, host: "example.test")] }

    try await client.post("/a?b=c", body: .text("hello"))

    let headers = try #require(transport.requests.first?.headers)
    let parameters = try #require(headers["Signature-Input"]?.dropFirst("sig1=".count))
    let digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
    let base = """
      "@method": POST
      "@authority": example.test
      "@path": /a
      "@query": ?b=c
      "content-digest": \(digest)
      "@signature-params": \(parameters)
      """
    #expect(headers["Content-Digest"] == digest)
    #expect(
      headers["Signature"] == "sig1=:\(SHA256.hmac(Data(base.utf8), Self.key.secret).base64EncodedString()):")
  }

  @Test func `an endpoint that cannot be prepared is not sent`() async throws {
    let transport = StubTransport { _ in .text("x") }

    await #expect(throws: Nonce.Exhausted.self) { try await Self.client(transport).send(NonceEndpoint()) }

    #expect(transport.requests.isEmpty)
  }
}

private nonisolated func sha256(_ data: Data) -> Data { SHA256.hash(data) }

private nonisolated func hex(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }

/// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), because the tests have no package for them.
private nonisolated enum SHA256 {
  private static let constants: [UInt32] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5, 0xD807_AA98,
    0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174, 0xE49B_69C1, 0xEFBE_4786,
    0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA, 0x983E_5152, 0xA831_C66D, 0xB003_27C8,
    0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967, 0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13,
    0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85, 0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819,
    0xD699_0624, 0xF40E_3585, 0x106A_A070, 0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A,
    0x5B9C_CA4F, 0x682E_6FF3, 0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7,
    0xC671_78F2,
  ]

  @Sendable static func hash(_ message: Data) -> Data {
    var state: [UInt32] = [
      0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]
    var octets = Array(message) + [0x80]
    while octets.count % 64 != 56 { octets.append(0) }
    octets += withUnsafeBytes(of: UInt64(message.count * 8).bigEndian) { Array($0) }
    for start in stride(from: 0, to: octets.count, by: 64) {
      var words = (0..<16).map { word in
        (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(octets[start + word * 4 + $1]) }
      }
      func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
      for index in 16..<64 {
        let (near, far) = (words[index - 2], words[index - 15])
        let first = turned(far, 7) ^ turned(far, 18) ^ far >> 3
        let second = turned(near, 17) ^ turned(near, 19) ^ near >> 10
        words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
      }
      var v = state
      for index in 0..<64 {
        let choice = v[4] & v[5] ^ ~v[4] & v[6]
        let majority = v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2]
        let first = v[7] &+ (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) &+ choice
        let sum = first &+ constants[index] &+ words[index]
        let second = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) &+ majority
        v = [sum &+ second, v[0], v[1], v[2], v[3] &+ sum, v[4], v[5], v[6]]
      }
      for index in 0..<8 { state[index] &+= v[index] }
    }
    return Data(state.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } })
  }

  @Sendable static func hmac(_ message: Data, _ key: Data) -> Data {
    let short = key.count > 64 ? hash(key) : key
    let padded = Array(short) + [UInt8](repeating: 0, count: 64 - short.count)
    return hash(Data(padded.map { $0 ^ 0x5C }) + hash(Data(padded.map { $0 ^ 0x36 }) + message))
  }
}
