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

  @Test func `reads the links of a field, resolved against the URL of the response`() {
    #expect(
      Self.links(#"<https://api.example/users?page=3>; rel="next", </users?page=1>; rel=prev, <?page=9>; rel=last"#)
        == [
          "next https://api.example/users?page=3", "prev https://api.example/users?page=1",
          "last https://api.example/users/list?page=9",
        ])
  }

  @Test func `reads several fields in order`() {
    #expect(Self.links("</a>; rel=a", "</b>; rel=b") == ["a https://api.example/a", "b https://api.example/b"])
  }

  @Test(arguments: [
    (#"</a>;rel="NEXT Last""#, "next last https://api.example/a"),
    (#" ,, </a> ; REL = "next" ; title="x, y; z>" "#, "next https://api.example/a"),
    (#"</a;b,c>; rel=next"#, "next https://api.example/a;b,c"),
    (#"</a>; title="a \" , </x>; rel=no"; rel=next"#, "next https://api.example/a"),
    (#"</a>; rel=next; rel=last"#, "next https://api.example/a"),
  ])
  func `reads what servers write`(_ field: String, _ link: String) { #expect(Self.links(field) == [link]) }

  @Test(arguments: [
    "", "next", "<", "</a", "</a>", "</a>; rel", #"</a>; rel="""#, "</a>; title=x", "</a>; rel=next; anchor=\"/b\"",
    "<mailto:a@b.example>; rel=next", "<javascript:1>; rel=next", "<http://[>; rel=next",
  ])
  func `leaves out what is no link of this response`(_ field: String) { #expect(Self.links(field) == []) }

  @Test func `finds a link by its relation, and its parameters`() {
    let response = Self.response([#"</a>; rel="first prev"; title="A"; Type=text/html"#, "</b>; rel=prev"])

    #expect(response.link("PREV")?.absoluteString == "https://api.example/a")
    #expect(response.link("next") == nil)
    #expect(response.links[0].parameters == ["title": "A", "type": "text/html"])
  }

  @Test func `many brackets take no longer than their number`() {
    let field = String(repeating: "<", count: 60_000) + String(repeating: "</a>", count: 10_000)

    #expect(Self.links(field).isEmpty)
  }
}
