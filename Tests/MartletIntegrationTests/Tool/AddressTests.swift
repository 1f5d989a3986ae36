import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct AddressTests {
  @Test(arguments: [
    (":8080/x", "http://localhost:8080/x"), (":/x", "http://localhost/x"), (":", "http://localhost"),
    ("localhost/x", "http://localhost/x"), ("LOCALHOST:1", "http://LOCALHOST:1"), ("127.0.0.1:9", "http://127.0.0.1:9"),
    ("api.localhost", "http://api.localhost"), ("[::1]:80/", "http://[::1]:80/"), ("a.test", "https://a.test"),
    ("a.test:8080/x?y", "https://a.test:8080/x?y"), ("localhost.evil.test", "https://localhost.evil.test"),
    ("127.evil@a.test", "https://127.evil@a.test"), ("u@localhost", "http://u@localhost"),
    ("http://a.test", "http://a.test"), ("HTTPS://a.test", "HTTPS://a.test"),
    ("intranet:8080", "https://intranet:8080"),
    ("a.test?u=http://b.test", "https://a.test?u=http://b.test"), ("müller.example", "https://müller.example"),
    ("[2001:db8::1]", "https://[2001:db8::1]"), (":?a", "http://localhost?a"),
  ])
  func `completes URLs`(text: String, url: String) throws {
    #expect(try Address.absolute(text) == url)
    #expect(Address.isURL(text))
  }

  @Test(arguments: [
    ("/users", "https://a.test", "https://a.test/users"), ("/users", "https://a.test/", "https://a.test/users"),
    ("/users", ":8080/v1", "http://localhost:8080/v1/users"), ("/", "a.test", "https://a.test/"),
    ("b.test", "a.test", "https://b.test"), ("/x", "http://h.test?key=1", "http://h.test/x?key=1"),
    ("/x?a=b#f", "http://h.test/v1/?key=1#g", "http://h.test/v1/x?key=1&a=b"),
    ("/x", "http://h.test/api#f", "http://h.test/api/x"),
    ("/x", "http://u:p%40@h.test/v1", "http://u:p%40@h.test/v1/x"),
  ])
  func `appends a path to the base URL`(text: String, base: String, url: String) throws {
    #expect(try Address.absolute(text, base: base) == url)
  }

  @Test(arguments: [
    ("help", "'help' is not a URL"), ("intranet", "such as http://intranet"), ("name=Ada", "the item 'name=…'"),
    ("age:=36", "the item 'age:=…'"), ("q==x", "the item 'q==…'"),
    ("Authorization: Bearer s3cret", "the header field 'Authorization:…' is where the URL belongs"),
    (#"{"password": "s3cret"}"#, "a JSON document is where the URL belongs"), ("[1, 2]", "a JSON document"),
    ("intranet/x?token=s3cret", "write http://intranet/x"), ("/users", "add --base URL"), (":foo", "not a URL"),
    (".", "not a URL"), ("..", "not a URL"), ("./file", "not a URL"), ("a b.test", "not a URL"), ("host:80a", "host:…"),
    ("htp://a.test", "did you mean http://?"), ("htps://u:s3cret@a.test", "did you mean https://?"),
    ("httpss://a.test", "did you mean https://?"), ("ftp://a.test", "use http or https"),
    ("file:///etc/passwd", "use http or https"), ("://a.test", "write http:// or https://"),
    ("u:s3cret@host", "…@host"), ("", "the URL is empty"), ("a=@x.y", "the item 'a=…'"),
    ("http//a.test/x", "write http://a.test/x"), ("::1:8080/x", "write http://[::1]:8080"),
    ("fe80::1", "an IPv6 address without brackets"), ("wss://a.test", "'martlet ws URL' opens a WebSocket"),
  ])
  func `refuses a word that is not a URL, names the cure, and shows no secret`(text: String, cure: String) {
    let error = #expect(throws: UsageError.self) { try Address.absolute(text) }

    #expect(error?.description.contains(cure) == true, "\(error as Any)")
    #expect(error?.description.contains("s3cret") == false, "\(error as Any)")
  }

  @Test(arguments: [
    ("http:/a.test/x", "http://a.test/x"), ("https:/a.test", "https://a.test"), ("HTTP:/a", "http://a"),
  ])
  func `a URL with one slash after its scheme is refused with the cure`(text: String, cure: String) throws {
    let error = #expect(throws: UsageError.self) { try Address.absolute(text) }

    #expect(error?.description == "'\(text)' has one slash after its scheme; write \(cure)")
  }

  @Test(arguments: [
    (["downlod", "http://a.test"], "'downlod' is neither a command nor a URL; did you mean martlet download?"),
    (["gett", "http://a.test"], "did you mean GET?"), (["laod"], "did you mean martlet load?"),
    (["GET", "downlod"], "'downlod' is not a URL"), (["intranet"], "'intranet' is not a URL"),
    (["http://a.test", "https://u:s3cret@b.test"], "is a second URL"), (["http://a.test", #"{"a": 1}"#], "--json"),
    (["http://a.test", "verbose"], "did you mean --verbose?"), (["http://a.test", "a:=Ada"], "'a=…' sends text"),
    (["download", "help"], "'help' is not a URL"), (["sse", "downlod"], "'downlod' is not a URL"),
    (["http://a.test", "GET"], "write the method before the URL"),
    (["-X", "http://a.test"], "is followed by a URL instead of a method"),
    (["http://a.test", "Accept:", "text/html"], "write 'Accept:value' without a space"),
    (["--base", "/v1", "/users"], "--base '/v1' is a path"),
    (["purge", ":8080/x"], "methods are in capitals, such as PURGE"), ([":80/a", ":80/b"], "':80/b' is a second URL"),
    ([":80/a", "localhost:80/b"], "is a second URL"), (["purge", "a=b"], "'purge' is not a URL"),
  ])
  func `no word becomes a host by accident`(words: [String], message: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(words) }

    #expect(error?.description.contains(message) == true, "\(error as Any)")
    #expect(error?.description.contains("s3cret") == false, "\(error as Any)")
  }

  @Test func `--base completes the paths of all commands`() throws {
    guard case .download(let download) = try Arguments.parse(["download", "/a", "/b", "--base", "c.test", "-o", "."])
    else { throw UsageError("not a download") }
    guard case .request(let request) = try Arguments.parse(["/a", "--base=:81"]) else { throw UsageError("no request") }

    #expect(download.urls == ["https://c.test/a", "https://c.test/b"] && request.url == "http://localhost:81/a")
  }
}
