import Foundation
import TestSupport

/// A generated document that contains a secret, with a common program's syntax and escapes.
struct SecretDocument: CustomStringConvertible {
  /// The canary: every secret contains it, and none of its prefixes occurs elsewhere.
  static let canary = "kqzwxjv"
  /// Returns whether a text shows the canary, or a recognizable prefix of it.
  static func leaks(_ text: some StringProtocol) -> Bool { text.contains(canary.prefix(4)) }

  var text: String
  var type: String?
  /// Whether the text makes sense outside of a body, such as in a header field.
  var isText = false

  var description: String { "\(type ?? "no type"): \(text)" }

  private static let names = ["password", "access_token", "api-key", "clientSecret", "session_id", "pwd", "csrfToken"]
  private static let marks = [
    "", ";", "&", "=", " ", "\"", "'", "<", ">", "/", "+", "\\", "%", ",", "}", "]", "@", "#", "é", ":", "\n", "%26",
    "&amp;",
    "\\u0026",
  ]

  /// Creates a random document; half of the documents are truncated at a random position.
  init(using generator: inout SeededGenerator) {
    let name = Self.names.randomElement(using: &generator) ?? "password"
    let mark = Self.marks.randomElement(using: &generator) ?? ""
    let secret = "ab\(mark)\(Self.canary)"
    let shapes = [Self.json, Self.line, Self.json, Self.form, Self.markup, Self.script]
    let shape = Int.random(in: shapes.indices, using: &generator)
    (text, type) = shapes[shape](name, secret, &generator)
    isText = shape < 2
    guard Bool.random(using: &generator) else { return }
    let count = Int.random(in: 0...text.unicodeScalars.count, using: &generator)
    text = String(String.UnicodeScalarView(text.unicodeScalars.prefix(count)))
  }

  private typealias Shape = (String, String, inout SeededGenerator) -> (String, String?)

  // MARK: Syntaxes

  private static func json(
    _ name: String, _ secret: String, _ generator: inout SeededGenerator
  ) -> (String, String?) {
    let quote = quotes.randomElement(using: &generator) ?? Self.plain
    let encode = urls.randomElement(using: &generator) ?? percent
    let url = "https://host/cb?page=1&\(name)=\(encode(secret))&n=2"
    let value = quote(secret)
    let login = userinfo(secret, &generator)
    let pair = "{\"user\":\"ada\",\"\(name)\":\(value),\"n\":1}"
    let documents = [
      pair, "[\(pair),\(pair)]", "{\"list\":[{\"name\":\"\(name)\",\"value\":\(value)}],\"n\":1}",
      "[{\"value\":\(value),\"n\":1,\"key\":\"\(name)\"}]", "{\"next\":\(quote(url))}",
      "{\"proxy\":\(quote("http://ada:\(percent(secret))@host:80/"))}", "{\"payload\":\(quote(pair))}",
      "{\"payload\":\(quote("{\"a\":\(quote(pair))}"))}",
      "{\"body\":\(quote("user=ada&\(name)=\(encode(secret))&n=1"))}",
      "{\"headers\":[[\"Accept\",\"*/*\"],[\"Authorization\",\(quote("Bearer \(secret)"))]]}",
      "{\"\(name)\":{\"a\":[\(value),1]},\"n\":1}", "\(pair)\n\(pair)\n",
      "{\"xml\":\(quote("<a><\(name)>\(entities(secret))</\(name)></a>"))}",
      "{\"html\":\(quote("<input name=\"\(name)\" value=\"\(entities(secret))\">"))}",
      "{ \"\(name)\" : \(value) ,\n \"n\" : [ 1 ] }", "{\"\(escapedName(name))\":\(value)}",
      "{\"log\":\(quote("user ada \(name): \(secret.replacing("\n", with: " "))"))}",
      "{\"url\":\(quote(login)),\"n\":1}", "[\(quote("GET \"\(login)\" 200"))]",
    ]
    let types = ["application/json", "application/json", "application/problem+json", "text/plain", nil]
    return (
      documents.randomElement(using: &generator) ?? "", types.randomElement(using: &generator) ?? nil
    )
  }

  private static func form(
    _ name: String, _ secret: String, _ generator: inout SeededGenerator
  ) -> (String, String?) {
    let encode = urls.randomElement(using: &generator) ?? percent
    let quote = quotes.randomElement(using: &generator) ?? plain
    let value = encode(secret)
    let login = userinfo(secret, &generator)
    let raw = secret.replacing("&", with: "%26").replacing("\n", with: " ")
    let documents = [
      "user=ada&\(name)=\(value)&n=1", "\(name)=\(value)", "a=1;\(name)=\(value)&n=1", "[user][\(name)]=\(value)&n=1",
      "user[\(name)]=\(value)", "payload=\(encode("{\"\(name)\":\(quote(secret))}"))&n=1",
      "payload=\(encode("[{\"value\":\(quote(secret)),\"name\":\"\(name)\"}]"))&n=1",
      "next=\(encode("https://host/cb?\(name)=\(encode(secret))&n=1"))&n=1", "user=ada&\(name)=\(raw)",
      "{\"\(name)\":\(quote(secret)),\"n\":1}", "url=\(encode("http://ada:\(percent(secret))@host/"))",
      "payload={\"a\":\"b&c\",\"\(name)\":\(quote(secret))}&n=1", "url=\(encode(login))&n=1",
      "n=1&next=\(encode("https://host/?to=\(encode(login))&n=1"))",
    ]
    return (documents.randomElement(using: &generator) ?? "", "application/x-www-form-urlencoded")
  }

  private static func markup(
    _ name: String, _ secret: String, _ generator: inout SeededGenerator
  ) -> (String, String?) {
    let value = entities(secret)
    let login = userinfo(secret, &generator)
    let xml = [
      "<user><name>Ada</name><\(name)>\(value)</\(name)></user>",
      "<plist><dict><key>user</key><string>ada</string><key>\(name)</key><string>\(value)</string></dict></plist>",
      "<struct><member><name>\(name)</name><value><string>\(value)</string></value></member></struct>",
      "<param><value>\(value)</value><name>\(name)</name></param>", "<add key=\"\(name)\" value=\"\(value)\"/>",
      "<a><add value='\(value)' name='\(name)'/></a>", "<a \(name)=\"\(value)\">x</a>",
      "<u><\(name)><![CDATA[\(secret)]]></\(name)></u>", "<wsse:\(name) Type='t'>\(value)</wsse:\(name)>",
      "<r><url>https://host/?n=1&amp;\(name)=\(percent(secret))</url></r>",
      "<r><!-- \(name)=\(secret.replacing("-", with: "")) --><a>b</a></r>",
      "<r><![CDATA[<\(name)>\(value)</\(name)>]]></r>", "<\(name)><a><b c=\"\(value)\"/></a></\(name)>",
      "<r><url>\(entities(login))</url></r>", "<r url=\"\(entities(login))\" n='1'/>",
    ]
    let html = [
      "<!DOCTYPE html><form><input type=hidden name=\"\(name)\" value=\"\(value)\"></form>",
      "<meta content='\(value)' name='\(name)'><p>Hello", "<div data-\(name)=\"\(value)\">x</div>",
      "<script>var \(name) = \(plain(secret));</script>", "<p>1 < 2</p><input value=\"\(value)\" id=\(name)>",
      "<a href=\"/x?n=1&amp;\(name)=\(percent(secret))\">x</a>", "<a href=\"\(entities(login))\">x</a>",
      "<script type=\"application/json\">{\"\(name)\":\(java(secret))}</script>",
    ]
    let isXML = Bool.random(using: &generator)
    let types = isXML ? ["application/xml", "text/xml", "application/soap+xml", nil, "text/plain"] : ["text/html"]
    return ((isXML ? xml : html).randomElement(using: &generator) ?? "", types.randomElement(using: &generator) ?? nil)
  }

  private static func script(
    _ name: String, _ secret: String, _ generator: inout SeededGenerator
  ) -> (String, String?) {
    let word = name.replacing("-", with: "_")
    let documents = [
      "const config = { user: 'ada', \(word): \(plain(secret)) };", "window[\"\(name)\"] = \(java(secret));",
      "set('\(name)', \(plain(secret)));", "// \(word)\nf(\(plain(secret)))", "x.\(word)=\(go(secret))",
    ]
    return (
      documents.randomElement(using: &generator) ?? "",
      ["application/javascript", "text/javascript", "text/css", "text/csv"].randomElement(using: &generator)
    )
  }

  private static func line(
    _ name: String, _ secret: String, _ generator: inout SeededGenerator
  ) -> (String, String?) {
    let quote = quotes.randomElement(using: &generator) ?? plain
    let encode = urls.randomElement(using: &generator) ?? percent
    let pair = "{\"\(name)\":\(quote(secret)),\"n\":1}"
    let word = secret.filter { !" \n\"<>&".contains($0) }
    let login = userinfo(secret, &generator)
    let flat = secret.replacing("\n", with: " ")
    let documents = [
      "2026-11-28 INFO user=ada \(name)=\(word) n=1", "a 5\" disk \(pair)\n", "INFO [main] body=\(pair) in 5 ms",
      "> Authorization: Bearer \(flat)\n> Accept: */*", "GET https://ada:\(percent(secret))@host/x 200",
      "see https://host/x?n=1&\(name)=\(percent(secret)), please", "'\(name)': \(plain(secret)), 'n': 1",
      ":\(name) => \(plain(secret))", String(quote("sent \(pair)").dropFirst()), "data: \(pair)\n\n",
      "body \(encode("user=ada&\(name)=\(encode(secret))&n=1")) sent", "body \(encode(pair)) sent",
      "\(name): \(flat)", "me\":\"\(name)\",\"value\":\(quote(secret))}]",
      "url=\(encode("https://host/?\(name)=\(encode(secret))&n=1")) ok", "a=1;\(name)=\(word);n=1",
      "msg=\(go("{\"url\":\(java("https://h/?\(name)=\(percent(secret))&n=1"))}"))",
      "GET /x;\(name)=\(percent(secret))/y 200", "GET \(login) 200", "a proxy=\(login) n=1", "GET \"\(login)\" 200",
      "<\(login)>; rel=next", "of '\(login)', 'n': 1", "[x](\(login)) `\(login)`", "open \(login), \(login). \(login)…",
      login, "body \(encode("url=\(encode(login))&n=1")) sent", "sent \(quote("GET \"\(login)\" 200"))",
    ]
    let types = ["text/plain", "text/plain; charset=utf-8", "text/event-stream", nil]
    return (documents.randomElement(using: &generator) ?? "", types.randomElement(using: &generator) ?? nil)
  }

  /// Returns a URL with a secret in its userinfo; half of the URLs are truncated.
  private static func userinfo(_ secret: String, _ generator: inout SeededGenerator) -> String {
    let password = percent(secret)
    // Userinfo ends at these characters, so its rest cannot be recognized without the `@`.
    let raw = secret.filter { !" \n\"<>@".contains($0) }
    // A user name is recognized only by its shape.
    let token = "q7Xk2Pz9Lm4Tb8Rv1Nc6\(canary)"
    let urls = [
      "https://ada:\(password)@host:80/x", "HTTPS://ADA:\(password)@[::1]:80/", "redis://:\(password)@host",
      "postgres+ssl://a.b%40c:\(password)@host/db", "//ada:\(password)@host/x", "https:///ada:\(password)@host/x",
      "https://ada%3A\(password)@host/", "http://[::1]:\(password)@host", "http://[ada:\(password)@host",
      "https://ada:123456\(password)@host", "https://ada:\(raw)@host/x", "https://\(token)@host/x",
      "https://\(token):x-oauth-basic@host/", "https://oauth2:\(token)@host/",
      "https://ada@corp.test:\(password)@host/x",
    ]
    let url = urls.randomElement(using: &generator) ?? ""
    return Bool.random(using: &generator) ? url : String(url.prefix(Int.random(in: 0...url.count, using: &generator)))
  }

  // MARK: Escapes

  private static func quoted(_ text: String, _ escape: (Unicode.Scalar) -> String?) -> String {
    let content = text.unicodeScalars.map { scalar in
      if let escaped = escape(scalar) { return escaped }
      return switch scalar {
      case "\"": "\\\""
      case "\\": "\\\\"
      case "\n": "\\n"
      default: String(scalar)
      }
    }
    return "\"\(content.joined())\""
  }

  private static func unicode(_ scalar: Unicode.Scalar) -> String {
    String(scalar).utf16.map {
      "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16)
    }
    .joined()
  }

  private static func plain(_ text: String) -> String { quoted(text) { _ in nil } }
  private static func php(_ text: String) -> String {
    quoted(text) { $0 == "/" ? "\\/" : $0.isASCII ? nil : unicode($0) }
  }
  private static func go(_ text: String) -> String {
    quoted(text) { "<>&".unicodeScalars.contains($0) ? unicode($0) : nil }
  }
  private static func java(_ text: String) -> String {
    quoted(text) { "<>&='".unicodeScalars.contains($0) ? unicode($0) : nil }
  }
  private static func python(_ text: String) -> String { quoted(text) { $0.isASCII ? nil : unicode($0) } }
  private static func net(_ text: String) -> String {
    quoted(text) { "\"<>&+'".unicodeScalars.contains($0) ? unicode($0) : nil }
  }
  private static let quotes = [plain, php, go, java, python, net]

  private static func percent(_ text: String, keeping kept: String, space: String) -> String {
    text.utf8.map { octet in
      let scalar = Unicode.Scalar(octet)
      if octet == 0x20 { return space }
      if octet < 0x80,
        scalar.properties.isAlphabetic || (0x30...0x39).contains(octet) || kept.unicodeScalars.contains(scalar)
      {
        return String(scalar)
      }
      return (octet < 16 ? "%0" : "%") + String(octet, radix: 16, uppercase: true)
    }.joined()
  }

  private static func percent(_ text: String) -> String { percent(text, keeping: "-._~", space: "%20") }
  private static func script(_ text: String) -> String { percent(text, keeping: "-._~!*'()", space: "%20") }
  private static func html(_ text: String) -> String { percent(text, keeping: "-._*", space: "+") }
  private static let urls = [percent(_:), script(_:), html(_:)]

  private static func entities(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
  }

  private static func escapedName(_ name: String) -> String {
    name.unicodeScalars.enumerated().map { $0.isMultiple(of: 3) ? unicode($1) : String($1) }.joined()
  }
}
