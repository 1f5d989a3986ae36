import Foundation
import Martlet
import Testing

@Suite struct LinkTests {
  private static func response(_ fields: [String]) -> HTTPResponse {
    var headers: HTTPHeaders = [:]
    for field in fields { headers.append(field, for: "Link") }
    return HTTPResponse(
      status: .ok, headers: headers, body: Data(), request: .get("https://api.example/users/list?page=2"))
  }

  private static func links(_ fields: String...) -> [String] {
    response(fields).links.map { "\($0.relations.joined(separator: " ")) \($0.url)" }
  }

  @Test func `resolves links against the URL of the response`() {
    #expect(
      Self.links(#"<https://api.example/users?page=3>; rel="next", </users?page=1>; rel=prev, <?page=9>; rel=last"#)
        == [
          "next https://api.example/users?page=3", "prev https://api.example/users?page=1",
          "last https://api.example/users/list?page=9",
        ])
  }

  @Test func `parses several Link fields in order`() {
    #expect(Self.links("</a>; rel=a", "</b>; rel=b") == ["a https://api.example/a", "b https://api.example/b"])
  }

  @Test(arguments: [
    (#"</a>;rel="NEXT Last""#, "next last https://api.example/a"),
    (#" ,, </a> ; REL = "next" ; title="x, y; z>" "#, "next https://api.example/a"),
    (#"</a;b,c>; rel=next"#, "next https://api.example/a;b,c"),
    (#"</a>; title="a \" , </x>; rel=no"; rel=next"#, "next https://api.example/a"),
    (#"</a>; rel=next; rel=last"#, "next https://api.example/a"), (#"</a>; rel="next"#, "next https://api.example/a"),
    (#"</a>x; rel=no, </b>; rel=next"#, "next https://api.example/b"),
  ])
  func `parses Link variants that servers send`(_ field: String, _ link: String) {
    #expect(Self.links(field) == [link])
  }

  @Test(arguments: [
    "", "next", "<", "</a", "</a>", "</a>; rel", #"</a>; rel="""#, "</a>; title=x", "</a>; rel=next; anchor=\"/b\"",
    "junk=\"</x>; rel=next\"", "</a> rel=next",
    "<mailto:a@b.example>; rel=next", "<javascript:1>; rel=next", "<http://[>; rel=next",
  ])
  func `omits malformed links, other schemes and other anchors`(_ field: String) { #expect(Self.links(field) == []) }

  @Test func `finds a link by its relation and exposes its parameters`() {
    let response = Self.response([#"</a>; rel="first prev"; title="A"; Type=text/html"#, "</b>; rel=prev"])

    #expect(response.link("PREV")?.absoluteString == "https://api.example/a")
    #expect(response.link("next") == nil)
    #expect(response.links[0].parameters == ["title": "A", "type": "text/html"])
  }

  @Test func `a quote inside an unquoted value is part of the value`() {
    #expect(
      Self.links(#"</a>; title=5" disk; rel=next, </b>; rel=prev"#) == [
        "next https://api.example/a", "prev https://api.example/b",
      ])
  }

  @Test func `decodes an extended parameter and prefers it to the plain one`() {
    let response = Self.response(["</a>; rel=next; title=euro; title*=UTF-8''%e2%82%ac; hint*=broken"])

    #expect(response.links.first?.parameters == ["title": "€"])
  }

  @Test func `returns at most 100 links`() {
    #expect(Self.response([String(repeating: "</a>; rel=a, ", count: 5_000)]).links.count == 100)
  }

  @Test(arguments: [
    (["/jobs/7"], "https://api.example/jobs/7"), (["7?x#y"], "https://api.example/users/7?x#y"),
    (["https://other.example/a"], "https://other.example/a"),
    (["https://ada:secret@api.example/"], "https://api.example/"),
    (["/a", "/a"], "https://api.example/a"), (["/a", "/b"], nil), ([""], nil), ([], nil), (["mailto:a@b.example"], nil),
    (["http://["], nil), ([#"\\other.example"#], nil),
  ])
  func `resolves Location against the URL of the response`(_ fields: [String], _ location: String?) {
    var headers: HTTPHeaders = [:]
    for field in fields { headers.append(field, for: "Location") }
    let response = HTTPResponse(
      status: .accepted, headers: headers, body: Data(), request: .get("https://api.example/users/list?page=2#part"))

    #expect(response.location?.absoluteString == location)
  }
}
