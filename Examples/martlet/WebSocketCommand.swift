import Foundation
import Martlet
import MartletWebSocket

/// `martlet ws`: exchanges messages with a server over a WebSocket.
struct WebSocketCommand: Equatable, Sendable {
  /// The code and the reason with which the tool closes.
  struct Close: Equatable, Sendable {
    var code = WebSocketCloseCode.normalClosure
    var reason = ""
  }

  /// The opening request, and the connection and identity options.
  var command: RequestCommand
  /// Whether the input is sent as binary messages, and received ones are written unchanged.
  var isBinary = false
  var subprotocols: [String] = []
  var origin: String?
  var isCompressed = false
  /// The interval between pings; `nil` for none.
  var ping: Duration?
  var close = Close()
  /// The number of messages after which the tool closes; `nil` for no limit.
  var count: Int?
  /// The maximum size of a message in bytes.
  var maximumMessageBytes = WebSocketOptions().maximumMessageBytes
  /// The silence after the input's end after which the tool closes; `nil` depends on the input.
  var wait: Duration?

  /// Reads the words after `ws`, and the options.
  init(_ words: [String], _ arguments: Arguments) throws(UsageError) {
    command = try arguments.request(words, for: .ws)
    if let method = command.method, method != "GET" {
      throw UsageError("a WebSocket begins with a GET request, not \(method)")
    }
    guard command.content == .none else {
      throw UsageError("the request of a WebSocket has no body; write the messages to standard input")
    }
    let own = arguments.own
    (isBinary, isCompressed) = (own["--binary"] != nil, own["--compress"] != nil)
    subprotocols = try Self.subprotocols(arguments.repeated["--subprotocol"] ?? [])
    if let value = own["--origin"] { origin = try Self.origin(value) }
    if let value = own["--ping"] { ping = try Arguments.seconds(value, of: "--ping") }
    if let value = own["--close"] { close = try Close(value) }
    if let value = own["--count"] { count = try Arguments.count(value, of: "--count", in: 1...1_000_000_000) }
    if let value = own["--max-message"] { maximumMessageBytes = try Self.size(value) }
    if let value = own["--wait"] {
      wait = .seconds(try Arguments.number(value, of: "--wait", in: 0...1e9, unit: "seconds"))
    }
  }

  /// The settings of the WebSocket.
  var options: WebSocketOptions {
    WebSocketOptions {
      ($0.subprotocols, $0.origin, $0.maximumMessageBytes) = (subprotocols, origin, maximumMessageBytes)
      if isCompressed { $0.compression = .deflate }
      if let ping { $0.keepAlive = .pings(every: ping) }
    }
  }

  private static func subprotocols(_ names: [String]) throws(UsageError) -> [String] {
    do {
      return try WebSocketHandshake(subprotocols: names).subprotocols
    } catch {
      throw UsageError("--subprotocol: \(error.message)")
    }
  }

  /// Reads the serialization of an origin (RFC 6454 §6.2).
  private static func origin(_ value: String) throws(UsageError) -> String {
    if value == "null" { return value }
    let parts = URLComponents(string: value)
    guard let parts, let scheme = parts.scheme, parts.host?.isEmpty == false, parts.path.isEmpty, parts.query == nil,
      parts.fragment == nil, parts.user == nil
    else {
      throw UsageError("--origin needs a scheme and a host, such as https://example.org, not '\(value)'")
    }
    guard scheme != "ws", scheme != "wss" else {
      throw UsageError("--origin is the page's origin, such as https://example.org, not '\(value)'")
    }
    return value
  }

  private static func size(_ value: String) throws(UsageError) -> Int {
    guard let bytes = Connecting.bytes(value), (1...0x1p32).contains(bytes) else {
      throw UsageError("--max-message needs bytes up to 4G, such as 64k or 2M, not '\(value)'")
    }
    return Int(bytes)
  }
}

extension WebSocketCommand.Close {
  /// Reads `CODE` or `CODE:REASON`.
  init(_ text: String) throws(UsageError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let number = UInt16(parts[0]) else { throw Self.problem(String(parts[0])) }
    code = WebSocketCloseCode(rawValue: number)
    guard code.isSendable else { throw Self.problem(code.description) }
    reason = parts.count > 1 ? String(parts[1]) : ""
    let count = reason.utf8.count
    if count > 123 { throw UsageError("the reason of --close has \(count) bytes; at most 123 are allowed") }
  }

  private static func problem(_ code: String) -> UsageError {
    UsageError("--close needs a code that may be sent, such as 1000, or 3000 to 4999, not '\(code)'")
  }
}

extension ExitCode {
  /// The exit code for the server's close: 102 to 115 for 1002 to 1015, and 7 for all codes without a number.
  static func closed(_ code: WebSocketCloseCode) -> ExitCode {
    switch code {
    case .normalClosure, .goingAway, .noStatusReceived: .success
    case _ where (1002...1015).contains(code.rawValue): ExitCode(rawValue: Int32(code.rawValue) - 900)
    default: .closed
    }
  }
}
