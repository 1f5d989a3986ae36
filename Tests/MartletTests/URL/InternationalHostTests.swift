#if os(Linux)
  import CMartletShim
  import Foundation
  import Testing

  @testable import Martlet

  /// Programs with and without Foundation accept the same international host names.
  @Suite struct InternationalHostTests {
    @Test(
      .enabled(if: martlet_idn_is_usable()),
      arguments: [
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.example", "xn--bcher-kva.example"),
        ("faß.de", "xn--fa-hia.de"), ("例え.jp", "xn--r8jz45g.jp"), ("日本。jp", "xn--wgv71a.jp"),
        ("ｅxample.com", "example.com"), ("أهلا.com", "xn--igbi0gl.com"), ("a\u{AD}b.com", "ab.com"),
        ("-ü.de", nil), ("ü-.de", nil), ("xn--ü.de", nil), ("a\u{200D}b.de", nil), ("1ü.٠.com", nil),
      ] as [(String, String?)])
    func `libidn2 maps a name as Foundation does`(name: String, ascii: String?) throws {
      #expect(URLHost.mappedByLibrary(name) == ascii)
      #expect((try? AbsoluteURL.parse("http://\(name)/"))?.host == ascii)
    }
  }
#endif
