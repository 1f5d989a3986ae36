#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @testable import S3

  /// The example `S3`; the expected signatures come from Amazon's documentation.
  @Suite(.hangLimit) struct S3Tests {
    private static let day = Date(timeIntervalSince1970: 1_369_353_600)  // 24 May 2013
    private static let bucket = "examplebucket.s3.amazonaws.com"
    private static let keys = [
      "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
      "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ]

    private static func signer(
      _ host: String = bucket, token: String? = nil, now: @escaping @Sendable () -> Date = { day }
    ) -> SigV4 {
      SigV4(
        host: host, region: "us-east-1", key: keys["AWS_ACCESS_KEY_ID"] ?? "",
        secret: keys["AWS_SECRET_ACCESS_KEY"] ?? "",
        token: token, now: now)
    }

    /// Returns the signature that a server expects, which is the signature of the request it received.
    private static func authorization(of request: RecordedRequest, at date: Date, _ server: MockServer) -> String? {
      var copy = HTTPRequest(HTTPMethod(rawValue: request.method), RequestTarget(server.url + request.target))
      for field in request.headers { copy.headers[field.name] = field.value }
      copy.headers["Authorization"] = nil
      return signer("127.0.0.1").signed(copy, at: date).headers["Authorization"]
    }

    @Test(
      arguments: [
        (
          HTTPRequest.get("https://\(raw: bucket)/test.txt", headers: ["Range": "bytes=0-9"]),
          "host;range;x-amz-content-sha256;x-amz-date",
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        ),
        (
          .put(
            "https://\(raw: bucket)/test$file.text",
            headers: [
              "Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY",
              "x-amz-content-sha256": SigV4.sha256("Welcome to Amazon S3."),
            ], body: .text("Welcome to Amazon S3.")),
          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        ),
        (
          .get("https://\(raw: bucket)/?lifecycle"), "host;x-amz-content-sha256;x-amz-date",
          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        ),
        (
          .get("https://\(raw: bucket)/", query: ["prefix": "J", "max-keys": 2]),
          "host;x-amz-content-sha256;x-amz-date",
          "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        ),
      ])
    func `matches the signatures in Amazon's examples`(request: HTTPRequest, names: String, signature: String) {
      let signed = Self.signer().signed(request, at: Self.day)

      #expect(signed.headers["x-amz-date"] == "20130524T000000Z")
      #expect(
        signed.headers["Authorization"]
          == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
          + "SignedHeaders=\(names), Signature=\(signature)")
    }

    @Test func `builds the canonical request`() {
      var request = HTTPRequest.get(
        "http://h.test:9000/a%2Fb/c d$é", query: ["b": "x y", "a-": "+", "a": nil, "aa": "="])
      request.headers["User-Agent"] = "changes"
      request.headers["Content-Type"] = " text/plain;  charset=utf-8 "
      request.headers.append("1", for: "X-Amz-Meta-N")
      request.headers.append("2", for: "x-amz-meta-n")

      let signed = Self.signer("h.test", token: "lent").signed(request, at: Self.day)
      let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

      #expect(
        Self.signer().canonical(signed).text == """
          GET
          /a/b/c%20d%24%C3%A9
          a-=%2B&aa=%3D&b=x%20y
          content-type:text/plain; charset=utf-8
          host:h.test:9000
          x-amz-content-sha256:\(empty)
          x-amz-date:20130524T000000Z
          x-amz-meta-n:1,2
          x-amz-security-token:lent

          content-type;host;x-amz-content-sha256;x-amz-date;x-amz-meta-n;x-amz-security-token
          \(empty)
          """)
    }

    @Test func `SHA-256 matches the standard's test vectors, regardless of how the input is split`() {
      let million = Data(repeating: UInt8(ascii: "a"), count: 1_000_000)
      var hash = SHA256()
      for start in stride(from: 0, to: million.count, by: 999) { hash.update(data: million[start...].prefix(999)) }

      #expect(SigV4.hex(hash.finalize()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
      #expect(SigV4.sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
      let parts = (0..<150).map { count in
        var parts = SHA256()
        for _ in 0..<count { parts.update(data: Data([7])) }
        return parts.finalize() == SHA256.hash(data: Data(repeating: 7, count: count))
      }
      #expect(parts.allSatisfy { $0 })
    }

    @Test func `signs each attempt separately and never signs requests to another host`() async throws {
      let other = try MockServer(.ok("elsewhere"))
      defer { other.stop() }
      let place = "http://localhost:\(other.port)/a"
      let server = try MockServer(script: [.status(503), .ok(), .redirect(to: place)])
      defer { server.stop() }
      let count = Shared(0)
      let signer = Self.signer("127.0.0.1") {
        Self.day
          + count.withLock {
            $0 += 1
            return TimeInterval($0)
          }
      }
      let client = HTTPClient {
        $0.exchangeMiddleware = [signer]
        $0.retry = .backoff(initialDelay: .milliseconds(1))
      }
      let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

      try await client.put(
        RequestTarget(server.url("/bucket/a")), headers: [SigV4.hashField: hash], body: .text("hello"))
      let away = try await client.get(RequestTarget(server.url("/bucket/b")))

      let requests = server.requests
      #expect(requests.count == 3 && away.text == "elsewhere")
      for (number, request) in requests.enumerated() {
        let authorization = Self.authorization(of: request, at: Self.day + TimeInterval(number + 1), server)
        #expect(request.header("x-amz-date") == "20130524T00000\(number + 1)Z")
        #expect(request.header("Authorization") == authorization)
      }
      #expect(Set(requests.map { $0.header("Authorization") }).count == 3)
      #expect(requests.prefix(2).allSatisfy { $0.text == "hello" && $0.header(SigV4.hashField) == hash })
      #expect(requests.first?.header("Authorization")?.contains("content-type;host;") == true)
      #expect(other.requests.first.map { $0.header("Authorization") == nil && $0.header("x-amz-date") == nil } == true)
    }

    @Test func `puts, gets and lists objects`() async throws {
      let server = try MockServer(answering: { request in
        switch (request.method, request.query) {
        case ("PUT", _): .ok()
        case (_, nil): .ok("contents")
        case (_, let query?) where query.contains("continuation-token=a%2Bb"): .ok("<Key>&lt;b&gt;</Key>")
        default: .ok("<Key>a&amp;amp;</Key><NextContinuationToken>a+b</NextContinuationToken>")
        }
      })
      defer { server.stop() }
      let folder = try TemporaryFolder()
      try folder.write("hello", to: "hello.txt")
      let run = { (arguments: [String]) in
        try await ToolProcess(try ToolProcess.built("S3"), [server.url("/")] + arguments, environment: Self.keys).end()
      }

      let put = try await run(["put", "bucket/a b/ü.txt", folder.path("hello.txt")])
      let get = try await run(["get", "bucket/a b/ü.txt", folder.path("copy.txt")])
      let list = try await run(["list", "bucket", "a b/"])

      #expect([put, get, list].allSatisfy { $0.status == 0 }, "\(put.errors) \(get.errors) \(list.errors)")
      #expect(try folder.contents("copy.txt") == Data("contents".utf8))
      #expect(list.text == "a&amp;\n<b>\n")
      let requests = server.requests
      #expect(requests.prefix(2).map(\.target) == Array(repeating: "/bucket/a%20b/%C3%BC.txt", count: 2))
      #expect(requests.first?.text == "hello")
      #expect(requests.first?.header(SigV4.hashField) == SigV4.sha256("hello"))
      #expect(requests.count == 4)
      for request in requests {
        let time = try #require(request.header("x-amz-date"))
        let format = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        #expect(request.header("Authorization") == Self.authorization(of: request, at: try format.parse(time), server))
      }
    }

    @Test func `reports invalid arguments, missing keys and a 403 from the server`() async throws {
      let server = try MockServer(.status(403))
      defer { server.stop() }
      let program = try ToolProcess.built("S3")
      let none = Dictionary(uniqueKeysWithValues: Self.keys.keys.map { ($0, "") })

      let usage = try await ToolProcess(program, [], environment: Self.keys).end()
      let keyless = try await ToolProcess(program, [server.url, "list", "b"], environment: none).end()
      let wrong = try await ToolProcess(program, [server.url, "remove", "b/a"], environment: Self.keys).end()
      let fileless = try await ToolProcess(program, [server.url, "get", "b/a"], environment: Self.keys).end()
      #expect([usage, keyless, wrong, fileless].allSatisfy { $0.status == 2 && !$0.errors.isEmpty })
      #expect(server.requests.isEmpty)

      let refused = try await ToolProcess(program, [server.url, "list", "b"], environment: Self.keys).end()
      #expect(refused.status == 1 && refused.errors.contains("403"), "\(refused.errors)")
    }
  }
#endif
