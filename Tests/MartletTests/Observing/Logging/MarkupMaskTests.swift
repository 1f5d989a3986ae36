import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct MarkupMaskTests {
  private static func masked(_ text: String, _ type: String, _ redaction: Redaction = .standard) -> String {
    String(decoding: BodyMask.masked(Data(text.utf8), contentType: type, redaction), as: UTF8.self)
  }

  @Test(
    arguments: [
      (#"<input name="csrf_token" value="canary">"#, #"<input name="csrf_token" value="***">"#),
      (#"<input type=hidden value='canary' name='_csrf'/>"#, #"<input type=hidden value='***' name='_csrf'/>"#),
      ("<INPUT NAME=authenticity_token VALUE=canary>", "<INPUT NAME=authenticity_token VALUE=***>"),
      (#"<meta content="canary" name="csrf-token"><p>x"#, #"<meta content="***" name="csrf-token"><p>x"#),
      (#"<input id="api-key" value="canary" > y"#, #"<input id="api-key" value="***" > y"#),
      (#"<div data-session-token="canary">x</div>"#, #"<div data-session-token="***">x</div>"#),
      // Not secret.
      (#"<input name="q" value="birds">"#, #"<input name="q" value="birds">"#),
      ("<p>Type <code>martlet demo</code>: 1 < 2</p>", "<p>Type <code>martlet demo</code>: 1 < 2</p>"),
      (#"<input name="token" value="">"#, #"<input name="token" value="">"#),
      // The name may follow where the text ends.
      (#"<input value="canary" na"#, #"<input value="***" na"#),
      (#"<input value="canary"#, #"<input value="***"#),
      // A quote without a second one ends with its tag.
      (#"<a title="x><input name=csrf value=canary>"#, #"<a title="x><input name=csrf value=***>"#),
    ])
  func `masks what attributes of HTML name`(_ text: String, _ shown: String) {
    #expect(Self.masked(text, "text/html; charset=utf-8") == shown)
    #expect(Self.masked(text, "text/html", .revealingSecrets) == text)
  }

  @Test(
    arguments: [
      (
        "<user><name>Ada</name><password>canary</password></user>",
        "<user><name>Ada</name><password>***</password></user>"
      ),
      ("<wsse:Password Type='t'>canary</wsse:Password><a>b</a>", "<wsse:Password Type='t'>***</wsse:Password><a>b</a>"),
      (
        "<credentials> <user>canary</user><x/><![CDATA[canary <b> canary]]></credentials><a>b</a>",
        "<credentials> <user>***</user><x/>***</credentials><a>b</a>"
      ),
      ("<token><token>canary</token>canary</token>b", "<token><token>***</token>***</token>b"),
      (#"<add key="ApiKey" value="canary"/><a>b</a>"#, #"<add key="***" value="***"/><a>b</a>"#),
      ("<token/><a>b</a>", "<token/><a>b</a>"),
      ("<!-- x --><?xml version='1.0'?><a>b</a>", "<!-- x --><?xml version='1.0'?><a>b</a>"),
      ("<secret>canary", "<secret>***"),
      ("<secret><![CDATA[canary", "<secret>***"),
    ])
  func `masks the content of elements of XML`(_ text: String, _ shown: String) {
    for type in ["application/xml", "text/xml", "application/soap+xml"] {
      #expect(Self.masked(text, type) == shown)
    }
    #expect(Self.masked(text, "text/xml", .revealingSecrets) == text)
  }

  @Test func `no beginning of a document shows a secret`() {
    let document = #"<a><input value="canary" name="csrf"/><password id='1'>canary</password></a>"#
    for count in 0...document.utf8.count {
      for type in ["text/html", "text/xml"] where type == "text/xml" || count < 45 {
        let shown = Self.masked(String(decoding: document.utf8.prefix(count), as: UTF8.self), type)
        #expect(!shown.contains("can"), "\(type) \(count)")
      }
    }
  }

  @Test(arguments: [
    "<", "<a ", "<a b=", "<a b=\"", "<a b='", "<a b=\"'", "<![CDATA[", "<a name=token value=x", "<a>", "</a>",
    "<token>",
    "<a b=c>", "=", "\"", "<a \"", "<![CDATA[]]", "<a:token:", "<a/", "< ", "<token><", "</token",
    "<password>x</password>",
  ])
  func `masking takes linear work, and ends`(_ text: String) {
    let bytes = Array(String(repeating: text, count: 1 + (32 << 10) / text.utf8.count).utf8)
    for beginning in ["", "<", "<a b=\"", "<token>", "<a name=token value='"] {
      for isHTML in [true, false] {
        var mask = MarkupMask(Array(beginning.utf8) + bytes, .standard, isHTML: isHTML)

        _ = mask.masked()

        #expect(mask.steps <= 8 * (bytes.count + beginning.utf8.count), "\(beginning)")
      }
    }
  }

  @Test func `any octets are masked without a trap, and none are lost where nothing is secret`() {
    var generator = SeededGenerator(seed: 7)
    let parts = ["<", ">", "/", "=", "\"", "'", "a", " ", "![CDATA[", "]]>", "value", "name", "b:", "\u{0}", "é"]
    for _ in 0..<5_000 {
      let text = (0..<12).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
      var mask = MarkupMask(Array(text.utf8), .revealingSecrets, isHTML: false)
      #expect(mask.masked() == Array(text.utf8))
      var standard = MarkupMask(Array(text.utf8) + Array("<b>".utf8), .standard, isHTML: false)
      if !text.contains("value") {
        #expect(standard.masked() == Array((text + "<b>").utf8))
      } else {
        _ = standard.masked()
      }
    }
  }
}
