import Foundation
import TestSupport
import Testing

@testable import Martlet

private enum Sort: String, QueryValue {
  case newest
}

@Suite struct QueryTests {
  @Test func `a dictionary literal accepts many types and keeps their order`() throws {
    let text = "a b"
    let none: String? = nil
    let some: Int? = 3
    let id = try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))

    let query: Query = [
      "q": text, "tag": ["a", "b"], "page": nil, "n": 5, "none": none, "some": some, "on": true, "x": 1.5, "id": id,
      "sort": Sort.newest, "sub": text.dropFirst(2), "empty": "", "void": [String](), "url": URL(string: "http://a/?b"),
    ]

    #expect(
      query.encoded
        == "q=a%20b&tag=a&tag=b&n=5&some=3&on=true&x=1.5&id=\(id)&sort=newest&sub=b&empty=&url=http%3A%2F%2Fa%2F%3Fb")
  }

  @Test func `encodes everything but unreserved characters`() {
    let query: Query = ["a+b": "-._~ +&=#/?%é\r\n"]

    #expect(query.encoded == "a%2Bb=-._~%20%2B%26%3D%23%2F%3F%25%C3%A9%0D%0A")
  }

  @Test(
    arguments: [
      ("", []), ("&&", []), ("a", [("a", nil)]), ("a=", [("a", "")]), ("=b", [("", "b")]), ("=", [("", "")]),
      ("a=b=c", [("a", "b=c")]), ("a+b=c+d%2B", [("a b", "c d+")]), ("%zz=%", [("%zz", "%")]),
      ("a=%FF", [("a", "\u{FFFD}")]),
      ("a=1&a=2&b", [("a", "1"), ("a", "2"), ("b", nil)]), ("a;b=1", [("a;b", "1")]), ("?a=1", [("?a", "1")]),
    ] as [(String, [(String, String?)])])
  func `parses an encoded query`(_ text: String, _ items: [(String, String?)]) {
    #expect(Query(parsing: text).items == items.map { Query.Item(name: $0.0, value: $0.1) })
  }

  @Test func `finds the first value and appends without replacing`() {
    var query: Query = ["a": 1]
    query.append("a", 2)
    query.append("flag")
    query.append("")
    query.append("nothing", nil)
    query = query + ["b": [3, 4]]

    #expect(query["a"] == "1" && query["flag"] == nil && query["none"] == nil)
    #expect(query.encoded == "a=1&a=2&flag&b=3&b=4")
    #expect(query.map(\.name) == ["a", "a", "flag", "b", "b"])
    #expect(Query().isEmpty && !query.isEmpty)
    #expect(Query(items: [.init(name: "", value: nil)]).isEmpty)
  }

  @Test func `describes itself without values`() {
    let query: Query = ["token": "canary", "x": "canary"]
    var dumped = ""
    dump(query, to: &dumped)
    dump(query.items, to: &dumped)

    #expect("\(query)" == "token=***&x=***")
    #expect(!dumped.contains("canary") && !String(reflecting: query.items).contains("canary"))
  }

  @Test func `random queries survive a round trip`() {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<5_000 {
      let items = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
        Query.Item(
          name: HostileText.random(upTo: 5, using: &generator),
          value: Bool.random(using: &generator) ? HostileText.random(upTo: 8, using: &generator) : nil)
      }
      let query = Query(items: items)

      #expect(Query(parsing: query.encoded) == query)
      #expect(query.encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }
  }

  @Test func `random text parses to a query that survives a round trip`() {
    var generator = SeededGenerator(seed: 8)
    for _ in 0..<5_000 {
      let query = Query(parsing: HostileText.random(upTo: 20, using: &generator))

      #expect(Query(parsing: query.encoded) == query)
    }
  }
}
