import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct WriteOutTests {
  private func text(_ format: String, _ values: WriteOut.Values = .init()) throws -> [String] {
    try WriteOut(format).text(values).map { ($0.isError ? "!" : "") + $0.text }
  }

  @Test(arguments: [
    ("%{http_code}\\n", ["204\n"]), ("a%%b\\t\\x\\\\", ["a%b\t\\x\\"]), ("100%", ["100%"]), ("", []),
    ("%header{x-one}/%header{X-None}", ["1/"]), ("a%{stderr}b%{method}%{stdout}c", ["a", "!b", "c"]), ("%d", ["%d"]),
  ])
  func `replaces variables and escapes`(format: String, parts: [String]) throws {
    var values = WriteOut.Values()
    values.variables[.httpCode] = "204"
    values.headers = ["X-One": "1"]

    #expect(try text(format, values) == parts)
  }

  @Test(arguments: [
    ("%{http_cod}", "did you mean %{http_code}?"), ("%{time_totl}", "did you mean %{time_total}?"),
    ("%{nothing_like_that}", "see martlet help write-out"), ("%{http_code", "without '}'"),
    ("%header{x", "without '}'"),
  ])
  func `names the nearest variable`(format: String, message: String) {
    let error = #expect(throws: UsageError.self) { try WriteOut(format) }

    #expect(error?.description.contains(message) == true, "\(error as Any)")
  }

  @Test func `the values before a response are zeros, and the URL has no password`() throws {
    guard case .request(let command) = try Arguments.parse(["PUT", "http://ada:s3cret@a.test/x"]) else { return }
    let values = WriteOut.Values(of: command)

    #expect(
      try text("%{http_code} %{url_effective} %{method} %{time_total} %{size_download}", values) == [
        "000 http://a.test/x PUT 0.000000 0"
      ])
  }
}

@Suite(.hangLimit) struct ShownPartsTests {
  @Test func `--print rejects unknown letters`() throws {
    #expect(throws: UsageError.self) { try ShownParts("hx") }
    let parts = try ShownParts("Hb")
    #expect(parts.requestHead && parts.responseBody && !parts.requestBody && !parts.responseHead && !parts.timing)
  }

  @Test func `formats JSON Lines as their lines arrive`() {
    var lines = JSONLines()

    #expect(lines.add(Data(#"{"a":1}"#.utf8)).isEmpty)
    #expect(lines.add(Data("\n[]\nplain\u{1B}\n{\"b\"".utf8)) == "{\n  \"a\": 1\n}\n[]\nplain\\u{1b}\n")
    #expect(lines.add(Data(":2}".utf8)).isEmpty && lines.finish() == "{\n  \"b\": 2\n}\n" && lines.finish().isEmpty)
  }
}
