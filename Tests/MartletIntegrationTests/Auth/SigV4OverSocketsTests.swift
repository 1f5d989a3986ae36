#if os(Linux)
  import Foundation
  import Martlet
  import MartletSigV4
  import MartletTesting
  import TestSupport
  import Testing

  /// Third-party implementations of signatures: `aws.py` with moto and botocore.
  enum AWSPython {
    /// A Python with botocore.
    static let botocore = python(with: ["botocore"])
    /// A Python with moto and what its server requires.
    static let moto = python(with: ["moto", "botocore", "flask"])

    private static func python(with modules: [String]) -> URL? {
      let files = FileManager.default
      var folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
      for folder in folders where folder.hasSuffix("/shims") {
        let versions = folder.dropLast(5) + "versions"
        folders += ((try? files.contentsOfDirectory(atPath: String(versions))) ?? []).map { "\(versions)/\($0)/bin" }
      }
      let found = folders.first { folder in
        let libraries = (try? files.contentsOfDirectory(atPath: "\(folder)/../lib")) ?? []
        return libraries.contains { library in
          library.hasPrefix("python3") && files.isExecutableFile(atPath: "\(folder)/python3")
            && modules.allSatisfy { module in
              ["site", "dist"].contains {
                files.fileExists(atPath: "\(folder)/../lib/\(library)/\($0)-packages/\(module)")
              }
            }
        }
      }
      return found.map { URL(filePath: "\($0)/python3") }
    }

    static func start(_ python: URL?, _ arguments: String...) throws -> ToolProcess {
      let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "aws.py").path
      return try ToolProcess(try #require(python), ["-u", program] + arguments)
    }
  }

  @Suite(.hangLimit, .needs(.botocore)) struct SigV4OverSocketsTests {
    private struct Facts: Decodable {
      var port: Int
      var key: String
      var secret: String
    }

    /// A request for both implementations.
    private struct Case: Codable {
      var method: String
      var url: String
      var headers: [String: String] = [:]
      var body = ""
      var service = "s3"
      var token: String?
      var seconds: Int?
    }

    private static let day = Date(timeIntervalSince1970: 1_369_353_600)  // 24 May 2013

    /// botocore does not decode queries, or paths for S3, so these are in its form.
    private static let cases = [
      Case(method: "GET", url: "https://b.s3.test/"),
      Case(method: "GET", url: "https://b.s3.test/a%20b//%C3%BC%24?uploads"),
      Case(method: "GET", url: "https://b.s3.test/?list-type=2&prefix=a%2Fb%20c&delimiter=%2F&a=&A=2&a=1"),
      Case(method: "PUT", url: "https://s3.test:8443/b/k", headers: ["X-Amz-Meta-Name": "a   b"], body: "hello"),
      Case(
        method: "PUT", url: "https://s3.test/b/k", headers: ["Content-Type": "text/plain", "Content-MD5": "x"],
        body: "ü", token: "T/+="),
      Case(
        method: "POST", url: "https://sts.test/", headers: ["Content-Type": "application/x-www-form-urlencoded"],
        body: "Action=GetCallerIdentity&Version=2011-06-15", service: "sts", token: "TOKEN"),
      Case(method: "GET", url: "https://api.test/a%20b/%C3%BC/c:d/?x=1&b=~", service: "execute-api"),
      Case(method: "GET", url: "https://api.test//a/b//", service: "execute-api"),
      Case(method: "GET", url: "https://b.s3.test/?a=%FF"),
      Case(method: "GET", url: "https://b.s3.test/a%20b", seconds: 3600),
      Case(method: "PUT", url: "https://b.s3.test/a?versionId=1", token: "T/+=", seconds: 60),
      Case(method: "GET", url: "https://sts.test/?Action=GetCallerIdentity", service: "sts", seconds: 900),
    ]

    @Test func `signs as botocore does`() async throws {
      let list = String(decoding: try JSONEncoder().encode(Self.cases), as: UTF8.self)
      let result = try await AWSPython.start(AWSPython.botocore, "sign", list).end()
      let expected = result.text.split(separator: "\n").map(String.init)

      var signatures: [String] = []
      for item in Self.cases {
        let signer = SigV4(
          .host(URL(string: item.url)?.host() ?? ""), region: "eu-north-1", service: item.service,
          credentials: .init(accessKeyID: "KEY", secretAccessKey: "SECRET", sessionToken: item.token))
        let text = try await Self.signature(of: item, signer)
        signatures.append(String(text.split(separator: "Signature=").last ?? ""))
      }

      #expect(expected.count == Self.cases.count, "\(result.errors)")
      #expect(signatures == expected)
    }

    private static func signature(of item: Case, _ signer: SigV4) async throws -> String {
      let body = item.body.isEmpty ? nil : HTTPBody.data(Data(item.body.utf8))
      let request = HTTPRequest(
        HTTPMethod(rawValue: item.method), RequestTarget(text: item.url), headers: HTTPHeaders(item.headers), body: body
      )
      guard let seconds = item.seconds else {
        return try await signer.signed(request, at: day).headers["Authorization"] ?? ""
      }
      return try await signer.presigned(request, for: .seconds(seconds), at: day).absoluteString
    }

    /// moto verifies the signatures in `Authorization` fields, with botocore, and expects URLs in canonical form.
    @Test(.needs(.moto))
    func `S3 and STS accept signatures, even with a session token, and reject a wrong key`() async throws {
      let process = try AWSPython.start(AWSPython.moto, "serve")
      let facts = try JSONDecoder().decode(Facts.self, from: Data(await Self.line(of: process).utf8))
      let base = "http://127.0.0.1:\(facts.port)"
      let user = SigV4.Credentials(accessKeyID: facts.key, secretAccessKey: facts.secret)
      let keys = Shared(user)
      let storage = Self.client(base, "s3") { keys.value }
      let tokens = Self.client(base, "sts") { user }

      try await storage.put("/bucket/a/b-1.txt", headers: ["x-amz-meta-a": "  b   c "], body: .text("hello"))
      let object = try await storage.get("/bucket/a/b-1.txt")
      let role = try await tokens.post(
        "/",
        body: .form([
          "Action": "AssumeRole", "Version": "2011-06-15", "RoleSessionName": "s",
          "RoleArn": "arn:aws:iam::123456789012:role/reader",
        ]))
      keys.withLock {
        $0 = SigV4.Credentials(
          accessKeyID: Self.element("AccessKeyId", role.text),
          secretAccessKey: Self.element("SecretAccessKey", role.text),
          sessionToken: Self.element("SessionToken", role.text))
      }
      let listed = try await storage.get("/bucket", query: ["list-type": 2, "prefix": "a"])
      keys.withLock { $0.secretAccessKey += "x" }
      let refusal = try await storage.get("/bucket/a")

      #expect(object.text == "hello" && object.headers["x-amz-meta-a"] == "b   c", "\(object.text)")
      #expect(listed.text.contains("<Key>a/b-1.txt</Key>"), "\(listed.text)")
      #expect(refusal.status == .forbidden && refusal.text.contains("SignatureDoesNotMatch"), "\(refusal.text)")
    }

    /// botocore verifies the URLs as they arrive; moto does not support them.
    @Test func `a presigned URL is valid as it arrives at a server`() async throws {
      let process = try AWSPython.start(AWSPython.botocore, "link", "SECRET")
      let base = "http://127.0.0.1:\(await Self.line(of: process))"
      let client = Lane.curl.client { $0.accepts = .any }

      for (secret, status) in [("SECRET", HTTPStatus.ok), ("OTHER", .forbidden)] {
        let keys = SigV4.Credentials(accessKeyID: "KEY", secretAccessKey: secret)
        let link = try await SigV4(.origin(base), region: "us-east-1", service: "s3", credentials: keys)
          .presigned(.get("\(raw: base)/bucket/\(path: "a b/ü+$.txt")?v=%FF%2B"))
        #expect(try await client.get(RequestTarget(link)).status == status)
      }
      withExtendedLifetime(process) {}
    }

    /// The first line that a program prints.
    private static func line(of process: ToolProcess) async -> String {
      _ = await becomes(every: .milliseconds(20)) { process.outputSoFar.contains("\n") || !process.isRunning }
      return String(process.outputSoFar.split(separator: "\n").first ?? "")
    }

    private static func client(
      _ base: String, _ service: String, _ keys: @escaping @Sendable () -> SigV4.Credentials
    ) -> HTTPClient {
      Lane.curl.client {
        $0.baseURL = RequestTarget(base)
        $0.exchangeMiddleware = [SigV4(.baseURL, region: "us-east-1", service: service) { keys() }]
      }
    }

    private static func element(_ name: String, _ text: String) -> String {
      let rest = text.components(separatedBy: "<\(name)>").last ?? ""
      return rest.components(separatedBy: "</\(name)>").first ?? ""
    }
  }
#endif
