import Foundation
import Testing

@testable import Martlet

/// What masks secrets looks at each octet a few times, whatever a peer has made of them.
@Suite struct MaskingWorkTests {
  private static func repeated(_ text: String) -> [UInt8] {
    Array(String(repeating: text, count: 1 + (32 << 10) / text.utf8.count).utf8)
  }

  @Test(arguments: [
    #""tokens":1"#, #""tokens":1{"#, #""token":[{"#, #""token":true"#, #""token": "#, #""token":"#, #""token":,"#, "\"",
    #""""#, #"\""#, #""\u0061":"#, #"{"a":1,"#, #""a" "#, "{", " ", #""token" :1 "#, #""key":1,"#,
    "\"\n", #""\":"#, #""a\":1","#, #"\\\":"#,
  ])
  func `masking JSON takes linear work`(_ text: String) {
    let bytes = Self.repeated(text)
    for beginning in ["", #""token":"#, #""token":{"#, #"""#] {
      var mask = BodyMask(Array(beginning.utf8) + bytes, .standard)

      _ = mask.maskMembers()

      #expect(mask.steps <= 8 * (bytes.count + beginning.utf8.count), "\(beginning)")
    }
  }

  @Test(arguments: ["a=", "&", "a=1&", "token=1&", "token", "=", "%", "%41", ";", "a=%7B&", "a=%7B%22:"])
  func `masking forms takes linear work`(_ text: String) {
    let bytes = Self.repeated(text)
    var mask = BodyMask(bytes, .standard)

    _ = mask.maskForm()

    #expect(mask.steps <= 8 * bytes.count)
  }

  @Test(arguments: [
    "=", "a=", "a =", "= ", "token=", "token=\"", "token= ", "a", "a ", " ", "://", "://a@", "://a", "http://a@b@", "@",
    "token=a=", "?a=", "%41=", "://@:", "/", "authoriauthoria=", "sessiosessio", "token=abc def = ",
  ])
  func `masking text takes linear work`(_ text: String) {
    let bytes = Self.repeated(text)
    for redaction in [Redaction.standard, .strict] {
      var masker = TextMasker(bytes, redaction)

      _ = masker.masked()

      #expect(masker.steps <= 8 * bytes.count)
    }
  }

  @Test func `finds a word at any position, even after the beginning of another word`() {
    let words = ["token", "secret", "session", "authkey", "ken"]
    let finder = WordFinder(words)

    for word in words {
      for start in ["", "x", "se", "sess", "tok", "autho", "0", "é", "sessiosecre"] {
        #expect(finder.finds(in: Array("\(start)\(word)x".utf8)), "\(start)\(word)")
      }
    }
    for text in ["", "toke", "tokn", "secre", "sessio", "secsessio", "TOKE", "to-ke n"] {
      #expect(!finder.finds(in: Array(text.utf8)), "\(text)")
    }
  }
}
