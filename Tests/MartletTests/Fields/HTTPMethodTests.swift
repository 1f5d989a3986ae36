import Testing

@testable import Martlet

@Suite struct HTTPMethodTests {
  @Test(arguments: [
    (HTTPMethod.get, "GET", true, true), (.head, "HEAD", true, true), (.options, "OPTIONS", true, true),
    (.trace, "TRACE", true, true), (.put, "PUT", false, true), (.delete, "DELETE", false, true),
    (.post, "POST", false, false), (.patch, "PATCH", false, false), (.connect, "CONNECT", false, false),
    (.query, "QUERY", true, true), ("PROPFIND", "PROPFIND", true, true), ("MKCOL", "MKCOL", false, true),
    ("UNLOCK", "UNLOCK", false, true), ("LOCK", "LOCK", false, false), ("X-OWN", "X-OWN", false, false),
    ("query", "query", false, false),
  ])
  func `classifies methods as safe and as idempotent`(
    method: HTTPMethod, spelling: String, isSafe: Bool, isIdempotent: Bool
  ) {
    #expect(method.rawValue == spelling)
    #expect("\(method)" == spelling)
    #expect(method.isSafe == isSafe)
    #expect(method.isIdempotent == isIdempotent)
    #expect(method.isValid)
  }

  /// The IANA registry of HTTP methods: safe methods, and methods that are only idempotent.
  @Test func `agrees with the IANA registry`() {
    let safe = ["GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE"]
    let idempotent = [
      "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "DELETE", "LABEL", "LINK", "MERGE",
      "MKACTIVITY",
      "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "ORDERPATCH", "PROPPATCH", "PUT", "REBIND",
      "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
    ]
    let neither = ["*", "CONNECT", "LOCK", "PATCH", "POST"]

    for name in safe { #expect(HTTPMethod(name).isSafe && HTTPMethod(name).isIdempotent, "\(name)") }
    for name in idempotent { #expect(!HTTPMethod(name).isSafe && HTTPMethod(name).isIdempotent, "\(name)") }
    for name in neither { #expect(!HTTPMethod(name).isSafe && !HTTPMethod(name).isIdempotent, "\(name)") }
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
