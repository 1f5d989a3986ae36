import Foundation
import Testing

@testable import Martlet

@Suite struct JSONValueTests {
  private static func decoded(_ text: String) throws -> JSONValue {
    try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
  }

  private static let rows: [(text: String, value: JSONValue)] = [
    ("null", .null), ("true", true), ("false", false), ("0", 0), ("1", 1), ("-7", -7),
    ("9223372036854775807", .integer(.max)), ("1.5", 1.5), ("1e300", .number(1e300)), ("\"\"", ""), ("1.0", 1),
    ("-0", 0), ("1E+2", 100), ("[[], {}]", [[], [:]]),
    ("\"\\u00fc\\n\\ud83d\\ude00\\/\"", "ü\n😀/"), (" [ null , 1 ] ", [.null, 1]), ("{\"a\": null}", ["a": .null]),
    ("\"ü\"", "ü"), ("[]", []), ("{}", [:]), ("[1, \"a\", null, [true]]", [1, "a", .null, [true]]),
    ("{\"a\": {\"b\": [1.5]}}", ["a": ["b": [1.5]]]),
  ]

  @Test(arguments: rows)
  func `the description is JSON text of the value`(_ row: (text: String, value: JSONValue)) throws {
    #expect(try Self.decoded(row.value.description) == row.value)
  }

  @Test func `describes objects on one line, sorted by name`() {
    let value: JSONValue = ["b": [1, 1.5, .null, true], "a": "\"\n\\", "c": .digits("1e400"), "d": .number(.nan)]

    #expect("\(value)" == #"{"a":"\"\n\\","b":[1,1.5,null,true],"c":1e400,"d":null}"#)
    #expect("\(JSONValue.object([:])) \(JSONValue.array([]))" == "{} []")
  }

  @Test func `is interpolated into a target by its content`() throws {
    let order: JSONValue = ["id": "a/b", "page": 2, "tags": ["x"]]
    let target: RequestTarget = "https://a.test/\(order["id"])?page=\(order["page"])"

    #expect(try target.resolve(against: nil).string == "https://a.test/a%2Fb?page=2")
    for member in ["tags", "missing"] {
      #expect(throws: InvalidInput.self) { try RequestTarget("https://a.test/\(order[member])").resolve(against: nil) }
    }
  }

  @Test(arguments: rows)
  func `decodes and encodes each kind of value`(_ row: (text: String, value: JSONValue)) throws {
    let value = try Self.decoded(row.text)
    #expect(value == row.value)
    #expect(value.hashValue == row.value.hashValue)
    #expect(try JSONParser.value(of: Data(row.text.utf8)) == row.value)

    let encoded = try JSONEncoder().encode(value)
    #expect(try JSONDecoder().decode(JSONValue.self, from: encoded) == value)
  }

  @Test(arguments: [
    "", "nul", "[1,", "[1,]", "{\"a\"}", "{\"a\":1,}", "{1:2}", "1 2", "'a'", "01", "1.", ".5", "+1", "1e", "-",
    "\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\t\"", "tru", "nullx",
  ])
  func `rejects invalid JSON`(_ text: String) {
    #expect(throws: JSONParser.Problem.self) { try JSONParser.value(of: Data(text.utf8)) }
  }

  @Test func `parses a text and reports the offset of an error`() throws {
    #expect(try JSONValue(parsing: Data(#" {"a":[1]} "#.utf8))["a"][0] == 1)
    #expect(try JSONValue(parsing: Data("\"\u{1}\\ud800\"".utf8), isLenient: true) == "\u{1}\u{FFFD}")

    let error = #expect(throws: JSONValue.SyntaxError.self) { try JSONValue(parsing: Data("[1 2]".utf8)) }
    #expect(error?.offset == 3 && error?.reason == "expected a comma or the end of the array")
  }

  @Test func `rejects a string that is not valid UTF-8`() {
    #expect(throws: JSONParser.Problem.self) { try JSONParser.value(of: Data([0x22, 0xFF, 0x22])) }
  }

  /// Foundation's decoder would take minutes for each text.
  @Test func `parses hostile texts in linear time`() throws {
    let deep = String(repeating: "[", count: 128)
    let many = deep + Array(repeating: "\"\"", count: 200_000).joined(separator: ",")

    #expect(throws: JSONParser.Problem.self) { try JSONParser.value(of: Data(many.utf8)) }
    #expect(throws: JSONParser.Problem.self) {
      try JSONParser.value(of: Data(String(repeating: "[", count: 1_000_000).utf8))
    }
    let value = try JSONParser.value(of: Data((many + String(repeating: "]", count: 128)).utf8))
    #expect(value[0][0][0].array != nil)
  }

  @Test func `limits the nesting depth of a value inside another type`() throws {
    struct Order: Decodable { var extra: JSONValue }
    func text(_ depth: Int) -> Data {
      Data(("{\"extra\":" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}").utf8)
    }

    #expect(try JSONDecoder().decode(Order.self, from: text(50)).extra.array?.count == 1)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Order.self, from: text(100)) }
  }

  @Test func `a response and an event limit the nesting depth`() throws {
    let text = String(repeating: "[", count: 200)
    let response = HTTPResponse(status: .ok, body: Data(text.utf8))

    let error = #expect(throws: HTTPError.self) { try response.json(JSONValue.self) }
    #expect(error?.kind == .decoding && error?.message.contains("deeper than 128 levels") == true)
    #expect(throws: HTTPError.self) { try ServerSentEvents.Event(data: text).json(JSONValue.self) }
    #expect(try ServerSentEvents.Event(data: "[1]").json(JSONValue.self) == [1])
  }

  // MARK: Numbers that neither Int nor Double holds

  @Test(arguments: [
    "18446744073709551615", "9223372036854775808", "-9223372036854775809", "12345678901234567890123456789012345678",
  ])
  func `keeps the digits of a large integer`(digits: String) throws {
    let value = try HTTPResponse(status: .ok, body: Data("[\(digits)]".utf8)).json([JSONValue].self)[0]

    #expect(try JSONParser.value(of: Data(digits.utf8)) == .digits(digits) && value == .digits(digits))
    #expect(try String(decoding: JSONEncoder().encode(value), as: UTF8.self) == digits)
    #expect(value.int == nil && value.double == Double(digits) && value.unsigned == UInt64(digits))
  }

  @Test(arguments: ["1e400", "-1e400", "1" + String(repeating: "0", count: 400)])
  func `a number beyond Double can be decoded, but not encoded`(digits: String) throws {
    let value = try JSONParser.value(of: Data("[\(digits), 1]".utf8))

    #expect(value == [.digits(digits), 1] && value[0].double == nil && value[0].unsigned == nil)
    let error = #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
    let problem = error.map { EncodingProblem.describe($0) }
    #expect(problem?.hasSuffix("a number of more than 38 digits or with an exponent") == true)
  }

  @Test(arguments: [
    JSONValue.integer(.min), .integer(.max), .number(0.1), .number(.leastNonzeroMagnitude),
    .number(.greatestFiniteMagnitude),
  ])
  func `writes back each number as it was read`(value: JSONValue) throws {
    let data = try JSONEncoder().encode(value)

    #expect(try JSONParser.value(of: data) == value)
    #expect(
      try HTTPResponse(status: .ok, body: Data("[".utf8) + data + Data("]".utf8)).json([JSONValue].self) == [value])
  }

  @Test func `a plain decoder keeps UInt64, and rounds larger integers`() throws {
    #expect(try Self.decoded("18446744073709551615") == .digits("18446744073709551615"))
    #expect(try Self.decoded("18446744073709551616").double == 18_446_744_073_709_551_616)
    #expect(JSONValue.integer(7).unsigned == 7 && JSONValue.integer(-7).unsigned == nil)
    #expect(JSONValue.number(7).unsigned == 7 && JSONValue.string("7").unsigned == nil)
  }

  @Test func `subscripts return members and elements, or null if missing`() {
    let value: JSONValue = ["name": "Ada", "age": 36, "ratio": 0.5, "tags": ["a", "b"], "isBoss": true, "boss": .null]

    #expect(value["name"].string == "Ada")
    #expect(value["age"].int == 36 && value["age"].double == 36)
    #expect(value["ratio"].double == 0.5 && value["ratio"].int == nil)
    #expect(value["tags"][1].string == "b" && value["tags"].array?.count == 2)
    #expect(value["isBoss"].bool == true)
    #expect(value["boss"].isNull && value["none"].isNull && value["tags"][2].isNull && value["tags"][-1].isNull)
    #expect(value["name"]["x"].isNull && value["name"][0].isNull)
    #expect(value.object?.count == 6 && value.string == nil && value.array == nil)
  }

  @Test func `a literal keeps the last of two members with the same name`() {
    #expect(["a": 1, "a": 2] as JSONValue == ["a": 2])
  }

  @Test func `a literal of mixed types can be a JSON body`() throws {
    let name = "Ada"
    let body = HTTPBody.json(["name": .string(name), "age": 36, "tags": ["a"], "boss": .null])

    #expect(body.contentType == "application/json")
  }

  @Test func `rejects a non-finite number before anything is sent`() async {
    let client = HTTPClient { $0.baseURL = "http://localhost:9" }

    let error = await #expect(throws: HTTPError.self) {
      try await client.post("/", body: .json(["x": .number(.nan)]))
    }

    #expect(error?.kind == .invalidRequest)
  }
}
