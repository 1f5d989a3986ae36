import TestSupport
import Testing

@testable import Martlet

@Suite struct HTTPHeadersTests {
  @Test func `finds fields by case-insensitive name`() {
    let headers: HTTPHeaders = ["Content-Type": "text/html", "X-A": "1", "x-a": "2"]

    #expect(headers["content-TYPE"] == "text/html")
    #expect(headers["X-a"] == "1")
    #expect(headers[all: "X-A"] == ["1", "2"])
    #expect(headers.contains("CONTENT-type"))
    #expect(!headers.contains("Content-Typ"))
    #expect(headers["Content-Type2"] == nil)
    #expect(headers[all: "none"].isEmpty)
  }

  @Test func `folds the case of ASCII letters only`() {
    let headers: HTTPHeaders = ["[\u{212A}É": "v"]

    #expect(headers["[\u{212A}É"] == "v")
    #expect(headers["[kÉ"] == nil)
    #expect(headers["{\u{212A}É"] == nil)
    #expect(headers["[\u{212A}é"] == nil)
  }

  @Test func `keeps order, spelling and repetitions`() {
    let headers: HTTPHeaders = ["b": "1", "A": "2", "B": "3"]

    #expect(headers.map(\.name) == ["b", "A", "B"])
    #expect(headers.map(\.value) == ["1", "2", "3"])
    #expect(headers.count == 3)
    #expect(!headers.isEmpty)
    #expect(HTTPHeaders().isEmpty)
    #expect(HTTPHeaders(headers.reversed()).map(\.value) == ["3", "2", "1"])
  }

  @Test func `setting a value replaces all fields of the name at the first position`() {
    var headers: HTTPHeaders = ["A": "1", "B": "2", "C": "3", "b": "4", "D": "5"]

    headers["b"] = "new"

    #expect(headers == ["A": "1", "B": "new", "C": "3", "D": "5"])
    #expect(headers[1].name == "b")
  }

  @Test func `setting nil removes all fields of the name`() {
    var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3"]

    headers["a"] = nil
    headers["none"] = nil

    #expect(headers == ["B": "2"])
  }

  @Test func `setting a value for a new name appends a field`() {
    var headers: HTTPHeaders = ["A": "1"]

    headers["B"] = ""

    #expect(headers == ["A": "1", "B": ""])
    #expect(headers["b"] == "")
  }

  @Test func `setting several values inserts them at the position of the first field`() {
    var headers: HTTPHeaders = ["A": "1", "B": "2", "C": "3", "b": "4"]

    headers[all: "B"] = ["x", "y", "z"]
    #expect(headers == ["A": "1", "B": "x", "B": "y", "B": "z", "C": "3"])

    headers[all: "b"] = []
    #expect(headers == ["A": "1", "C": "3"])

    headers[all: "D"].append("4")
    headers[all: "D"].append("5")
    #expect(headers == ["A": "1", "C": "3", "D": "4", "D": "5"])
  }

  @Test func `appends and removes fields`() {
    var headers = HTTPHeaders()

    headers.append("1", for: "Set-Cookie")
    headers.append("2", for: "set-cookie")
    headers.append("3", for: "Other")
    #expect(headers[all: "SET-COOKIE"] == ["1", "2"])

    headers.remove("SET-COOKIE")
    headers.remove("none")
    #expect(headers == ["Other": "3"])
  }

  @Test func `replaces fields by name and keeps repeated new fields`() {
    let headers: HTTPHeaders = ["Accept": "*/*", "X": "1", "Y": "2", "x": "3"]
    let other: HTTPHeaders = ["N": "n1", "X": "a", "accept": "text/html", "M": "m", "x": "b", "n": "n2"]

    let result = headers.replacing(with: other)

    #expect(
      result == [
        "accept": "text/html", "X": "a", "x": "b", "Y": "2", "N": "n1", "M": "m", "n": "n2",
      ])
    #expect(headers.replacing(with: [:]) == headers)
    #expect(HTTPHeaders().replacing(with: other) == other)
    #expect(other.replacing(with: other).count == other.count)
  }

  @Test(arguments: [
    ("", []), (" \t ", []), (",", []), (" , ,,\t, ", []), ("a", ["a"]), ("a,b", ["a", "b"]),
    (" a b\t,\t c ", ["a b", "c"]), (",a,,b,", ["a", "b"]), (#""a,b",c"#, [#""a,b""#, "c"]),
    (#"x="a\",b",c"#, [#"x="a\",b""#, "c"]), (#""a\\",b"#, [#""a\\""#, "b"]), (#""open,b"#, [#""open,b"#]),
    (#""open\"#, [#""open\"#]), (#"a\,b"#, [#"a\"#, "b"]), (#"W/"1,2", "3""#, [#"W/"1,2""#, #""3""#]),
    (#"",",""#, [#"",""#, #"""#]), ("é,日", ["é", "日"]),
  ])
  func `splits a list into its members`(value: String, members: [String]) {
    let headers: HTTPHeaders = ["X": value]

    #expect(headers.values(of: "x") == members)
  }

  @Test func `combines the lists of all fields with the name`() {
    let headers: HTTPHeaders = ["Vary": "a, b", "X": "no", "vary": "", "VARY": #"c,"open"#, "Vary": "d"]

    #expect(headers.values(of: "vary") == ["a", "b", "c", #""open"#, "d"])
  }

  @Test func `compares names case-insensitively, values by their bytes, and the order`() {
    let headers: HTTPHeaders = ["A": "x", "B": "\u{E9}"]
    let same: HTTPHeaders = ["a": "x", "b": "\u{E9}"]

    #expect(headers == same)
    #expect(headers.hashValue == same.hashValue)
    #expect(headers != ["A": "X", "B": "\u{E9}"])
    #expect(headers != ["A": "x", "B": "e\u{301}"])
    #expect(headers != ["B": "\u{E9}", "A": "x"])
    #expect(headers != ["A": "x"])
    #expect(Set([headers, same, [:]]).count == 2)
  }

  @Test func `descriptions never contain field values`() {
    let headers: HTTPHeaders = ["Authorization": "canary", "Cookie": "canary"]
    let optional: HTTPHeaders? = headers
    var dumped = ""

    dump((headers, headers[0], [headers]), to: &dumped)
    let texts = ["\(headers)", String(reflecting: headers), "\(headers[0])", String(reflecting: optional), dumped]

    for text in texts {
      #expect(!text.contains("canary"))
      #expect(text.contains("Authorization"))
    }
    #expect("\(headers)" == "[Authorization: …, Cookie: …]")
  }

  @Test func `replacing many fields is not quadratic in time`() {
    let many = HTTPHeaders((0..<20_000).map { HTTPHeaders.Field(name: "x-\($0)", value: "\($0)") })

    #expect(many.replacing(with: many) == many)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `behaves like a plain array of pairs`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var headers = HTTPHeaders()
    var model = HeadersModel()

    for step in 0..<200 {
      let name = ["a", "A", "bb", "Bb", "BB", "c-1", "C-1", "d"].randomElement(using: &random) ?? ""
      let values = (0..<Int.random(in: 0...3, using: &random)).map { "\(step).\($0)" }
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        headers.append("\(step)", for: name)
        model.pairs.append((name, "\(step)"))
      case 2:
        headers[name] = values.first
        model.set(name, values.prefix(1).map { $0 })
      case 3:
        headers[all: name] = values
        model.set(name, values)
      case 4 where step.isMultiple(of: 3):
        headers.remove(name)
        model.set(name, [])
      default:
        let other = ["A", name, "e", "a"].shuffled(using: &random).prefix(3).map { ($0, "\(step)\($0)") }
        headers.replace(with: HTTPHeaders(other.map { HTTPHeaders.Field(name: $0, value: $1) }))
        model.replace(with: other)
      }

      #expect(headers.map(\.name) == model.pairs.map(\.0))
      #expect(headers.map(\.value) == model.pairs.map(\.1))
      let expected = model.pairs.filter { $0.0.lowercased() == name.lowercased() }.map(\.1)
      #expect(headers[all: name] == expected)
      #expect(headers[name] == expected.first)
      #expect(headers.contains(name) == !expected.isEmpty)
    }
  }
}

/// A simple reference implementation of header fields.
private struct HeadersModel {
  var pairs: [(String, String)] = []

  mutating func set(_ name: String, _ values: [String]) {
    replace(name, by: values.map { (name, $0) })
  }

  mutating func replace(_ name: String, by new: [(String, String)]) {
    var result: [(String, String)] = []
    var isPlaced = false
    for pair in pairs {
      if pair.0.lowercased() != name.lowercased() {
        result.append(pair)
      } else if !isPlaced {
        result += new
        isPlaced = true
      }
    }
    pairs = isPlaced ? result : result + new
  }

  mutating func replace(with other: [(String, String)]) {
    let before = Set(pairs.map { $0.0.lowercased() })
    for name in Set(other.map { $0.0.lowercased() }) where before.contains(name) {
      replace(name, by: other.filter { $0.0.lowercased() == name })
    }
    pairs += other.filter { !before.contains($0.0.lowercased()) }
  }
}
