import Foundation

/// Turns the steps of an answer into bytes and pauses.
///
/// A plain value without a socket or a clock: its owner sends what ``withOutput(_:)`` shows and obeys ``next()``.
struct ResponseWriter {
  /// What the connection has to do next.
  enum Action {
    case send
    /// Wait and ask again.
    case pause(Duration)
    /// Put out the pieces of the request body that have come, and ask again unless they were the last.
    case echo
    /// Do nothing until the peer closes.
    case hang
    /// Ask again once the peer closed.
    case waitForClose
    /// Close in order.
    case cut
    /// Close with a reset.
    case reset
    /// The script has ended.
    case finish
  }

  /// Whether a message announced the end of the connection.
  private(set) var announcesClose = false

  /// The steps left, the next one last.
  private var steps: [MockResponse.Step] = []
  private var isHead = false
  /// Bytes repeated until `remaining` of them are sent.
  private var block = Data()
  private var offset = 0
  private var remaining = 0

  var hasOutput: Bool { remaining > 0 }

  /// Begins a script; the body of messages is left out for `HEAD`.
  mutating func load(_ steps: [MockResponse.Step], method: String = "") {
    self.steps = steps.reversed()
    isHead = method == "HEAD"
    announcesClose = false
  }

  /// Adds bytes that go out before the script, such as an interim response.
  ///
  /// Only for a writer without output.
  mutating func interject(_ bytes: Data) {
    output(bytes, times: 1)
  }

  /// Takes the next step.
  mutating func next() -> Action {
    while remaining == 0 {
      guard let step = steps.popLast() else { return .finish }
      switch step {
      case .message(let message): output(render(message), times: 1)
      case .bytes(let data): output(data, times: 1)
      case .text(let text): output(Data(text.utf8), times: 1)
      case .repeating(let pattern, let count): output(pattern, times: count)
      case .drip(let data, let chunk, let interval):
        let piece = data.prefix(max(1, chunk))
        let rest = data.dropFirst(piece.count)
        if !rest.isEmpty { steps += [.drip(rest, chunk: chunk, every: interval), .delay(interval)] }
        output(piece, times: 1)
      case .delay(let duration): return .pause(duration)
      case .echoChunks: return .echo
      case .hang: return .hang
      case .waitForClose: return .waitForClose
      case .cut: return .cut
      case .reset: return .reset
      }
    }
    return .send
  }

  /// Puts out one chunk of what is echoed; an empty one is the last, and ends the step.
  mutating func echo(_ piece: Data) {
    guard !piece.isEmpty else { return output(Data("0\r\n\r\n".utf8), times: 1) }
    steps.append(.echoChunks)
    output(Data("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Data("\r\n".utf8), times: 1)
  }

  /// Takes the step up again when there is more to echo.
  mutating func awaitEcho() { steps.append(.echoChunks) }

  /// Lends the bytes to send next.
  func withOutput<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    block.withUnsafeBytes { bytes in
      body(UnsafeRawBufferPointer(rebasing: bytes[offset..<min(bytes.count, offset + remaining)]))
    }
  }

  /// Notes that the first bytes of the output were sent.
  mutating func sent(_ count: Int) {
    offset += count
    remaining -= count
    if offset == block.count { offset = 0 }
    if remaining == 0 { block = Data() }
  }

  private mutating func output(_ data: Data, times: Int) {
    guard !data.isEmpty, times > 0 else { return }
    offset = 0
    remaining = data.count * times
    // Whole copies only, so that the block can be sent again from its beginning.
    let copies = min(times, max(1, (1 << 18) / data.count))
    block = data
    if copies > 1 { block.reserveCapacity(copies * data.count) }
    for _ in 1..<copies { block.append(data) }
  }

  private mutating func render(_ message: MockResponse.Message) -> Data {
    let fields = message.headers
    announcesClose = fields.contains {
      $0.name.isSameFieldName(as: "Connection") && $0.value.lowercased().contains("close")
    }
    var head = "HTTP/1.1 \(message.status) \(Self.reason(message.status))\r\n"
    for field in fields { head += "\(field.name): \(field.value)\r\n" }
    let isFramed = fields.contains {
      $0.name.isSameFieldName(as: "Content-Length") || $0.name.isSameFieldName(as: "Transfer-Encoding")
    }
    let isBodiless = message.status < 200 || message.status == 204 || message.status == 304
    switch message.body {
    case .data(let data):
      if !isFramed, !isBodiless { head += "Content-Length: \(data.count + (message.isIncomplete ? 1 : 0))\r\n" }
      let rendered = Data((head + "\r\n").utf8)
      return isBodiless || isHead ? rendered : rendered + data
    case .chunks(let chunks, let trailers):
      if !isFramed, !isBodiless { head += "Transfer-Encoding: chunked\r\n" }
      var rendered = Data((head + "\r\n").utf8)
      guard !isBodiless, !isHead else { return rendered }
      for chunk in chunks where !chunk.isEmpty {
        rendered += Data("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Data("\r\n".utf8)
      }
      guard !message.isIncomplete else { return rendered }
      rendered += Data(("0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n").utf8)
      return rendered
    }
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 100: "Continue"
    case 103: "Early Hints"
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 407: "Proxy Authentication Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: "Status"
    }
  }
}
