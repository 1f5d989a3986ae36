import MartletBase

/// A reason why an opening handshake failed (RFC 6455 §4).
package struct HandshakeProblem: Error, Hashable, Sendable {
  package let message: String

  init(_ message: String) { self.message = message }
}

extension HandshakeProblem: CustomStringConvertible {
  package var description: String { message }
}

/// The client's side of an opening handshake (RFC 6455 §4.1).
package struct WebSocketHandshake: Sendable {
  package typealias Field = (name: String, value: String)

  /// The result of a handshake.
  package struct Agreement: Hashable, Sendable {
    package var subprotocol: String?
    /// The parameters of compression, or `nil` if messages are not compressed.
    package var deflate: PermessageDeflate?
  }

  /// The supported version of the protocol.
  package static let version = "13"

  /// The value of `Sec-WebSocket-Key`, which is used for one request only.
  package let key: String
  /// The offered subprotocols, in the order of preference.
  package let subprotocols: [String]
  package let deflate: PermessageDeflate.Offer?

  /// Creates a handshake with a random key; throws if subprotocols are not distinct tokens.
  ///
  /// Without zlib, compression is not offered.
  package init(subprotocols: [String] = [], deflate: PermessageDeflate.Offer? = nil) throws(HandshakeProblem) {
    try self.init(key: Self.makeKey(), subprotocols: subprotocols, deflate: deflate)
  }

  init(key: String, subprotocols: [String], deflate: PermessageDeflate.Offer?) throws(HandshakeProblem) {
    try Self.check(subprotocols)
    self.key = key
    self.subprotocols = subprotocols
    self.deflate = DeflateContext.isUsable ? deflate : nil
  }

  /// The fields of the request.
  package var fields: [Field] {
    var fields: [Field] = [
      ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", key),
      ("Sec-WebSocket-Version", Self.version),
    ]
    if !subprotocols.isEmpty { fields.append(("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))) }
    if let deflate { fields.append(("Sec-WebSocket-Extensions", deflate.fieldValue)) }
    return fields
  }

  /// Checks the response to a request with this key, or with another one (RFC 6455 §4.1).
  package func check(status: Int, _ fields: [Field], key: String? = nil) throws(HandshakeProblem) -> Agreement {
    guard status == 101 else {
      throw HandshakeProblem("the server responded \(status) to the upgrade; only 101 opens a WebSocket")
    }
    try checkUpgrade(fields)
    let accepts = Self.values(of: "Sec-WebSocket-Accept", in: fields)
    guard let accept = accepts.first else { throw HandshakeProblem("the response has no Sec-WebSocket-Accept") }
    guard accepts.count == 1 else {
      throw HandshakeProblem("the response has \(accepts.count) fields Sec-WebSocket-Accept; it must have one")
    }
    let expected = Self.acceptValue(for: key ?? self.key)
    guard accept == expected else {
      throw HandshakeProblem("Sec-WebSocket-Accept is \(Printable.text(accept)); for this key, it must be \(expected)")
    }
    return Agreement(
      subprotocol: try selectedSubprotocol(fields),
      deflate: try PermessageDeflate.negotiated(
        Self.values(of: "Sec-WebSocket-Extensions", in: fields), offer: deflate))
  }

  private func checkUpgrade(_ fields: [Field]) throws(HandshakeProblem) {
    for (name, token) in [("Upgrade", "websocket"), ("Connection", "upgrade")] {
      let values = Self.values(of: name, in: fields)
      guard !values.isEmpty else { throw HandshakeProblem("the response has no \(name)") }
      guard Self.tokens(of: name, in: fields).contains(where: { FieldSyntax.isSameName($0, token) }) else {
        let value = Printable.text(values.joined(separator: ", "))
        throw HandshakeProblem("\(name) is \(value); it must contain \(token)")
      }
    }
  }

  private func selectedSubprotocol(_ fields: [Field]) throws(HandshakeProblem) -> String? {
    let values = Self.values(of: "Sec-WebSocket-Protocol", in: fields)
    guard let selected = values.first else { return nil }
    guard values.count == 1 else {
      throw HandshakeProblem("the server selected \(values.count) subprotocols; it may select one")
    }
    guard subprotocols.contains(selected) else {
      let offered = subprotocols.isEmpty ? "no subprotocol" : subprotocols.joined(separator: ", ")
      throw HandshakeProblem(
        "the server selected the subprotocol \(Printable.text(selected)); the client offered \(offered)")
    }
    return selected
  }
}

extension WebSocketHandshake {
  /// 16 random bytes in Base64 (RFC 6455 §4.1).
  package static func makeKey() -> String {
    let words: [UInt64] = [.random(in: 0...(.max)), .random(in: 0...(.max))]
    return words.withUnsafeBytes { Data($0) }.base64EncodedString()
  }

  /// The value of `Sec-WebSocket-Accept` (RFC 6455 §4.2.2).
  package static func acceptValue(for key: String) -> String {
    Data(SHA1.hash((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)).base64EncodedString()
  }

  /// Checks that subprotocols are distinct tokens (RFC 6455 §4.1).
  package static func check(_ subprotocols: [String]) throws(HandshakeProblem) {
    var seen: Set<String> = []
    for name in subprotocols {
      guard FieldSyntax.isToken(name) else {
        throw HandshakeProblem("the subprotocol \(Printable.text("\"\(name)\"")) is not a token (RFC 9110 §5.6.2)")
      }
      guard seen.insert(name).inserted else {
        throw HandshakeProblem("the subprotocol \(name) occurs twice; subprotocols must be distinct")
      }
    }
  }

  /// The server's check of a request, and the fields of its response (RFC 6455 §4.2).
  ///
  /// Selects the first offered subprotocol among `subprotocols`. With `deflate`, accepts compression if it is offered.
  package static func accept(
    _ request: [Field], subprotocols: [String] = [], deflate: PermessageDeflate? = nil
  ) throws(HandshakeProblem) -> (fields: [Field], agreement: Agreement) {
    for (name, token) in [("Upgrade", "websocket"), ("Connection", "upgrade"), ("Sec-WebSocket-Version", version)] {
      guard tokens(of: name, in: request).contains(where: { FieldSyntax.isSameName($0, token) }) else {
        throw HandshakeProblem("the request's \(name) does not contain \(token)")
      }
    }
    let keys = values(of: "Sec-WebSocket-Key", in: request)
    guard let key = keys.first, keys.count == 1, Data(base64Encoded: key)?.count == 16 else {
      throw HandshakeProblem("the request has no Sec-WebSocket-Key with 16 bytes in Base64")
    }
    var fields: [Field] = [
      ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", acceptValue(for: key)),
    ]
    var agreement = Agreement()
    if let name = tokens(of: "Sec-WebSocket-Protocol", in: request).first(where: { subprotocols.contains($0) }) {
      agreement.subprotocol = name
      fields.append(("Sec-WebSocket-Protocol", name))
    }
    if let deflate, DeflateContext.isUsable,
      let accepted = PermessageDeflate.accepted(
        values(of: "Sec-WebSocket-Extensions", in: request), preferences: deflate)
    {
      agreement.deflate = accepted.parameters
      fields.append(("Sec-WebSocket-Extensions", accepted.fieldValue))
    }
    return (fields, agreement)
  }

  private static func values(of name: String, in fields: [Field]) -> [String] {
    fields.filter { FieldSyntax.isSameName($0.name, name) }.map { String(FieldSyntax.trimmed($0.value)) }
  }

  private static func tokens(of name: String, in fields: [Field]) -> [String] {
    values(of: name, in: fields).flatMap { FieldSyntax.listMembers(of: $0) }
  }
}
