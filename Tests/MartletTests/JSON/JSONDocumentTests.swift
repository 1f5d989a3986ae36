import Foundation
import TestSupport
import Testing

@testable import Martlet

/// A `JSONValue` inside another type.
@Suite(.hangLimit) struct JSONDocumentTests {
  private struct Wrap: Decodable, Equatable { var v: JSONValue }

  private struct Order: Decodable, Equatable {
    struct Line: Decodable, Equatable {
      var itemName: String
      var extra: JSONValue?
    }
    var orderLines: [Line]
    var byName: [String: JSONValue]
    var rest: [[JSONValue]]
  }

  private static let text = """
    {"order_lines": [{"item_name": "a", "extra": {"size_of": [1, 2.5, null, true, "x", {"a_b": {}}]}},
      {"item_name": "b", "extra": null}, {"item_name": "c"}, {"item_name": "d", "extra": "é"}],
     "by_name": {"first_one": [], "second": {"deep_er": 1}, "third": null}, "rest": [[], [1, "2"], [{"x_y": 3}]]}
    """

  private static func decode<T: Decodable>(
    _ type: T.Type, _ text: String, _ decoder: JSONDecoder = JSONDecoder()
  ) throws -> T {
    try HTTPResponse(status: .ok, body: Data(text.utf8)).json(type, decoder: decoder)
  }

  /// 60 nested arrays around many elements, for which `JSONDecoder` took a minute per megabyte.
  private static func hostile(_ element: String, count: Int) -> String {
    let elements = Array(repeating: element, count: count).joined(separator: ",")
    return String(repeating: "[", count: 60) + elements + String(repeating: "]", count: 60)
  }

  /// Returns the shortest time of five runs, because other processes slow down single runs.
  private static func cpuTime(_ body: () throws -> Void) rethrows -> Int {
    try (0..<5).map { _ in
      let start = Steps.threadTime
      try body()
      return Steps.threadTime - start
    }.min() ?? 0
  }

  @Test(arguments: ["1.5", "1.5,\"a\"", "true,{}", "[1],\"a\"", "{\"a\":1},{\"a\":\"b\"}"])
  func `a value in a model costs little more than a value alone`(element: String) throws {
    let text = Self.hostile(element, count: 10_000)

    // Finding the type of each value by errors would cost a hundred times as much, far more than the factor of 8.
    let alone = try Self.cpuTime { _ = try Self.decode(JSONValue.self, text) }
    let wrapped = try Self.cpuTime { _ = try Self.decode(Wrap.self, "{\"v\":\(text)}") }
    let elements = try Self.cpuTime { _ = try Self.decode([JSONValue].self, text) }

    #expect(wrapped < 8 * alone && elements < 8 * alone, "\(alone) \(wrapped) \(elements)")
  }

  @Test func `a value in a model equals a plain decoder's value for any key strategy`() throws {
    let names = ["order_lines": "orderLines", "by_name": "byName", "item_name": "itemName"]
    let standard = JSONDecoder()
    standard.keyDecodingStrategy = .custom { path in
      let name = path.last?.stringValue ?? ""
      return JSONNode.Key(stringValue: names[name] ?? name)
    }
    let upper = JSONDecoder()
    upper.keyDecodingStrategy = .custom { path in
      let name = (path.last?.stringValue ?? "").split(separator: "_").map(\.capitalized).joined()
      return JSONNode.Key(stringValue: name.prefix(1).lowercased() + name.dropFirst())
    }
    for decoder in [standard, upper] {
      let expected = try decoder.decode(Order.self, from: Data(Self.text.utf8))

      #expect(try Self.decode(Order.self, Self.text, decoder) == expected)
      #expect(expected.orderLines.count == 4 && expected.rest[1] == [1, "2"])
    }
  }

  @Test func `a snake case strategy applies to models and values, but not to dictionaries`() throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let text =
      #"{"order_lines": [{"item_name": "a", "extra": {"a_b": 1}}], "by_name": {"x_y": {"a_b": 2}}, "rest": []}"#

    let order = try Self.decode(Order.self, text, decoder)

    #expect(try decoder.decode(Order.self, from: Data(text.utf8)) == order)
    #expect(order.orderLines.first?.extra == ["aB": 1] && order.byName == ["x_y": ["aB": 2]])
  }

  @Test(arguments: [
    "a_b", "a_b_c", "_a_b", "a_b_", "__a_b__", "a__b", "aB_c", "A_B", "abc", "_", "__", "", "a_", "_a", "é_ß", "a_1b",
    "a_bCD",
  ])
  func `converts snake case as Foundation does`(name: String) throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase

    let value = try decoder.decode(JSONValue.self, from: Data("{\"\(name)\": 1}".utf8))

    #expect(value.object?.keys.first == JSONNode.camelCase(name))
  }

  @Test func `rejects a value below names that are equal once converted`() {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase

    let error = #expect(throws: HTTPError.self) {
      try Self.decode([String: Wrap].self, #"{"a_b": {"v": 1}, "aB": {"v": 2}}"#, decoder)
    }

    #expect(error?.message.contains("two members have the same name") == true)
  }

  @Test func `a value uses the first of two members with the same name`() throws {
    let text = #"{"v": {"a": 1, "a": 2}, "v": 3}"#

    #expect(try Self.decode(Wrap.self, text).v == ["a": 1])
    #expect(try JSONDecoder().decode(Wrap.self, from: Data(text.utf8)).v == ["a": 1])
  }

  /// Decodes a text within the text; both have the same coding paths.
  private struct Envelope: Decodable {
    var v: JSONValue
    var inner: JSONValue

    enum Key: CodingKey { case v, inner }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Key.self)
      inner = try JSONDecoder().decode(Wrap.self, from: Data(try members.decode(String.self, forKey: .inner).utf8)).v
      v = try members.decode(JSONValue.self, forKey: .v)
    }
  }

  @Test func `a text within another text has its own values`() throws {
    let envelope = try Self.decode(Envelope.self, #"{"v": [1], "inner": "{\"v\": [2]}"}"#)

    #expect(envelope.v == [1] && envelope.inner == [2])
  }

  private final class Subclass: JSONDecoder, @unchecked Sendable {
    override func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
      #expect(type == Wrap.self)
      return try super.decode(type, from: data)
    }
  }

  @Test func `subclasses and JSON5 decode without the document`() throws {
    let json5 = JSONDecoder()
    json5.allowsJSON5 = true

    #expect(try Self.decode(Wrap.self, #"{"v": [1]}"#, Subclass()).v == [1])
    #expect(
      try Self.decode(Wrap.self, "{v: ['a', 1, {b: 2}, true, null, 1.5]}", json5).v
        == ["a", 1, ["b": 2], true, .null, 1.5])
  }

  @Test func `enforces the depth limits`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    #expect(try Self.decode(Wrap.self, "{\"v\":\(nested(128))}").v.array != nil)
    let error = #expect(throws: HTTPError.self) { try Self.decode(Wrap.self, "{\"v\":\(nested(129))}") }
    #expect(error?.message.hasSuffix("malformed at .v: nesting is deeper than 128 levels") == true)
    #expect(throws: HTTPError.self) { try Self.decode(Wrap.self, "{\"v\":\(nested(500))}") }
  }

  @Test func `lines and events read values from their own texts`() throws {
    let event = ServerSentEvents.Event(data: #"{"v": [18446744073709551615]}"#)

    #expect(try event.json(Wrap.self).v == [.digits("18446744073709551615")])
    let error = #expect(throws: HTTPError.self) { try ServerSentEvents.Event(data: "{\"v\": [}").json(Wrap.self) }
    #expect(error?.message.hasSuffix("malformed: expected a value, at byte 7") == true)
  }

  // MARK: Unread parts

  private struct OneInt: Decodable { var v: Int }
  private struct Meta<Value: Decodable>: Decodable {
    struct Row: Decodable { var i: Int }
    var v: Value
    var rows: [Row]
  }

  private static let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)

  /// Unusual texts; if a text can be decoded, `v` is a number.
  private static let odd: [Data] =
    [
      #"{"note":"\ud83d","v":1}"#, #"{"x":[{"note":"\udc00\\"}],"v":1}"#,
      #"{"v":1,}"#, #"{"x":[1,2,],"v":1}"#, #"{"x":{"y":"]}\"{[",},"v":1 , }"#, "{\"x\":\(deep),\"v\":1}",
      #"{"x":01,"y":1e,"v":1}"#, #"{"x":"\q","v":1}"#, "\u{FEFF}{\"v\":1}", " \r\n\t{ \"v\" :\n1 }\n",
      #"{"\u0076":1}"#, #"{"v":1,"v":{}}"#, #"{"x":[[],{}],"v":1,"y":[{"v":2}]}"#, #"{"v":01}"#, #"{"v":1.}"#,
      #"{"v":1}"#, #"{"v":"#, #"{"v":1}}"#, #"{"v":-}"#, #"{"x":"a\tb","v":1}"#, "{\"x\":\"a\tb\",\"v\":1}",
    ].map { Data($0.utf8) } + [
      Data("{\"x\":\"".utf8) + [0xFF, 0xC3] + Data("\",\"v\":1}".utf8), data("{\"v\":1}", .utf16),
      data("{\"v\":1}", .utf16BigEndian), data("{\"v\":1}", .utf16LittleEndian), data("{\"v\":1}", .utf32),
      data("{\"v\":1}", .utf32BigEndian), data("{\"é\":\"é\",\"v\":1}", .utf32LittleEndian),
    ]

  private static func data(_ text: String, _ encoding: String.Encoding) -> Data { text.data(using: encoding) ?? Data() }

  @Test(arguments: odd) func `finds a value wherever a plain decoder finds a number`(text: Data) {
    let number = try? JSONDecoder().decode(OneInt.self, from: text).v
    let value = try? HTTPResponse(status: .ok, body: text).json(Wrap.self).v

    #expect(value?.int == number, "\(String(decoding: text, as: UTF8.self))")
  }

  /// Foundation accepts all other texts; later versions may accept even more.
  @Test func `a plain decoder accepts all but a few of the odd texts`() {
    let refused = Self.odd.indices.filter { (try? JSONDecoder().decode(OneInt.self, from: Self.odd[$0])) == nil }

    #expect(Set(refused).isSubset(of: [13, 14, 16, 17, 18, 25]), "\(refused)")
  }

  @Test func `the cost of blanks and repeated names does not depend on the number of values`() throws {
    let blanks = String(repeating: " ", count: 200_000)
    let ones = String(repeating: "1,", count: 100_000)
    let big = String(repeating: "1,", count: 50_000) + "1"
    let names = String(repeating: "\"a\":1,", count: 20_000)

    let values = try Self.decode([JSONValue].self, "\(blanks)[\(ones)1]")
    let members = try Self.decode([String: JSONValue].self, "{\"a\":[\(big)],\(names)\"b\":2}")

    #expect(values.count == 100_001)
    #expect(members["a"]?.array?.count == 50_001 && members["b"] == 2)
  }

  @Test func `a dictionary uses the first of two members with the same name`() throws {
    #expect(try Self.decode([String: [JSONValue]].self, #"{"a":[],"a":[1]}"#) == ["a": []])
  }

  @Test func `accepts a document without the outermost braces`() throws {
    let decoder = JSONDecoder()
    decoder.assumesTopLevelDictionary = true

    #expect(try Self.decode(Wrap.self, #""v": [1, {"v": 2}]"#, decoder).v == [1, ["v": 2]])
  }

  @Test func `a value in UTF-16 may be as deep as one in UTF-8`() throws {
    let text = "{\"v\":" + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}"

    for encoding in [String.Encoding.utf16BigEndian, .utf16LittleEndian, .utf32BigEndian, .utf32LittleEndian] {
      #expect(try HTTPResponse(status: .ok, body: Self.data(text, encoding)).json(Wrap.self).v.array?.count == 1)
    }
  }

  @Test(arguments: [
    (#"{"v":"\ud83d"}"#, "lone surrogate in a string"), (#"{"v":[{"\udc00":1}]}"#, "lone surrogate in a string"),
    (#"{"v":[1,]}"#, "expected a value"), (#"{"v":01}"#, "unexpected data after the value"),
  ])
  func `rejects a malformed value in a well-formed document`(text: String, reason: String) {
    let error = #expect(throws: HTTPError.self) { try Self.decode(Wrap.self, text) }

    #expect(error?.message.hasSuffix("malformed at .v: \(reason)") == true, "\(error?.message ?? "")")
  }

  @Test func `indexes only the parts on the path to a value`() throws {
    let rows = (0..<1_000).map { "{\"i\":\($0)}" }.joined(separator: ",")
    var index = JSONIndex(Data(#"{"s":"\"]}\\","rows":[\#(rows)],"a":[{"v":7}]}"#.utf8))

    #expect(try index.value(at: ["a", 0, "v"].map { Self.key($0) }, nil) == 7)
    #expect(index.listedCount == 3)
    #expect(try index.value(at: ["rows", 999, "i"].map { Self.key($0) }, nil) == 999)
    #expect(throws: JSONMisfit.self) { try index.value(at: ["rows", 1_000].map { Self.key($0) }, nil) }
    #expect(index.listedCount == 5)
  }

  private static func key(_ value: JSONValue) -> any CodingKey {
    value.int.map { JSONNode.Key(intValue: $0) } ?? JSONNode.Key(stringValue: value.string ?? "")
  }

  // MARK: Malformed texts and numbers that do not fit

  @Test(arguments: [
    (#"{"a":1.5}"#, "a number does not fit its type: the first that Int cannot hold is at .a"),
    (#"{"a":1,"b":9223372036854775808}"#, "a number does not fit its type: the first that Int cannot hold is at .b"),
    (#"{"a":"\ud83d"}"#, "expected Int at .a"),
    (#"{"a":1"#, "malformed: expected a comma or the end of the object, at byte 6"),
    (#"{"a":tru}"#, "malformed: expected a value, at byte 5"),
    (#"{"a":"x"}"#, "expected Int at .a"),
  ])
  func `distinguishes a malformed text from a number that does not fit`(text: String, expected: String) {
    let error = #expect(throws: HTTPError.self) { try Self.decode([String: Int].self, text) }
    let ofEvent = #expect(throws: HTTPError.self) { try ServerSentEvents.Event(data: text).json([String: Int].self) }

    #expect(error?.message.hasSuffix(": \(expected)") == true, "\(error?.message ?? "")")
    #expect(ofEvent?.message.hasSuffix(": \(expected)") == true, "\(ofEvent?.message ?? "")")
  }

  @Test func `the error names both an unread malformed string and a large number`() {
    struct A: Decodable { let a: Int }
    let text = #"{"a":9223372036854775808,"b":"\ud83d"}"#

    let error = #expect(throws: HTTPError.self) { try Self.decode(A.self, text) }

    let expected =
      "malformed: lone surrogate in a string, at byte 36, or a number does not fit its type: the first that Int cannot "
      + "hold is at .a"
    #expect(error?.message.hasSuffix(": \(expected)") == true, "\(error?.message ?? "")")
  }

  @Test func `the error has no path for a number that fits Int but not its type`() {
    let error = #expect(throws: HTTPError.self) { try Self.decode([UInt8].self, "[1, 300]") }

    #expect(error?.message.hasSuffix("a number does not fit its type: each fits Int") == true)
  }
}
