/// A reason to fail a connection, and the code for its close frame (RFC 6455 §7.1.7).
package struct WebSocketViolation: Error, Hashable, Sendable {
  package let code: WebSocketCloseCode
  package let message: String

  package init(_ code: WebSocketCloseCode, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Creates a protocol error (1002).
  init(_ message: String) { self.init(.protocolError, message) }
}

extension WebSocketViolation: CustomStringConvertible {
  package var description: String { message }
}
