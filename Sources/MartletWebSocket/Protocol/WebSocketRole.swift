/// The two ends of a WebSocket connection (RFC 6455 §1.2).
package enum WebSocketRole: Sendable {
  case client, server

  var peer: Self { self == .client ? .server : .client }
}
