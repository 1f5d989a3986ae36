import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct MultipartFormTests {
  /// Returns the encoded form as text.
  private static func text(_ form: MultipartForm, boundary: String? = "b") async throws -> String {
    String(decoding: try await sent(.multipart(form, boundary: boundary)).data, as: UTF8.self)
  }

  /// Returns the body and the type that a stub receives.
  private static func sent(_ body: HTTPBody) async throws -> (data: Data, type: String?) {
    let transport = StubTransport { _ in .text("x") }
    _ = try await HTTPClient.onTestClock { $0.transport = transport }.post("http://example.test/", body: body)
    let request = try #require(transport.requests.first)
    guard case .data(let data)? = request.body?.content else { throw HTTPError(.decoding, "no data") }
    return (data, request.headers["Content-Type"])
  }

  /// Sends a body and returns its error, which must be thrown before anything is sent.
  private static func refusal(_ body: HTTPBody) async throws -> HTTPError {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) {
      try await client.post("http://example.test/", body: body)
    }

    #expect(transport.requests.isEmpty)
    #expect(!error.mayHaveReachedServer)
    return error
  }

  private static func form(_ build: (inout MultipartForm) -> Void) -> MultipartForm {
    var form = MultipartForm()
    build(&form)
    return form
  }

  // MARK: Bytes

  @Test func `encodes fields, data and files byte for byte`() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(Data("<p>".utf8), to: "page.html")
    let form = Self.form {
      $0.add("Ben", for: "first_name")
      $0.add(Data([0, 255]), for: "raw", filename: "a.png")
      $0.add(file: file, for: "page", filename: "index.html", type: "text/html; charset=utf-8")
      $0.add(.json([1], encoder: JSONEncoder()), for: "meta")
      $0.add(Data("x".utf8), for: "blob")
    }
    var expected = Data()
    expected += Data("--b\r\nContent-Disposition: form-data; name=\"first_name\"\r\n\r\nBen\r\n".utf8)
    expected += Data("--b\r\nContent-Disposition: form-data; name=\"raw\"; filename=\"a.png\"\r\n".utf8)
    expected += Data("Content-Type: image/png\r\n\r\n".utf8) + Data([0, 255])
    expected += Data("\r\n--b\r\nContent-Disposition: form-data; name=\"page\"; filename=\"index.html\"\r\n".utf8)
    expected += Data("Content-Type: text/html; charset=utf-8\r\n\r\n<p>\r\n".utf8)
    expected += Data("--b\r\nContent-Disposition: form-data; name=\"meta\"\r\n".utf8)
    expected += Data("Content-Type: application/json\r\n\r\n[1]\r\n".utf8)
    expected += Data("--b\r\nContent-Disposition: form-data; name=\"blob\"\r\n".utf8)
    expected += Data("Content-Type: application/octet-stream\r\n\r\nx\r\n--b--\r\n".utf8)

    let body = HTTPBody.multipart(form, boundary: "b")
    let sent = try await Self.sent(body)

    #expect(sent.data == expected)
    #expect(sent.type == "multipart/form-data; boundary=b")
    #expect(body.length == Int64(expected.count))
    #expect(body.isReplayable)
  }

  @Test func `keeps the order and the repetition of fields`() async throws {
    let text = try await Self.text(
      Self.form {
        $0.add("Ben", for: "names")
        $0.add("x", for: "other")
        $0.add("George", for: "names")
      })

    let names = text.matches(of: /name="(\w+)"\r\n\r\n(\w+)/).map { "\($0.1)=\($0.2)" }
    #expect(names == ["names=Ben", "other=x", "names=George"])
  }

  @Test func `a form without parts consists of the closing delimiter`() async throws {
    #expect(try await Self.text(MultipartForm()) == "--b--\r\n")
  }

  @Test func `many small fields are stored as one Data`() async throws {
    let form = Self.form { form in for number in 0..<500 { form.add("v\(number)", for: "n\(number)") } }

    guard case .data = HTTPBody.multipart(form).content else {
      Issue.record("in pieces")
      return
    }
    #expect(try await Self.text(form).matches(of: /name="n\d+"\r\n\r\nv\d+\r\n/).count == 500)
  }

  // MARK: Names

  /// The WHATWG's escaping of multipart names, including line breaks.
  @Test(
    arguments: [
      ("plain", "plain", "plain"), ("a\"b", "a%22b", "a%22b"), ("a\\b", "a\\b", "a\\b"), ("a%22b", "a%22b", "a%22b"),
      ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"), ("a\nb", "a%0D%0Ab", "a%0Ab"), ("a\rb", "a%0D%0Ab", "a%0Db"),
      ("a\n\rb", "a%0D%0A%0D%0Ab", "a%0A%0Db"), ("\r\n\r\n", "%0D%0A%0D%0A", "%0D%0A%0D%0A"), ("", "", ""),
      ("näme ☃ 日本", "näme ☃ 日本", "näme ☃ 日本"), ("e\u{301}", "e\u{301}", "e\u{301}"), ("👩‍👩‍👧", "👩‍👩‍👧", "👩‍👩‍👧"),
      ("a;b=c", "a;b=c", "a;b=c"), ("a'b", "a'b", "a'b"), ("a\tb", "a\tb", "a\tb"),
      ("\"\r\nX-Injected: 1\r\n\r\n--b--", "%22%0D%0AX-Injected: 1%0D%0A%0D%0A%2D-b--", ""),
    ] as [(String, String, String)])
  func `escapes names and filenames as browsers do`(text: String, name: String, filename: String) async throws {
    // The last row tests injection. Its text contains the delimiter `--b`, which is rejected with the boundary `b`.
    let name = name.replacing("%2D-b--", with: "--b--")
    let filename = filename.isEmpty && !text.isEmpty ? name : filename

    let sent = try await Self.text(Self.form { $0.add(Data(), for: text, filename: text, type: "a/b") }, boundary: "zz")

    #expect(
      Array(sent.utf8)
        == Array(
          "--zz\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"\(filename)\"\r\nContent-Type: a/b\r\n\r\n\r\n--zz--\r\n"
            .utf8))
  }

  @Test(
    arguments: [
      ("a\nb", "a\r\nb"), ("a\rb", "a\r\nb"), ("a\r\nb", "a\r\nb"), ("\n\n\r\r", "\r\n\r\n\r\n\r\n"), ("\"", "\""),
    ] as [(String, String)])
  func `normalizes line breaks in text values to CRLF`(value: String, expected: String) async throws {
    let text = try await Self.text(
      Self.form {
        $0.add(value, for: "n")
        // Data is not text.
        $0.add(Data(value.utf8), for: "d")
      })

    #expect(text.contains("name=\"n\"\r\n\r\n\(expected)\r\n--b"))
    #expect(text.contains("octet-stream\r\n\r\n\(value)\r\n--b--"))
  }

  // MARK: Types

  @Test func `derives the media type from the filename extension`() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(Data("x".utf8), to: "picture.JPEG")

    let text = try await Self.text(
      Self.form {
        $0.add(file: file, for: "a")
        $0.add(file: file, for: "b", filename: "x.pdf")
        $0.add(file: file, for: "c", filename: "none")
        $0.add(file: file, for: "d", type: "own/type")
      })

    #expect(
      text.matches(of: /filename="([^"]*)"\r\nContent-Type: ([^\r]*)/).map { "\($0.1) \($0.2)" } == [
        "\(file.lastPathComponent) image/jpeg", "x.pdf application/pdf", "none application/octet-stream",
        "\(file.lastPathComponent) own/type",
      ])
  }

  @Test(
    arguments: [
      "text/plain; x=y\r\nX-Injected: 1", "text/plain;\r\nX-Injected: 1", "text/plain; x=\u{0}", "text/plain; x=é",
      "text/plain\r\nX-Injected: 1", "text/plain\nX: 1", "text/plain\r\n\r\nbody", "", "text", "text/", "text/plä in",
      "a/b\u{0}", "text/é",
    ])
  func `rejects an invalid media type before anything is sent`(type: String) async throws {
    let byData = try await Self.refusal(.multipart { $0.add(Data(), for: "n", filename: "f", type: type) })
    let byBody = try await Self.refusal(.multipart { $0.add(.data(Data(), contentType: type), for: "n") })

    for error in [byData, byBody] {
      #expect(error.kind == .invalidRequest)
      #expect(error.message.contains("is not a media type"))
      #expect(!error.message.contains { $0.isNewline })
    }
  }

  /// Some servers read `name="n\"; filename="; name=evil"` as the name `n"; filename=` and a second name.
  @Test(arguments: ["\\", "n\\", "n\\\\\\"]) func `rejects a name whose trailing backslash would escape the quote`(
    name: String
  )
    async throws
  {
    let error = try await Self.refusal(.multipart { $0.add(Data(), for: name, filename: "; name=evil") })
    #expect(error.kind == .invalidRequest)

    // Without a filename, nothing follows the quote; a second backslash makes the first a literal one.
    #expect(try await Self.text(Self.form { $0.add("x", for: name) }).contains("name=\"\(name)\"\r\n"))
    #expect(
      try await Self.text(Self.form { $0.add(Data(), for: name + "\\", filename: "f\\") })
        .contains("name=\"\(name)\\\"; filename=\"f\\\"\r\n"))
  }

  // MARK: Boundaries

  @Test func `generates random, valid boundaries`() async throws {
    let form = Self.form { $0.add("x", for: "n") }

    let types = (0..<50).compactMap { _ in HTTPBody.multipart(form).contentType }

    #expect(Set(types).count == 50)
    for type in types {
      let boundary = try #require(MediaType(type)?.parameter("boundary"))
      #expect(MultipartSyntax.problem(ofBoundary: boundary) == nil)
      #expect(type == "multipart/form-data; boundary=\(boundary)")
    }
  }

  @Test(arguments: ["a", String(repeating: "x", count: 70), "a b", "'()+_,-./:=?", "0aZ"])
  func `accepts a valid boundary and quotes it if necessary`(boundary: String) async throws {
    let sent = try await Self.sent(.multipart(Self.form { $0.add("x", for: "n") }, boundary: boundary))

    #expect(sent.type.flatMap { MediaType($0) }?.parameter("boundary") == boundary)
    #expect(sent.type?.contains("\"") == boundary.contains { " (),/:=?".contains($0) })
    #expect(String(decoding: sent.data, as: UTF8.self).hasPrefix("--\(boundary)\r\n"))
  }

  @Test(
    arguments: [
      "", "a ", String(repeating: "x", count: 71), "a\r\nb", "a\"b", "a;b", "é", "a\tb", "a@b", "a\u{0}", "a*",
    ])
  func `rejects an invalid boundary`(boundary: String) async throws {
    let error = try await Self.refusal(.multipart(boundary: boundary) { $0.add("x", for: "n") })

    #expect(error.kind == .invalidRequest)
    #expect(error.message.contains("not a boundary"))
  }

  @Test(arguments: [0, 1, 2, 3]) func `rejects a boundary that occurs in a part`(place: Int) async throws {
    let large = Data(repeating: 0x2D, count: 200_000) + Data("--own".utf8) + Data(count: 10)
    let body = HTTPBody.multipart(boundary: "own") {
      switch place {
      case 0: $0.add("x\r\n--own\r\n", for: "n")
      case 1: $0.add("x", for: "--own")
      case 2: $0.add(large, for: "n")
      default: $0.add(.concatenating([.data(Data(count: 70_000)), .data(large)]), for: "n")
      }
    }

    let error = try await Self.refusal(body)

    #expect(error.kind == .invalidRequest)
    #expect(error.message.contains("'own'"))
  }

  @Test func `finds a boundary at any position`() {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      let letters: [UInt8] = [0x2D, 0x61, 0x62]
      let data = Data(
        (0..<Int.random(in: 0...40, using: &random)).compactMap { _ in letters.randomElement(using: &random) })
      let pattern = (0..<Int.random(in: 1...5, using: &random)).compactMap { _ in letters.randomElement(using: &random)
      }

      #expect(
        MultipartSyntax.contains(pattern, in: data) == !data.ranges(of: pattern).isEmpty, "\(pattern) \(Array(data))")
    }
  }

  // MARK: Parts that cannot be sent

  @Test func `a missing file or a folder throws before anything is sent`() async throws {
    let missing = FileManager.default.temporaryDirectory.appending(path: "martlet-missing-\(UUID().uuidString).txt")

    let first = try await Self.refusal(
      .multipart {
        $0.add("x", for: "n")
        $0.add(file: missing, for: "f")
      })
    let second = try await Self.refusal(.multipart { $0.add(file: FileManager.default.temporaryDirectory, for: "f") })
    let third = try await Self.refusal(
      .multipart { $0.add(file: URL(string: "https://a.test/x") ?? missing, for: "f") })

    #expect(first.kind == .fileFailed && first.message.contains(missing.lastPathComponent))
    #expect(second.kind == .fileFailed && second.message.contains("not a regular file"))
    #expect(third.kind == .invalidRequest)
    #expect(HTTPBody.multipart { $0.add(file: missing, for: "f") }.length == nil)
  }

  @Test func `rejects gzipped and invalid parts`() async throws {
    let gzipped = try await Self.refusal(.multipart { $0.add(HTTPBody.text("x").gzipped(), for: "n") })
    let wrong = try await Self.refusal(.multipart { $0.add(.json([Double.infinity]), for: "n") })

    #expect(gzipped.kind == .invalidRequest && gzipped.message.contains("compress the form"))
    #expect(wrong.kind == .invalidRequest && wrong.message.contains("JSON"))
  }

  // MARK: Values

  @Test func `has value semantics and a description without content`() {
    let form = Self.form { $0.add("hunter2", for: "password") }
    var other = form
    other.add("x", for: "n")
    var text = ""
    dump(form, to: &text)

    #expect(form != other)
    #expect(form == Self.form { $0.add("hunter2", for: "password") })
    #expect(!text.contains("hunter2") && !text.contains("password"))
    #expect("\(form)" == "a form of 1 parts")
  }

  @Test func `a form is replayable and has a length only if its streams do`() async throws {
    let once = HTTPBody.multipart {
      $0.add("x", for: "n")
      $0.add(.stream(AsyncStream<Data> { $0.finish() }), for: "s")
    }
    let again = HTTPBody.multipart {
      $0.add(
        .stream(length: 3) {
          AsyncStream {
            $0.yield(Data("abc".utf8)); $0.finish()
          }
        }, for: "s", filename: "s.txt")
    }

    #expect(once.length == nil && !once.isReplayable)
    #expect(again.isReplayable)
    #expect(again.length == Int64(try await Self.sent(again).data.count))
    _ = try await Self.sent(once)
    let used = try await #require(throws: HTTPError.self) { try await Self.sent(once) }
    #expect(used.kind == .bodyNotReplayable)
  }
}
