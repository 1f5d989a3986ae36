import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct QueryEncodingTests {
  private struct Search: Encodable {
    struct User: Encodable {
      var name: String
      var roles: [String]
    }

    var text = "a b&c"
    var page: Int? = 2
    var missing: Int?
    var exact = true
    var ratio = 0.25
    var price = Decimal(string: "1234567890.1234567890123")
    var id = UInt64.max
    var since = Date(timeIntervalSince1970: 0)
    var raw = Data([1, 2, 255])
    var link = URL(string: "https://a.test/b?c=d")
    var tags = ["x", "y"]
    var none: [Int] = []
    var user = User(name: "Ada", roles: ["admin", "dev"])
  }

  private struct Numbers: Encodable {
    var value: Double
  }

  private struct Orders: Encodable {
    struct Line: Encodable {
      var id: Int
      var sizes: [Int]
    }

    var lines = [Line(id: 7, sizes: [1, 2]), Line(id: 8, sizes: [])]
  }

  private static func text(_ query: Query) -> [String] { query.map { "\($0.name)=\($0.value ?? "-")" } }

  @Test func `writes each property, sorted by name`() throws {
    #expect(
      Self.text(try Query(encoding: Search())) == [
        "exact=true", "id=18446744073709551615", "link=https://a.test/b?c=d", "page=2",
        "price=1234567890.1234567890123", "ratio=0.25", "raw=AQL/", "since=1970-01-01T00:00:00Z", "tags=x", "tags=y",
        "text=a b&c", "user[name]=Ada", "user[roles]=admin", "user[roles]=dev",
      ])
  }

  @Test(
    arguments: [
      (Query.Style(arrays: .brackets), ["tags[]=x", "user[name]=Ada", "user[roles][]=admin"]),
      (Query.Style(arrays: .indices), ["tags[0]=x", "tags[1]=y", "user[roles][1]=dev"]),
      (Query.Style(nesting: .dots), ["tags=x", "user.name=Ada", "user.roles=dev"]),
      (Query.Style(arrays: .indices, nesting: .dots), ["tags.0=x", "user.roles.1=dev"]),
    ])
  func `writes arrays and nested objects in a style`(style: Query.Style, items: [String]) throws {
    let text = Self.text(try Query(encoding: Search(), style: style))

    #expect(items.allSatisfy(text.contains), "\(text)")
  }

  @Test func `writes arrays of objects with indices only`() throws {
    let items = Self.text(try Query(encoding: Orders(), style: Query.Style(arrays: .indices)))
    #expect(
      items == ["lines[0][id]=7", "lines[0][sizes][0]=1", "lines[0][sizes][1]=2", "lines[1][id]=8"])

    for style in [Query.Style(), Query.Style(arrays: .brackets)] {
      let error = #expect(throws: HTTPError.self) { try Query(encoding: Orders(), style: style) }
      #expect(error?.kind == .invalidRequest && error?.message.contains("'lines'") == true)
      #expect(error?.message.contains(".indices") == true)
    }
  }

  @Test func `uses the strategies of an encoder`() throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    encoder.keyEncodingStrategy = .convertToSnakeCase

    let query = try Query(encoding: ["someDate": Date(timeIntervalSince1970: 5)], encoder: encoder)

    #expect(Self.text(query) == ["someDate=5"] || Self.text(query) == ["some_date=5"])
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity])
  func `a number that is not finite sends nothing`(value: Double) async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport)

    let sent = await #expect(throws: HTTPError.self) {
      try await client.post("/", body: .form(encoding: Numbers(value: value)))
    }
    let query = #expect(throws: HTTPError.self) { try Query(encoding: Numbers(value: value)) }

    for error in [sent, query] {
      #expect(error?.kind == .invalidRequest && error?.message.contains(".value, which is NaN or infinite") == true)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test func `a value without names is refused`() {
    #expect(throws: HTTPError.self) { try Query(encoding: [1, 2]) }
    #expect(throws: HTTPError.self) { try Query(encoding: 5) }
    #expect(throws: HTTPError.self) { try Query(encoding: String?.none) }
  }

  @Test func `a dictionary is sorted, and a form is encoded like other forms`() async throws {
    let body = HTTPBody.form(encoding: ["b": "x y", "a": "ü&="])

    #expect(body.contentType == "application/x-www-form-urlencoded")
    #expect(try await body.bytes() == Data("a=%C3%BC%26%3D&b=x+y".utf8))
    #expect(body == HTTPBody.form(["a": "ü&=", "b": "x y"]))
  }
}
