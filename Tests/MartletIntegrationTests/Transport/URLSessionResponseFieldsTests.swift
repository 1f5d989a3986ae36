#if canImport(Darwin) || URLSession
  import TestSupport
  import Testing

  @testable import Martlet

  @Suite(.hangLimit) struct URLSessionResponseFieldsTests {
    @Test(arguments: [
      ("", []), ("a=1", ["a=1"]), ("a=1, b=2", ["a=1", "b=2"]),
      ("a=1; Path=/, b=2; Secure", ["a=1; Path=/", "b=2; Secure"]),
      (
        "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT, b=2; expires=Wed, 21-Oct-26 07:28:00 GMT; Path=/",
        ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2; expires=Wed, 21-Oct-26 07:28:00 GMT; Path=/"]
      ),
      ("a=1,b=2", ["a=1,b=2"]), ("a=x, y", ["a=x, y"]), ("a=\"x, y\", b=2", ["a=\"x, y\"", "b=2"]),
      ("a=1, , b=2", ["a=1, ", "b=2"].map { $0 == "a=1, " ? "a=1," : $0 }),
      ("😀😀=a, é=b", ["😀😀=a", "é=b"]), (", =x, a=", [", =x", "a="]), ("a=1,", ["a=1,"]), ("a=1, ", ["a=1,"]),
      ("a=b=c, d==", ["a=b=c", "d=="]), ("a=1, b=2, c=3, d=4", ["a=1", "b=2", "c=3", "d=4"]),
    ])
    func `splits joined Set-Cookie lines`(_ joined: String, _ lines: [String]) {
      #expect(ResponseFields.splitCookies(joined) == lines)
    }

    @Test func `splits a long joined line`() {
      let joined = String(repeating: ", a", count: 100_000) + "=1"

      let lines = ResponseFields.splitCookies(joined)

      #expect(lines.count == 2)
    }
  }
#endif
