/// The negotiated parameters of compression (RFC 7692 §7.1).
package struct PermessageDeflate: Hashable, Sendable {
  package static let name = "permessage-deflate"
  /// The sizes of windows that can be negotiated, in bits.
  static let windowBits = 8...15

  /// Whether each message of the server is compressed independently.
  package var serverNoContextTakeover = false
  /// Whether each message of the client is compressed independently.
  package var clientNoContextTakeover = false
  /// The maximum size of the server's window, in bits.
  package var serverMaxWindowBits = 15
  /// The maximum size of the client's window, in bits.
  package var clientMaxWindowBits = 15

  package init(
    serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int = 15,
    clientMaxWindowBits: Int = 15
  ) {
    self.serverNoContextTakeover = serverNoContextTakeover
    self.clientNoContextTakeover = clientNoContextTakeover
    self.serverMaxWindowBits = serverMaxWindowBits
    self.clientMaxWindowBits = clientMaxWindowBits
  }

  /// Whether messages sent by `role` can refer to previous messages.
  package func keepsContext(of role: WebSocketRole) -> Bool {
    role == .client ? !clientNoContextTakeover : !serverNoContextTakeover
  }

  /// The maximum window of messages sent by `role`, in bits.
  package func windowBits(of role: WebSocketRole) -> Int {
    role == .client ? clientMaxWindowBits : serverMaxWindowBits
  }
}

extension PermessageDeflate {
  /// The limit of the client's window in an offer (RFC 7692 §7.1.2.2).
  package enum ClientWindow: Hashable, Sendable {
    /// The parameter is absent, so the server must not limit the window.
    case unlimited
    /// The parameter lacks a value, so the server may limit the window.
    case limitable
    /// The maximum size of the client's window, in bits; the server may reduce it.
    case bits(Int)
  }

  /// The parameters that a client offers (RFC 7692 §7.1).
  package struct Offer: Hashable, Sendable {
    /// Whether the server is required to compress each message independently.
    package var serverNoContextTakeover: Bool
    /// Whether the client will compress each message independently.
    package var clientNoContextTakeover: Bool
    /// The maximum size of the server's window, in bits; `nil` for no limit.
    package var serverMaxWindowBits: Int?
    package var clientMaxWindowBits: ClientWindow

    package init(
      serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int? = nil,
      clientMaxWindowBits: ClientWindow = .limitable
    ) {
      self.serverNoContextTakeover = serverNoContextTakeover
      self.clientNoContextTakeover = clientNoContextTakeover
      self.serverMaxWindowBits = serverMaxWindowBits
      self.clientMaxWindowBits = clientMaxWindowBits
    }

    /// The value of `Sec-WebSocket-Extensions` in a request.
    package var fieldValue: String {
      var parts = [PermessageDeflate.name]
      if serverNoContextTakeover { parts.append("server_no_context_takeover") }
      if clientNoContextTakeover { parts.append("client_no_context_takeover") }
      if let serverMaxWindowBits { parts.append("server_max_window_bits=\(serverMaxWindowBits)") }
      switch clientMaxWindowBits {
      case .unlimited: break
      case .limitable: parts.append("client_max_window_bits")
      case .bits(let bits): parts.append("client_max_window_bits=\(bits)")
      }
      return parts.joined(separator: "; ")
    }
  }
}

// MARK: Reading parameters

extension PermessageDeflate {
  /// The parameters of an extension, each at most once.
  struct Parameters {
    var serverNoContextTakeover = false
    var clientNoContextTakeover = false
    var serverMaxWindowBits: Int?
    var clientMaxWindowBits: ClientWindow = .unlimited

    init(_ parameters: [WebSocketExtension.Parameter]) throws(HandshakeProblem) {
      var names: Set<String> = []
      for parameter in parameters {
        guard names.insert(parameter.name).inserted else {
          throw HandshakeProblem("\(PermessageDeflate.name) has two parameters \(parameter.name)")
        }
        try read(parameter)
      }
    }

    private mutating func read(_ parameter: WebSocketExtension.Parameter) throws(HandshakeProblem) {
      switch parameter.name {
      case "server_no_context_takeover":
        try checkAbsence(parameter)
        serverNoContextTakeover = true
      case "client_no_context_takeover":
        try checkAbsence(parameter)
        clientNoContextTakeover = true
      case "server_max_window_bits": serverMaxWindowBits = try bits(parameter)
      case "client_max_window_bits":
        clientMaxWindowBits = parameter.value == nil ? .limitable : .bits(try bits(parameter))
      default:
        throw HandshakeProblem("\(PermessageDeflate.name) has an unknown parameter \(parameter.name)")
      }
    }

    private func checkAbsence(_ parameter: WebSocketExtension.Parameter) throws(HandshakeProblem) {
      guard let value = parameter.value else { return }
      throw HandshakeProblem("\(parameter.name) has the value \(value); it must not have a value")
    }

    /// A size without leading zeros (RFC 7692 §7.1.2).
    private func bits(_ parameter: WebSocketExtension.Parameter) throws(HandshakeProblem) -> Int {
      guard let value = parameter.value else {
        throw HandshakeProblem("\(parameter.name) has no value; it must be from 8 to 15")
      }
      guard let bits = PermessageDeflate.windowBits.first(where: { String($0) == value }) else {
        throw HandshakeProblem("\(parameter.name) is \(value); it must be from 8 to 15, without leading zeros")
      }
      return bits
    }
  }
}

// MARK: Negotiation

extension PermessageDeflate {
  /// The client's check of the extensions in a response; returns `nil` if it contains none.
  ///
  /// The server may omit parameters that limit its own messages, because all messages can be decompressed without
  /// these limits.
  package static func negotiated(
    _ fieldValues: [String], offer: Offer?
  ) throws(HandshakeProblem) -> PermessageDeflate? {
    let extensions = try WebSocketExtension.parse(fieldValues)
    guard let first = extensions.first else { return nil }
    if let other = extensions.first(where: { $0.name != name || offer == nil }) {
      throw HandshakeProblem("the server selected the extension \(other.name), which was not offered")
    }
    guard extensions.count == 1, let offer else {
      throw HandshakeProblem("the server selected \(name) \(extensions.count) times")
    }
    let parameters = try Parameters(first.parameters)
    var result = PermessageDeflate(
      serverNoContextTakeover: parameters.serverNoContextTakeover,
      clientNoContextTakeover: parameters.clientNoContextTakeover || offer.clientNoContextTakeover)
    if let bits = parameters.serverMaxWindowBits {
      try check(bits, of: "server_max_window_bits", offered: offer.serverMaxWindowBits ?? 15)
      result.serverMaxWindowBits = bits
    }
    switch (parameters.clientMaxWindowBits, offer.clientMaxWindowBits) {
    case (.unlimited, .bits(let offered)): result.clientMaxWindowBits = offered
    case (.unlimited, _): break
    case (_, .unlimited): throw HandshakeProblem("the server selected client_max_window_bits, which was not offered")
    case (.limitable, _): throw HandshakeProblem("client_max_window_bits has no value; it must be from 8 to 15")
    case (.bits(let bits), .limitable): result.clientMaxWindowBits = bits
    case (.bits(let bits), .bits(let offered)):
      try check(bits, of: "client_max_window_bits", offered: offered)
      result.clientMaxWindowBits = bits
    }
    return result
  }

  private static func check(_ bits: Int, of parameter: String, offered: Int) throws(HandshakeProblem) {
    guard bits > offered else { return }
    throw HandshakeProblem("the server selected \(parameter)=\(bits); at most \(offered) was offered")
  }

  /// The server's choice among a client's offers, and the value of its `Sec-WebSocket-Extensions`.
  ///
  /// `preferences` limits both directions; the client's window is limited only if the client allows it. Invalid offers
  /// and other extensions are skipped. Returns `nil` if no offer is acceptable.
  package static func accepted(
    _ fieldValues: [String], preferences: PermessageDeflate = PermessageDeflate()
  ) -> (parameters: PermessageDeflate, fieldValue: String)? {
    guard let extensions = try? WebSocketExtension.parse(fieldValues) else { return nil }
    for offered in extensions where offered.name == name {
      guard let offer = try? Parameters(offered.parameters) else { continue }
      return accepted(offer, preferences)
    }
    return nil
  }

  private static func accepted(
    _ offer: Parameters, _ preferences: PermessageDeflate
  ) -> (parameters: PermessageDeflate, fieldValue: String) {
    var result = preferences
    result.serverNoContextTakeover = result.serverNoContextTakeover || offer.serverNoContextTakeover
    result.clientNoContextTakeover = result.clientNoContextTakeover || offer.clientNoContextTakeover
    result.serverMaxWindowBits = min(result.serverMaxWindowBits, offer.serverMaxWindowBits ?? 15)
    switch offer.clientMaxWindowBits {
    case .unlimited: result.clientMaxWindowBits = 15
    case .limitable: break
    case .bits(let bits): result.clientMaxWindowBits = min(result.clientMaxWindowBits, bits)
    }
    var parts = [name]
    if result.serverNoContextTakeover { parts.append("server_no_context_takeover") }
    if result.clientNoContextTakeover { parts.append("client_no_context_takeover") }
    if result.serverMaxWindowBits < 15 || offer.serverMaxWindowBits != nil {
      parts.append("server_max_window_bits=\(result.serverMaxWindowBits)")
    }
    if result.clientMaxWindowBits < 15 { parts.append("client_max_window_bits=\(result.clientMaxWindowBits)") }
    return (result, parts.joined(separator: "; "))
  }
}
