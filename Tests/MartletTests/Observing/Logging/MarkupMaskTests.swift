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
      // `>` is allowed in a value.
      (#"<input value="a>canary" name="csrf">"#, #"<input value="***" name="csrf">"#),
      (#"<input value="a>canary"#, #"<input value="***"#),
      (#"<input name="csrf" value="a>canary"#, #"<input name="csrf" value="***"#),
      // Quotes that do not fit.
      (#"<a title="x><input name="csrf" value="canary">"#, #"<a title="x><input name="csrf" value="***">"#),
      (#"<input value="canary name=csrf><p class="x">"#, #"<input value="***"x">"#),
      (
        #"<script>g("<input name=csrf value=x", {"token":"canary"})</script>"#,
        #"<script>g("<input name=csrf value=***", {"token":"***"})</script>"#
      ),
      (#"<input name="csrf" value=">canary"#, #"<input name="csrf" value="***"#),
      (#"<input value="canary" title="> x"#, #"<input value="***" title="> x"#),
      (#"<iframe srcdoc="<textarea name=csrf>canary"#, #"<iframe srcdoc="<textarea name=csrf>***"#),
      (#"<input name="csrf" value=" ><p>rest"#, #"<input name="csrf" value="***"#),
      // Strings of scripts.
      (
        #"<script>s={"h":"<input name=csrf value=\"canary\">","token":"canary"}</script>"#,
        #"<script>s={"h":"<input name=csrf value=\"***\">","token":"***"}</script>"#
      ),
      (#"<textarea name="csrf"/>canary</textarea>"#, #"<textarea name="csrf"/>***</textarea>"#),
      // Markup in attributes and comments.
      (#"<iframe srcdoc='<input name="csrf" value="canary">'>"#, #"<iframe srcdoc='<input name="csrf" value="***">'>"#),
      ("<!-- <input name=csrf value=canary> -->", "<!-- <input name=csrf value=***> -->"),
      (
        #"<script>//<![CDATA[ </script><input name="csrf" value="canary">"#,
        #"<script>//<![CDATA[ </script><input name="csrf" value="***">"#
      ),
      (
        "<script>for(i=0;i<n;i++)s+='<input name=\"csrf\" value=\"canary\">'</script>",
        "<script>for(i=0;i<n;i++)s+='<input name=\"csrf\" value=\"***\">'</script>"
      ),
      (#"{{ header }}<input name="csrf" value="canary">"#, #"{{ header }}<input name="csrf" value="***">"#),
      (#"<div data-otp="canary" data-pin='canary'>"#, #"<div data-otp="***" data-pin='***'>"#),
      (#"<textarea name="csrf">canary</textarea>b"#, #"<textarea name="csrf">***</textarea>b"#),
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
      (#"<password value="canary"/><a value="b"/>"#, #"<password value="***"/><a value="b"/>"#),
      (#"<session id="canary"><user>ada</user></session>"#, #"<session id="***"><user>***</user></session>"#),
      ("<access_tokens><token>482913</token></access_tokens>", "<access_tokens><token>***</token></access_tokens>"),
      ("<access_tokens>482913", "<access_tokens>***"),
      ("<password>true", "<password>***"),
      (#"<credentials><user login="canary"/></credentials>"#, #"<credentials><user login="***"/></credentials>"#),
      (
        #"<meta-data android:name="API_KEY" android:value="canary"/>"#,
        #"<meta-data android:name="API_KEY" android:value="***"/>"#
      ),
      (#"<string name="api_key">canary</string><a>b</a>"#, #"<string name="api_key">***</string><a>b</a>"#),
      ("<a><!-- <![CDATA[ --><password>canary</password></a>", "<a><!-- <![CDATA[ --><password>***</password></a>"),
      ("<password><!-- </password> -->canary</password>b", "<password>******</password>b"),
      ("<!-- no <password> here --><b>text</b>", "<!-- no <password>***--><b>text</b>"),
      ("<r><![CDATA[<password>canary</password>]]></r>", "<r><![CDATA[<password>***</password>]]></r>"),
      // Not secret.
      ("<Key>a.jpg</Key><Code>200</Code>", "<Key>a.jpg</Key><Code>200</Code>"),
      (
        "<isPasswordSet>true</isPasswordSet><max_tokens> 100 </max_tokens>",
        "<isPasswordSet>true</isPasswordSet><max_tokens> 100 </max_tokens>"
      ),
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

  @Test func `names that the program adds are masked, too`() {
    let redaction = Redaction.revealingSecrets.masking(queryItems: ["pet", "Key"])

    #expect(
      Self.masked("<pet>canary</pet><Key>a</Key><password>b", "text/xml", redaction)
        == "<pet>***</pet><Key>***</Key><password>b")
    #expect(
      Self.masked("<input name=pet value=canary><input value=b", "text/html", redaction)
        == "<input name=pet value=***><input value=b")
  }

  @Test func `a number stays a number where the result is to be decoded`() {
    let text = Data("<a><sessionTimeout>30</sessionTimeout><token>x</token></a>".utf8)
    #expect(
      BodyMask.masked(text, contentType: "text/xml", .standard, keepsTypes: true)
        == Array("<a><sessionTimeout>0</sessionTimeout><token>***</token></a>".utf8))
  }

  @Test func `no beginning of a document shows a secret`() {
    let document = #"<a><input value="canary>canary" name="csrf"/><password id='1'>canary</password></a>"#
    for count in 0...document.utf8.count {
      for type in ["text/html", "text/xml"] where type == "text/xml" || count < 52 {
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
    let bytes = Array(String(repeating: text, count: 1 + (8 << 10) / text.utf8.count).utf8)
    for beginning in ["", "<", "<a b=\"", "<token>", "<!--", "<a name=token value='"] {
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
    for _ in 0..<2_000 {
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
