import Testing

@testable import Martlet

@Suite struct HTTPMethodTests {
  @Test(arguments: [
    (HTTPMethod.get, "GET", true, true), (.head, "HEAD", true, true), (.options, "OPTIONS", true, true),
    (.trace, "TRACE", true, true), (.put, "PUT", false, true), (.delete, "DELETE", false, true),
    (.post, "POST", false, false), (.patch, "PATCH", false, false), (.connect, "CONNECT", false, false),
    ("PROPFIND", "PROPFIND", false, false),
  ])
  func `knows which methods are safe and which are idempotent`(
    method: HTTPMethod, spelling: String, isSafe: Bool, isIdempotent: Bool
  ) {
    #expect(method.rawValue == spelling)
    #expect("\(method)" == spelling)
    #expect(method.isSafe == isSafe)
    #expect(method.isIdempotent == isIdempotent)
    #expect(method.isValid)
  }

  @Test func `methods are case-sensitive`() {
    let method: HTTPMethod = "get"

    #expect(method != .get)
    #expect(!method.isSafe)
    #expect(!method.isIdempotent)
    #expect(HTTPMethod("GET") == HTTPMethod(rawValue: "GET"))
  }

  @Test(arguments: ["", " ", "GET ", "GE T", "GET\r\n", "GET\r\nX: y", "G\0T", "GÉT", "GET/", "a,b", "(x)"])
  func `a name that is not a token is kept but invalid`(spelling: String) {
    #expect(HTTPMethod(spelling).rawValue == spelling)
    #expect(!HTTPMethod(spelling).isValid)
  }
}
