import MartletBase

/// Parses the bytes of one event stream (WHATWG HTML §9.2.6).
struct EventParser {
  private var splitter: LineSplitter
  private var fields: EventFields

  /// Creates a parser for the beginning of a stream.
  ///
  /// `lastEventID` applies until the server sets another one. `limit` is the maximum number of bytes of an event.
  init(lastEventID: String, upTo limit: Int) {
    splitter = LineSplitter(.any, upTo: limit)
    fields = EventFields(id: lastEventID, limit: limit)
  }

  /// The identifier of the last complete event, even one without content.
  var lastEventID: String { fields.lastEventID }

  /// The reconnection time that the server has set last.
  var pause: Duration? { fields.pause }

  /// Adds bytes, after ``next()`` has returned `nil`.
  mutating func push(_ piece: Data) { splitter.push(piece) }

  /// The next event, or `nil` if more bytes are needed.
  ///
  /// An event without a blank line at the end of the stream is dropped.
  mutating func next() throws -> ServerSentEvents.Event? {
    while let event = try splitter.next({ line in try fields.take(line) }) {
      if let event { return event }
    }
    return nil
  }
}

/// The fields of an event that have been read so far.
private struct EventFields {
  private(set) var lastEventID: String
  private(set) var pause: Duration?
  private let limit: Int
  private var id: String
  private var type = ""
  private var data: [UInt8] = []
  private var retry: Duration?

  init(id: String, limit: Int) {
    lastEventID = id
    self.id = id
    self.limit = limit
  }

  /// Reads a line; returns the event that it completes.
  mutating func take(_ line: UnsafeRawBufferPointer) throws -> ServerSentEvents.Event? {
    guard let first = line.first else { return dispatch() }
    // A comment.
    if first == 0x3A { return nil }
    let colon = line.firstIndex(of: 0x3A) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == 0x20 { value = value.dropFirst() }
    try set(line[..<colon], to: value)
    return nil
  }

  @inline(never)
  private mutating func set(_ name: Slice<UnsafeRawBufferPointer>, to value: Slice<UnsafeRawBufferPointer>) throws {
    if name.elementsEqual("data".utf8) {
      data.append(contentsOf: value)
      data.append(0x0A)
    } else if name.elementsEqual("event".utf8) {
      type = String(decoding: value, as: UTF8.self)
    } else if name.elementsEqual("id".utf8) {
      guard !value.contains(0) else { return }
      id = String(decoding: value, as: UTF8.self)
    } else if name.elementsEqual("retry".utf8), let time = FieldSyntax.parseSaturated(value) {
      // At most a day, so nothing overflows.
      retry = .milliseconds(min(time, 86_400_000))
      pause = retry
    }
    // The repaired text of invalid bytes may be three times as long as they are; the last LF is not content.
    guard data.count + type.utf8.count + id.utf8.count - 1 <= limit else {
      throw HTTPError(.bodyTooLarge, "an event is larger than \(limit) bytes", phase: .receiving)
    }
  }

  private mutating func dispatch() -> ServerSentEvents.Event? {
    lastEventID = id
    defer {
      data = []
      type = ""
      retry = nil
    }
    guard !data.isEmpty else { return nil }
    let text = String(decoding: data.dropLast(), as: UTF8.self)
    return ServerSentEvents.Event(id: id, type: type.isEmpty ? "message" : type, data: text, retry: retry)
  }
}
