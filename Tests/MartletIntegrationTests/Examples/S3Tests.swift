#if os(Linux)
  import Foundation
  import Martlet
  import MartletSigV4
  import MartletTesting
  import TestSupport
  import Testing

  /// The example `S3`.
  @Suite(.hangLimit) struct S3Tests {
    private static let keys = [
      "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
      "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ]

    private static func signer(_ url: String) -> SigV4 {
      SigV4(
        .origin(url), region: "us-east-1", service: "s3",
        credentials: .init(
          accessKeyID: keys["AWS_ACCESS_KEY_ID"] ?? "", secretAccessKey: keys["AWS_SECRET_ACCESS_KEY"] ?? ""))
    }

    /// Returns the signature that a server expects, which is the signature of the request it received.
    private static func authorization(
      of request: RecordedRequest, at date: Date, _ server: MockServer
    ) async throws -> String? {
      var copy = HTTPRequest(HTTPMethod(rawValue: request.method), RequestTarget(server.url + request.target))
      for field in request.headers { copy.headers[field.name] = field.value }
      copy.headers["Authorization"] = nil
      return try await signer(server.url).signed(copy, at: date).headers["Authorization"]
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
      let link = try await run(["link", "bucket/a b/ü.txt", "60"])

      #expect([put, get, list, link].allSatisfy { $0.status == 0 }, "\(put.errors) \(get.errors) \(list.errors)")
      #expect(try folder.contents("copy.txt") == Data("contents".utf8))
      #expect(list.text == "a&amp;\n<b>\n")
      #expect(link.text.contains("/bucket/a%20b/%C3%BC.txt?") && link.text.contains("&X-Amz-Expires=60&"))
      let requests = server.requests
      #expect(requests.prefix(2).map(\.target) == Array(repeating: "/bucket/a%20b/%C3%BC.txt", count: 2))
      #expect(requests.first?.text == "hello")
      #expect(
        requests.first?.header("x-amz-content-sha256")
          == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
      #expect(requests.count == 4)
      for request in requests {
        let time = try #require(request.header("x-amz-date"))
        let format = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        let expected = try await Self.authorization(of: request, at: try format.parse(time), server)
        #expect(request.header("Authorization") == expected)
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
