import Martlet
import TestSupport
import Testing

@testable import MartletTool

/// Nested items.
@Suite(.hangLimit) struct ItemPathTests {
  private func content(_ items: [String]) throws -> RequestCommand.Content {
    guard case .request(let request) = try Arguments.parse(["http://a.test"] + items) else { return .none }
    return request.content
  }

  private func document(_ items: [String]) throws -> String {
    guard case .json(let fields) = try content(items) else { return "" }
    return try RequestCommand.document(fields)
  }

  @Test(arguments: [
    ("a", [ItemPath.Step.name("a")]), ("a[b]", [.name("a"), .name("b")]), ("a[]", [.name("a"), .append]),
    ("a[0][b]", [.name("a"), .index(0), .name("b")]), ("[]", [.append]), ("[b]", [.name("b")]), ("", [.name("")]),
    (#"a\[b\]"#, [.name("a[b]")]), (#"a[\1]"#, [.name("a"), .name("1")]), ("a]b", [.name("a]b")]),
    (#"a[b\]c]"#, [.name("a"), .name("b]c")]),
  ])
  func `reads a nested name`(name: String, steps: [ItemPath.Step]) throws {
    #expect(try ItemPath(name).steps == steps)
  }

  @Test(arguments: [
    (["user[name]=Ada", "tags[]=a", "tags[]:=1"], #"{"user": {"name": "Ada"}, "tags": ["a", 1]}"#),
    (["a[b][c]=1", "a[b][d]:=[]", "e=f"], #"{"a": {"b": {"c": "1", "d": []}}, "e": "f"}"#),
    (["a[2]=x", "a[0]=y", "a[]=z"], #"{"a": ["y", null, "x", "z"]}"#),
    (["a[0][id]:=1", "a[0][id]:=2", "a[1][id]:=3"], #"{"a": [{"id": 2}, {"id": 3}]}"#),
    (["[]:=1", "[]=b"], #"[1, "b"]"#), (["[a]=b"], #"{"a": "b"}"#), ([#"a\[b\]=c"#], #"{"a[b]": "c"}"#),
    (["a=1", "a=2"], #"{"a": "2"}"#), (["\u{E9}=1", "e\u{301}=2"], "{\"\u{E9}\": \"1\", \"e\u{301}\": \"2\"}"),
  ])
  func `builds a document from nested items`(items: [String], json: String) throws {
    #expect(Array(try document(items).utf8) == Array(json.utf8))
  }

  @Test func `builds a large document in linear time`() throws {
    let count = 100_000

    let object = try JSONTree((0..<count).map { ("k\($0)", "1") }).text
    let array = try JSONTree(Array(repeating: ("a[]", "1"), count: count)).text

    // In quadratic time, this test would exceed the suite's limit.
    #expect(object.utf8.count > 8 * count && array.utf8.count == 3 * count + 7)
  }

  @Test(arguments: [
    (["a[b=c"], "'a[b' has a '[' without ']'"), (["a[b]c=d"], "text after ']'"),
    (["a=1", "a[b]=2"], "'a[b]' needs an object or array, but an earlier item makes a value"),
    (["a[b]=1", "a=2"], "'a' needs a value, but an earlier item makes an object"),
    (["a[b]=1", "a[]=2"], "'a[]' needs an array, but an earlier item makes an object"),
    (["a[]=1", "a[b]=2"], "'a[b]' needs an object, but an earlier item makes an array"),
    (["[]=1", "a=2"], "'a' needs an object"), (["a[10000]=1"], "greater than 9999"),
    (["a[99999999999999999999]=1"], "greater than 9999"),
    (["a" + String(repeating: "[b]", count: 100) + "=1"], "more than 100 levels"),
  ])
  func `refuses items that contradict each other`(items: [String], message: String) {
    let error = #expect(throws: UsageError.self) { try document(items) }

    #expect(error?.description.contains(message) == true, "\(error as Any)")
  }

  @Test func `keeps brackets in the names of a form`() throws {
    guard case .request(let form) = try Arguments.parse(["http://a.test", "-f", "a[b]=1", #"c\[d\]=2"#]) else { return }

    #expect(form.request.body == .form(["a[b]": "1", "c[d]": "2"]))
    #expect(try content(["--multipart", "a[b]=1"]) == .multipart([Part(name: "a[b]", text: "1")]))
  }
}
