#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Forms as two third-party parsers read them.
  @Suite(.needsFormParsers, .hangLimit) struct FormParserTests {
    /// A part and its expected reading.
    private struct Entry {
      var name: String
      var filename: String?
      var type: String?
      var value: Data
      var isText = false
      var isFile = false

      /// The part as WHATWG encodes it; no parser reverses that encoding.
      var expected: FormParsers.Part {
        var value = value
        if isText { value = Data(Self.withCRLF(String(decoding: value, as: UTF8.self)).utf8) }
        return FormParsers.Part(
          name: Self.escaped(Self.withCRLF(name)), filename: filename.map(Self.escaped), type: isText ? nil : type,
          value: value)
      }

      private static func withCRLF(_ text: String) -> String {
        text.replacing("\r\n", with: "\n").replacing("\r", with: "\n").replacing("\n", with: "\r\n")
      }

      private static func escaped(_ text: String) -> String {
        String(
          decoding: text.utf8.flatMap { octet -> [UInt8] in
            switch octet {
            case 0x22: Array("%22".utf8)
            case 0x0D: Array("%0D".utf8)
            case 0x0A: Array("%0A".utf8)
            default: [octet]
            }
          }, as: UTF8.self)
      }
    }

    private static let names = [
      "plain", "", " blanks ", "a\"b", "\"", "\"\"\"", "a\r\nb", "a\nb", "a\rb", "\r\n\r\n", "\r\n--b--\r\n",
      "\"\r\nX-Injected: yes\r\n\r\nbody", "a\"; filename=\"evil.sh", "a;b=c", "a=b; filename=x", "a,b", "a'b", "*",
      "a\tb", "%22", "%0D%0A", "50 %", "näme", "e\u{301}", "日本語", "👩‍👩‍👧‍👦", "\u{FEFF}bom", "\u{202E}rtl", "a\u{2028}b",
      "a\u{85}b", "a\u{0B}b", "a\u{0}b", "a\u{7F}b", "a/b", "../../etc/passwd", "a\\b", "=?utf-8?q?x?=",
      "filename*=UTF-8''x", "name[]", "name[0][x]", String(repeating: "long ", count: 200),
    ]

    private static let values: [Data] = [
      Data(), Data("x".utf8), Data("\r\n".utf8), Data("\r\n--".utf8), Data("--".utf8), Data("\r".utf8), Data("\n".utf8),
      Data("a\r\n\r\nb".utf8), Data((0...255).map { UInt8($0) }), Data("--b\r\n".utf8), Data("\r\n--b--\r\n".utf8),
      Data(repeating: 0x2D, count: 70_000), Data(repeating: 0x0D, count: 70_000), Data("é☃".utf8),
      Data(String(repeating: "line\r\n", count: 20_000).utf8),
    ]

    private static func entries() -> [[Entry]] {
      var forms: [[Entry]] = []
      // Each name is used for a field, for data and for a file, with varying values.
      for (number, name) in names.enumerated() {
        let value = values[number % values.count]
        let other = values[(number + 4) % values.count]
        forms.append([
          Entry(name: name, value: Data(name.utf8), isText: true), Entry(name: "between", value: Data(), isText: true),
          Entry(name: name, filename: name, type: "text/plain; charset=utf-8", value: value),
          Entry(name: "file", filename: name, type: "application/x-own", value: other, isFile: true),
          Entry(name: name, value: Data("again".utf8), isText: true),
        ])
      }
      forms.append((0..<300).map { Entry(name: "n", value: Data("\($0)".utf8), isText: true) })
      forms.append(values.map { Entry(name: "f", filename: "f.bin", type: "application/octet-stream", value: $0) })
      return forms
    }

    private static func form(_ entries: [Entry], in folder: TemporaryFolder) throws -> MultipartForm {
      var form = MultipartForm()
      for entry in entries {
        if entry.isText {
          form.add(String(decoding: entry.value, as: UTF8.self), for: entry.name)
        } else if entry.isFile {
          let file = URL(filePath: folder.path(UUID().uuidString))
          try entry.value.write(to: file)
          form.add(file: file, for: entry.name, filename: entry.filename, type: entry.type)
        } else {
          form.add(entry.value, for: entry.name, filename: entry.filename, type: entry.type)
        }
      }
      return form
    }

    @Test(arguments: Lane.engines)
    func `two third-party parsers read every form correctly`(lane: Lane) async throws {
      let server = try MockServer(.ok())
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let forms = Self.entries()
      let client = lane.client()
      for (number, entries) in forms.enumerated() {
        let form = try Self.form(entries, in: folder)
        // Every fifth form has a boundary that must be quoted.
        let body = HTTPBody.multipart(form, boundary: number % 5 == 4 ? "own boundary (\(number)):=?/,'" : nil)
        _ = try await client.post(RequestTarget(server.url), body: body)
      }
      let requests = server.requests

      let readings = try await FormParsers.read(requests.map { ($0.header("Content-Type") ?? "", $0.body) })

      #expect(forms.count >= 40 && readings.count == forms.count)
      for (number, reading) in readings.enumerated() {
        let expected = forms[number].map(\.expected)
        #expect(reading.werkzeug == expected, "form \(number)")
        #expect(reading.multipart == expected, "form \(number)")
        #expect(requests[number].header("Content-Length") == "\(requests[number].body.count)")
      }
    }
  }
#endif
