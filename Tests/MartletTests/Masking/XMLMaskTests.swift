import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct XMLMaskTests {
  /// The placeholder for a hidden body.
  private static let hidden = "not shown"

  private static func masked(_ text: String, _ type: String, _ redaction: Redaction = .standard) -> String {
    BodyMask.masked(Data(text.utf8), contentType: type, redaction).map { String(decoding: $0, as: UTF8.self) } ?? hidden
  }

  @Test(
    arguments: [
      (
        "<user><name>Ada</name><password>canary</password></user>",
        "<user><name>Ada</name><password>***</password></user>"
      ),
      (
        "<a><wsse:Password Type='t'>canary</wsse:Password>b</a>",
        "<a><wsse:Password Type='***'>***</wsse:Password>b</a>"
      ),
      (
        "<credentials> <user>canary</user><x/><![CDATA[canary <b> canary]]></credentials>",
        "<credentials> <user>***</user><x/><![CDATA[***]]></credentials>"
      ),
      ("<token><token>canary</token>canary</token>", "<token><token>***</token>***</token>"),
      (#"<add key="ApiKey" value="canary"/>"#, #"<add key="ApiKey" value="***"/>"#),
      (#"<add value='canary' name='ApiKey'/>"#, #"<add value='***' name='ApiKey'/>"#),
      (#"<add key="canary"/>"#, #"<add key="***"/>"#), ("<token/>", "<token/>"),
      (#"<password value="canary"/>"#, #"<password value="***"/>"#),
      (#"<session id="canary"><user>ada</user></session>"#, #"<session id="***"><user>***</user></session>"#),
      (#"<credentials><user login="canary"/></credentials>"#, #"<credentials><user login="***"/></credentials>"#),
      (
        #"<meta-data android:name="API_KEY" android:value="canary"/>"#,
        #"<meta-data android:name="API_KEY" android:value="***"/>"#
      ),
      (#"<string name="api_key">canary</string>"#, #"<string name="api_key">***</string>"#),
      (#"<a data-pwd="canary" href="/?n=1&amp;token=canary"/>"#, #"<a data-pwd="***" href="/?n=1&amp;token=***"/>"#),
      // Elements that contain the name of another element: property lists, XML-RPC.
      (
        "<dict><key>n</key><integer>1</integer><key>password</key><string>canary</string></dict>",
        "<dict><key>n</key><integer>***</integer><key>password</key><string>***</string></dict>"
      ),
      (
        "<member><name>password</name><value><string>canary</string></value></member>",
        "<member><name>password</name><value><string>***</string></value></member>"
      ),
      ("<p><value>canary</value><name>pwd</name></p>", "<p><value>***</value><name>pwd</name></p>"),
      ("<r><![CDATA[<password>canary</password>]]></r>", "<r><![CDATA[***]]></r>"),
      ("<r>{&quot;password&quot;:&quot;canary&quot;}</r>", "<r>{&quot;password&quot;:&quot;***&quot;}</r>"),
      ("<token><!-- canary --><?x canary?>canary</token>", "<token><!-- *** --><?***?>***</token>"),
      (#"<add name="https://u:canary@h/?token=canary" b='1'/>"#, #"<add name="https://h/?token=***" b='***'/>"#),
      ("<r><!-- password: canary -->b</r>", "<r><!--***-->b</r>"), ("<r><?x canary?>b</r>", "<r><?***?>b</r>"),
      // Not secret.
      ("<a><Key>a.jpg</Key><Code>200</Code></a>", "<a><Key>a.jpg</Key><Code>200</Code></a>"),
      ("<isPasswordSet>true</isPasswordSet>", "<isPasswordSet>true</isPasswordSet>"),
      ("<?xml version='1.0'?>\n<!-- x --><a>b &lt; c</a>\n", "<?xml version='1.0'?>\n<!-- x --><a>b &lt; c</a>\n"),
      ("<!DOCTYPE a><a title='x'/>", "<!DOCTYPE a><a title='x'/>"),
      // Not well-formed.
      ("<secret>canary", hidden), ("<a><b>canary</a></b>", hidden), ("<a b=canary/>", hidden),
      ("<a>canary</a><b/>", hidden),
      ("<a b='<'>canary</a>", hidden), ("<!DOCTYPE a [<!ENTITY b 'canary'>]><a>&b;</a>", hidden),
      ("<a>&canary;</a>", hidden),
      ("canary", hidden), ("<a", hidden), ("<a>canary<![CDATA[x</a>", hidden), ("<a b='c'd='e'>canary</a>", hidden),
    ])
  func `masks secrets in well-formed XML and hides other XML`(_ text: String, _ shown: String) {
    for type in ["application/xml", "text/xml", "application/soap+xml"] {
      #expect(Self.masked(text, type) == shown)
    }
    #expect(Self.masked(text, "text/xml", .revealingSecrets) == text)
  }

  @Test func `masks names that the program adds`() {
    let redaction = Redaction.revealingSecrets.masking(queryItems: ["pet", "Key"])

    #expect(
      Self.masked("<a><pet>canary</pet><Key>a</Key><password>b</password></a>", "text/xml", redaction)
        == "<a><pet>***</pet><Key>***</Key><password>b</password></a>")
  }

  @Test func `a number stays a number if the result must be decodable`() {
    let text = Data("<a><sessionTimeout>30</sessionTimeout><token>x</token></a>".utf8)
    #expect(
      BodyMask.masked(text, contentType: "text/xml", .standard, keepsTypes: true)
        == Array("<a><sessionTimeout>0</sessionTimeout><token>***</token></a>".utf8))
  }

  @Test func `masks any octets without trapping, and loses none if nothing is secret`() {
    var generator = SeededGenerator(seed: 7)
    let parts = [
      "<", ">", "/", "=", "\"", "'", "a", " ", "<![CDATA[", "]]>", "<a b='", "</a>", "<a>", "\u{0}", "é", "&lt;",
      "token",
    ]
    for _ in 0..<2_000 {
      let text = "<a>" + (0..<12).map { _ in parts.randomElement(using: &generator) ?? "" }.joined() + "</a>"
      var mask = XMLMask(Array(text.utf8), .revealingSecrets)
      if let masked = mask.masked() { #expect(masked == Array(text.utf8)) }
      var standard = XMLMask(Array(text.utf8), .standard)
      _ = standard.masked()
    }
  }
}
