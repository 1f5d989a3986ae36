import MartletBase
import Foundation

/// Turns the steps of a response into bytes and pauses.
///
/// A value without a socket or a clock: its owner sends the bytes of ``withOutput(_:)`` and performs the action of
/// ``next()``.
struct ResponseWriter {
  /// The connection's next action.
  enum Action {
    case send
    /// Wait, then call ``next()`` again.
    case pause(Duration)
    /// Echo the available chunks of the request body, then continue unless they were the last.
    case echo
    /// Open a WebSocket.
    case upgrade(MockWebSocket)
    /// Do nothing until the peer closes.
    case hang
    /// Continue once the peer has closed.
    case waitForClose
    /// Close with FIN.
    case cut
    /// Close with RST.
    case reset
    /// The script has ended.
    case finish
  }

  /// Whether a message announced the end of the connection.
  private(set) var announcesClose = false

  /// The remaining steps, the next one last.
  private var steps: [MockResponse.Step] = []
  private var isHead = false
  /// The bytes to repeat until `remaining` bytes are sent.
  private var block = Data()
  private var offset = 0
  private var remaining = 0

  var hasOutput: Bool { remaining > 0 }

  /// Begins a script; for `HEAD`, messages have no body.
  mutating func load(_ steps: [MockResponse.Step], method: String = "") {
    self.steps = steps.reversed()
    isHead = method == "HEAD"
    announcesClose = false
  }

  /// Sends bytes before the script, such as an interim response.
  ///
  /// Call it only without pending output.
  mutating func interject(_ bytes: Data) { output(bytes, times: 1) }

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
      case .webSocket(let socket): return .upgrade(socket)
      case .hang: return .hang
      case .waitForClose: return .waitForClose
      case .cut: return .cut
      case .reset: return .reset
      }
    }
    return .send
  }

  /// Echoes one chunk; an empty one is the last, and ends the step.
  mutating func echo(_ piece: Data) {
    guard !piece.isEmpty else { return output(Data("0\r\n\r\n".utf8), times: 1) }
    steps.append(.echoChunks)
    output(Data("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Data("\r\n".utf8), times: 1)
  }

  /// Makes a step the next one.
  mutating func insert(_ step: MockResponse.Step) { steps.append(step) }

  /// Repeats the step when there is more to echo.
  mutating func awaitEcho() { steps.append(.echoChunks) }

  /// Calls a closure with the next bytes to send.
  func withOutput<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    block.withUnsafeBytes { bytes in
      body(UnsafeRawBufferPointer(rebasing: bytes[offset..<min(bytes.count, offset + remaining)]))
    }
  }

  /// Removes the first bytes of the output, which were sent.
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
    // The block contains whole copies only, because it is sent repeatedly.
    let copies = min(times, max(1, (1 << 18) / data.count))
    block = data
    if copies > 1 { block.reserveCapacity(copies * data.count) }
    for _ in 1..<copies { block.append(data) }
  }

  private mutating func render(_ message: MockResponse.Message) -> Data {
    let fields = message.headers
    announcesClose = fields.contains {
      FieldSyntax.isSameName($0.name, "Connection") && $0.value.lowercased().contains("close")
    }
    var head = "HTTP/1.1 \(message.status) \(Self.reasons[message.status] ?? "Status")\r\n"
    for field in fields { head += "\(field.name): \(field.value)\r\n" }
    let isFramed = fields.contains {
      FieldSyntax.isSameName($0.name, "Content-Length") || FieldSyntax.isSameName($0.name, "Transfer-Encoding")
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

  private static let reasons = [
    100: "Continue", 101: "Switching Protocols", 103: "Early Hints", 200: "OK", 201: "Created", 204: "No Content",
    206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 407: "Proxy Authentication Required", 412: "Precondition Failed", 413: "Content Too Large",
    416: "Range Not Satisfiable", 417: "Expectation Failed", 426: "Upgrade Required", 429: "Too Many Requests",
    500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}
