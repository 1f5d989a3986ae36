import Foundation
import Testing

@testable import Martlet

/// Masking reads each octet only a few times, whatever a peer sends.
@Suite struct MaskingWorkTests {
  private static func repeated(_ text: String) -> [UInt8] {
    Array(String(repeating: text, count: 1 + (8 << 10) / text.utf8.count).utf8)
  }

  @Test(arguments: [
    #""tokens":1"#, #"{"tokens":1"#, #"{"token":[{"#, #"{"token":true,"#, #"[{"token": ""#, #"{"token":"#,
    #""token":,"#, "\"",
    #""","#, #"\""#, #""\u0061","#, #"{"a":1},"#, #""a" "#, "{", " ", #""token" ,1 ,"#, #"{"name":"token","a":["#,
    "\"\n", #""\":"#, #""a\":1","#, #"\\\":"#, "[", #"[""#, "1,", #""=a@//","#, #"["password","#,
  ])
  func `masking JSON takes linear work`(_ text: String) {
    let bytes = Self.repeated(text)
    for beginning in ["", "[", #"{"token":["#, #"{"a":{"token":"#, #"["#] {
      for keepsTypes in [false, true] {
        var mask = JSONMask(Array(beginning.utf8) + bytes, .standard, keepsTypes: keepsTypes)

        _ = mask.document()

        #expect(mask.steps <= 8 * (bytes.count + beginning.utf8.count), "\(beginning)")
        #expect(mask.edits.count <= bytes.count)
      }
    }
  }

  @Test(arguments: [
    "=", "a=", "a =", "= ", "token=", "token=\"", "token= ", "a", "a ", " ", "://", "://a@", "://a", "http://a@b@", "@",
    "token=a=", "?a=", "%41=", "://@:", "/", "authoriauthoria=", "sessiosessio", "token=abc def = ", "[", "{",
    "{\"a\":",
    "[\"a\",", "token:[", "<a ", "<", "<a>", "</a", "a<b", "//a:b/", "//a:b@", "//a/", "%2F%2F", "//%2F", "bearer ",
    "\"token\",",
    "token:{", "\\\\", "%25", "&amp;", "\\\"", "a=%41&", "a=%2541&", "eyJ.", "/a;b=c/", "bot1:", "\\u005c", "{}", "[1,",
  ])
  func `masking text takes linear work`(_ text: String) {
    let bytes = Self.repeated(text)
    for redaction in [Redaction.standard, .strict, .standard.masking(paths: ["/a/{b}"])] {
      for beginning in ["", "{\"token\":", "http://", "token=\"", "<a b=\""] {
        var mask = TextMask(Array(beginning.utf8) + bytes, redaction)

        _ = mask.masked()

        #expect(mask.steps <= 64 * (bytes.count + beginning.utf8.count), "\(beginning)")
      }
    }
  }

  @Test(arguments: [
    "<a>", "</a>", "<a b='c'>", "<a/>", "a", "&amp;", "<!---->", "<a><b>token</b></a>", "<?a?>", "<token>",
  ])
  func `masking XML takes linear work`(_ text: String) {
    let bytes = Array("<a>".utf8) + Self.repeated(text) + Array("</a>".utf8)
    var mask = XMLMask(bytes, .standard)

    _ = mask.masked()

    #expect(mask.steps <= 8 * bytes.count)
  }

  @Test func `finds a word at any position, even after the beginning of another word`() {
    for word in ["token", "secret", "session", "authkey"] {
      for start in ["", "x", "se", "sess", "tok", "autho", "0", "é", "sessiosecre"] {
        #expect(SecretNames.isSecret(field: "\(start)\(word)x"), "\(start)\(word)")
      }
    }
    for text in ["", "toke", "tokn", "secre", "sessio", "secsessio", "TOKE", "to-ke x"] {
      #expect(!SecretNames.isSecret(field: text), "\(text)")
    }
  }
}
