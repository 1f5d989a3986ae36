#if os(Linux)
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import Martlet
  // A scoped import takes precedence: without a module's name, these types are Martlet's.
  import class Martlet.HTTPClient
  import struct Martlet.HTTPHeaders
  import struct Martlet.HTTPMethod
  import struct Martlet.HTTPRequest
  import struct Martlet.HTTPResponse
  import MartletTesting
  import NIOCore
  import NIOHTTP1
  import Testing

  // Type aliases name the other types.
  private typealias NIOClient = AsyncHTTPClient.HTTPClient
  private typealias RequestHead = HTTPTypes.HTTPRequest
  private typealias ResponseHead = HTTPTypes.HTTPResponse

  /// A file that imports modules whose types have the same names.
  @Suite(.timeLimit(.minutes(1))) struct NamesTests {
    private static func martlet(_ url: String) async throws -> HTTPResponse {
      let client = HTTPClient { $0.cache = .off }
      let request = HTTPRequest(HTTPMethod("GET"), RequestTarget(text: url), headers: HTTPHeaders(["X-A": "b"]))
      return try await client.send(request)
    }

    private static func asyncHTTPClient(_ url: String) async throws -> ResponseHead {
      let head = RequestHead(method: .get, scheme: nil, authority: nil, path: nil)
      var request = HTTPClientRequest(url: url)
      request.method = NIOHTTP1.HTTPMethod(rawValue: head.method.rawValue)
      let response = try await NIOClient.shared.execute(request, timeout: .seconds(30))
      return ResponseHead(status: ResponseHead.Status(code: Int(response.status.code)))
    }

    @Test func `the lines of the document are compiled here`() throws {
      let file = URL(filePath: #filePath)
      let path = "../../../../../Docs/Migrating.md"
      let page = try String(contentsOf: file.appending(path: path).standardizedFileURL, encoding: .utf8)
      let own = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { $0.drop { $0 == " " } }

      let sample = try #require(page.split(separator: "```swift\n").first { $0.hasPrefix("import AsyncHTTPClient") })
      let lines = sample.prefix { $0 != "`" }.split(separator: "\n")

      #expect(lines.count > 8 && lines.allSatisfy { own.contains($0) })
    }

    @Test func `a file can import Martlet, HTTPTypes and AsyncHTTPClient`() async throws {
      let server = try MockServer(.ok("hello"))

      #expect(try await Self.martlet(server.url).text == "hello")
      #expect(try await Self.asyncHTTPClient(server.url).status == .ok)
    }
  }
#endif
