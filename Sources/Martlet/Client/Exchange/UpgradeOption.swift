import MartletBase

/// The option that makes a request ask for another protocol.
struct UpgradeOption: RequestOptions.Key, Sendable {
  let protocolName: String
  let idleLimit: Duration?
  let freshFields: (@Sendable () -> HTTPHeaders)?

  static func problem(_ value: UpgradeOption) -> String? {
    let parts = value.protocolName.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ FieldSyntax.isToken($0) }) else {
      let shown = InvalidInput.printable(value.protocolName, limit: 100)
      return "the protocol '\(shown)' is not a token, optionally with a version, such as 'websocket' or 'SPDY/3.1'"
    }
    guard let limit = value.idleLimit, limit < .milliseconds(1) else { return nil }
    return "idleLimit is \(limit.shown); it must be at least 1 ms"
  }
}

extension RequestContext {
  /// The protocol that the request asks for (RFC 9110 §7.8), or `nil`.
  ///
  /// A transport that supports it adds the fields `Connection` and `Upgrade`, and returns a 101 response as
  /// `StreamedResponse.init(status:headers:body:request:writer:)`. Other transports throw
  /// ``HTTPError/Kind/unsupported``, or send the request without these fields.
  public var upgradeProtocol: String? { call.upgrade?.protocolName }
}

extension Call {
  var upgrade: UpgradeOption? { options.source[UpgradeOption.self] }
}
