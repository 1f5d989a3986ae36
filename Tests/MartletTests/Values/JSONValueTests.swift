import Foundation
import Martlet
import Testing

@Suite struct JSONValueTests {
  private static func decoded(_ text: String) throws -> JSONValue {
    try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
  }

  private static let rows: [(text: String, value: JSONValue)] = [
    ("null", nil), ("true", true), ("false", false), ("0", 0), ("1", 1), ("-7", -7),
    ("9223372036854775807", .integer(.max)), ("1.5", 1.5), ("1e300", .number(1e300)), ("\"\"", ""),
    ("\"ü\"", "ü"), ("[]", []), ("{}", [:]), ("[1, \"a\", null, [true]]", [1, "a", nil, [true]]),
    ("{\"a\": {\"b\": [1.5]}}", ["a": ["b": [1.5]]]),
  ]

  @Test(arguments: rows)
  func `decodes each kind of value, and encodes it again`(_ row: (text: String, value: JSONValue)) throws {
    let value = try Self.decoded(row.text)
    #expect(value == row.value)

    let encoded = try JSONEncoder().encode(value)
    #expect(try JSONDecoder().decode(JSONValue.self, from: encoded) == value)
  }

  @Test(arguments: ["", "nul", "[1,", "{\"a\"}", "1 2", "'a'"])
  func `refuses what is no JSON`(_ text: String) {
    #expect(throws: DecodingError.self) { try Self.decoded(text) }
  }

  @Test func `keeps a number beyond 64 bits as well as it can`() throws {
    #expect(try Self.decoded("18446744073709551615").double == 18_446_744_073_709_551_616)
    #expect(try Self.decoded("18446744073709551615").int == nil)
  }

  @Test func `reads members and elements, and null for what is missing`() {
    let value: JSONValue = ["name": "Ada", "age": 36, "ratio": 0.5, "tags": ["a", "b"], "isBoss": true, "boss": nil]

    #expect(value["name"].string == "Ada")
    #expect(value["age"].int == 36 && value["age"].double == 36)
    #expect(value["ratio"].double == 0.5 && value["ratio"].int == nil)
    #expect(value["tags"][1].string == "b" && value["tags"].array?.count == 2)
    #expect(value["isBoss"].bool == true)
    #expect(value["boss"].isNull && value["none"].isNull && value["tags"][2].isNull && value["tags"][-1].isNull)
    #expect(value["name"]["x"].isNull && value["name"][0].isNull)
    #expect(value.object?.count == 6 && value.string == nil && value.array == nil)
  }

  @Test func `takes the last of two members with one name`() {
    #expect(["a": 1, "a": 2] as JSONValue == ["a": 2])
  }

  @Test func `is a body as a literal of mixed types`() throws {
    let name = "Ada"
    let body = HTTPBody.json(["name": "\(name)", "age": 36, "tags": ["a"], "boss": nil])

    #expect(body.contentType == "application/json")
    #expect(body.length == 48)
  }

  @Test func `a number that is not finite is refused before anything is sent`() async {
    let client = HTTPClient { $0.baseURL = "http://localhost:9" }

    let error = await #expect(throws: HTTPError.self) {
      try await client.post("/", body: .json(["x": .number(.nan)]))
    }

    #expect(error?.kind == .invalidRequest)
  }
}
