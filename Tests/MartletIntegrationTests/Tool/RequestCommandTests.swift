import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct RequestCommandTests {
  private func command(_ items: String...) throws -> RequestCommand {
    let command = try Arguments.parse(["http://a.test"] + items)
    guard case .request(let request) = command else { throw UsageError("not a request") }
    return request
  }

  @Test func `encodes fields as a JSON object in their order`() throws {
    let command = try command("name=Ada", "age:=36", #"tags:=["x", {"y": null}]"#, "name=Grace", "note=a\"b\\c\n\u{1}é")

    let expected = #"{"name": "Grace", "age": 36, "tags": ["x", {"y": null}], "note": "a\"b\\c\n\u0001é"}"#
    #expect(command.request.body == .text(expected, contentType: "application/json"))
  }

  @Test func `encodes a form`() throws {
    #expect(try command("--form", "a=1 2", "b=&", "a=3").request.body == .form(["a": "1 2", "b": "&", "a": "3"]))
  }

  @Test(arguments: [
    ("{\"a\": 1}", "application/json"), (" [1]", "application/json"), ("{a}", "text/plain; charset=utf-8"),
    ("12", "text/plain; charset=utf-8"), ("", "text/plain; charset=utf-8"),
  ])
  func `detects whether a text is a JSON document`(text: String, type: String) throws {
    #expect(try command("--body", text).request.body?.contentType == type)
  }

  @Test(arguments: [
    ("a.JSON", "application/json"), ("a.txt", "text/plain; charset=utf-8"), ("a.bin", "application/octet-stream"),
    ("a", "application/octet-stream"),
  ])
  func `derives the content type of a file from its name`(name: String, type: String) throws {
    let body = try command("--body", "@/tmp/\(name)").request.body

    #expect(body == .file(URL(fileURLWithPath: "/tmp/\(name)"), contentType: type))
  }

  @Test func `--timeout limits the whole call and sets no idle limit`() throws {
    let options = try command("--timeout", "90", "--retry", "2").options

    #expect(options.timeout.total == .seconds(90) && options.timeout.idle == nil)
    #expect(options.retry?.maximumAttempts == 3)
  }

  @Test(arguments: [
    (200, ExitCode.success), (304, .success), (404, .clientError), (503, .serverError), (799, .noResponse),
  ])
  func `maps statuses to exit codes`(status: Int, code: ExitCode) {
    #expect(RunRequest.code(of: HTTPStatus(status)) == code)
  }
}
