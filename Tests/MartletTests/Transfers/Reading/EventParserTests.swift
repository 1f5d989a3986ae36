import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct EventParserTests {
  private static func events(
    _ pieces: [Data], id: String = "", upTo limit: Int = 1 << 20
  ) throws -> [ServerSentEvents.Event] {
    var parser = EventParser(lastEventID: id, upTo: limit)
    var events: [ServerSentEvents.Event] = []
    for piece in pieces {
      parser.push(piece)
      while let event = try parser.next() { events.append(event) }
    }
    return events
  }

  /// Streams and the events that the standard specifies for them, including its own examples with other texts.
  static let streams: [(String, [ServerSentEvents.Event])] = [
    ("", []), ("\n\n\n", []),
    // An event with three lines of data.
    ("data: OAK\ndata: +4\ndata: 12\n\n", [ServerSentEvents.Event(data: "OAK\n+4\n12")]),
    // A comment, an identifier that is set, an identifier that is cleared, and an unfinished event.
    (
      ": just a test\n\ndata: one\nid: 1\n\ndata:two\nid\n\ndata:  three\n",
      [ServerSentEvents.Event(id: "1", data: "one"), ServerSentEvents.Event(data: "two")]
    ),
    // Events with empty data: the second contains an empty line, and the third is unfinished.
    ("data\n\ndata\ndata\n\ndata:\n", [ServerSentEvents.Event(data: ""), ServerSentEvents.Event(data: "\n")]),
    // One space after the colon is dropped.
    ("data:x\n\ndata: x\n\ndata:  x\n\n", ["x", "x", " x"].map { ServerSentEvents.Event(data: $0) }),
    // Types.
    (
      "event: add\ndata: 73\n\nevent: remove\ndata: 21\n\ndata: plain\n\nevent\ndata: 2\n\n",
      [
        ServerSentEvents.Event(type: "add", data: "73"), ServerSentEvents.Event(type: "remove", data: "21"),
        ServerSentEvents.Event(data: "plain"), ServerSentEvents.Event(data: "2"),
      ]
    ),
    // An event without data is dropped with its type, but its identifier is kept.
    ("event: x\nid: 7\n\ndata: y\n\n", [ServerSentEvents.Event(id: "7", data: "y")]),
    (
      "id: 1\ndata: a\n\ndata: b\n\n",
      [ServerSentEvents.Event(id: "1", data: "a"), ServerSentEvents.Event(id: "1", data: "b")]
    ),
    // An identifier that contains NUL is ignored.
    ("id: 1\ndata: a\n\nid: 2\u{0}\ndata: b\n\n", ["a", "b"].map { ServerSentEvents.Event(id: "1", data: $0) }),
    // Unknown fields are ignored; names are case-sensitive.
    ("Data: a\nfoo: b\n data: c\ndata : d\ndata: e\n\n", [ServerSentEvents.Event(data: "e")]),
    (": :\n:\n::data\ndata::a:b\n\n", [ServerSentEvents.Event(data: ":a:b")]),
    // One byte order mark at the start of the stream is dropped.
    ("\u{FEFF}data: a\n\n", [ServerSentEvents.Event(data: "a")]), ("\u{FEFF}\u{FEFF}data: a\n\n", []),
    ("data: a\n\n\u{FEFF}data: b\n\n", [ServerSentEvents.Event(data: "a")]),
    // Text.
    ("data: gr\u{FC}\u{DF}e \u{1F600}\u{2028}\n\n", [ServerSentEvents.Event(data: "grüße \u{1F600}\u{2028}")]),
    // Retry delays.
    (
      "retry: 1500\ndata: a\n\ndata: b\n\nretry: 1s\ndata: c\n\nretry\ndata: d\n\nretry: -1\ndata: e\n\n",
      [ServerSentEvents.Event(data: "a", retry: .milliseconds(1500))]
        + ["b", "c", "d", "e"].map { ServerSentEvents.Event(data: $0) }
    ),
    ("retry: 99999999999999999999999\ndata: a\n\n", [ServerSentEvents.Event(data: "a", retry: .seconds(86400))]),
  ]

  @Test(arguments: streams, ["\n", "\r", "\r\n"])
  func `parses streams as the standard requires, regardless of chunk boundaries`(
    stream: (text: String, events: [ServerSentEvents.Event]), end: String
  ) throws {
    let bytes = Data(stream.text.replacing("\n", with: end).utf8)

    for pieces in ResponseLinesTests.cuts(bytes) {
      #expect(try Self.events(pieces) == stream.events, "\(pieces.map { String(decoding: $0, as: UTF8.self) })")
    }
  }

  @Test func `accepts mixed line endings in one stream`() throws {
    let bytes = Data("data: a\rdata: b\r\ndata: c\n\r\ndata: d\n\rdata: e\r\r\n".utf8)

    for pieces in ResponseLinesTests.cuts(bytes) {
      #expect(try Self.events(pieces) == ["a\nb\nc", "d", "e"].map { ServerSentEvents.Event(data: $0) })
    }
  }

  @Test func `emits an event at the blank line, even if that ends with CR`() throws {
    #expect(try Self.events([Data("data: a\r\r".utf8)]).count == 1)
    #expect(try Self.events([Data("data: a\r\n\r".utf8)]).count == 1)
  }

  @Test func `an identifier takes effect at the blank line and persists across streams`() throws {
    var parser = EventParser(lastEventID: "0", upTo: 1000)

    parser.push(Data("data: x\n\nid: 1\n".utf8))
    let event = try parser.next()
    _ = try parser.next()

    #expect(event?.id == "0")
    #expect(parser.lastEventID == "0")
    parser.push(Data("\n".utf8))
    _ = try parser.next()
    #expect(parser.lastEventID == "1")
  }

  @Test func `rejects an oversized event on one line or on many`() throws {
    let long = String(repeating: "x", count: 94)
    #expect(try Self.events([Data("data: \(long)\n\n".utf8)], upTo: 100).count == 1)
    for text in ["data: \(long)y", "data: \(long)\ndata: 123456\n", String(repeating: "data\n", count: 102)] {
      let error = #expect(throws: HTTPError.self) { try Self.events([Data(text.utf8)], upTo: 100) }
      #expect(error?.kind == .bodyTooLarge, "\(text)")
    }
    // The limit applies to each event separately.
    #expect(try Self.events([Data(String(repeating: "data: \(long)\n\n", count: 10).utf8)], upTo: 100).count == 10)
  }

  @Test func `random bytes parse the same regardless of chunk boundaries`() throws {
    var random = SeededGenerator(seed: 20_261_122)
    let words = ["data", ":", " ", "\n", "\r", "\r\n", "id", "event", "retry", "1", "\u{0}", "\u{FEFF}", "é"]
    for _ in 0..<3_000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0..<60, using: &random) {
        if Int.random(in: 0..<8, using: &random) == 0 {
          bytes.append(.random(in: 0...255, using: &random))
        } else {
          bytes += Array((words.randomElement(using: &random) ?? "").utf8)
        }
      }
      let whole = Result { try Self.events([Data(bytes)], upTo: 40) }
      var pieces: [Data] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Int.random(in: 1...7, using: &random)
        pieces.append(Data(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      let cut = Result { try Self.events(pieces, upTo: 40) }
      switch (whole, cut) {
      case (.success(let whole), .success(let cut)):
        #expect(whole == cut, "\(bytes)")
        #expect(whole.allSatisfy { $0.data.unicodeScalars.count + $0.type.unicodeScalars.count <= 40 + 7 }, "\(bytes)")
      case (.failure, .failure): break
      default: Issue.record("pieces make a difference: \(bytes)")
      }
    }
  }

  @Test func `decodes the JSON of an event`() throws {
    struct Delta: Decodable { var text: String }

    #expect(try ServerSentEvents.Event(data: #"{"text":"a"}"#).json(Delta.self).text == "a")
    let error = #expect(throws: HTTPError.self) { try ServerSentEvents.Event(data: "secret").json(Delta.self) }
    #expect(error?.kind == .decoding && error?.description.contains("secret") == false)
  }
}
