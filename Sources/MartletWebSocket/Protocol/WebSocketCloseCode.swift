/// A status code that explains why a WebSocket connection closes (RFC 6455 §7.4).
///
/// ```swift
/// if code == .goingAway { reconnect() }
/// let quotaExceeded = WebSocketCloseCode(rawValue: 4001)
/// ```
///
/// Codes from 3000 to 3999 are registered by libraries and frameworks. Codes from 4000 to 4999 are for private use.
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt16

  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 1000, the connection has fulfilled its purpose (RFC 6455 §7.4.1).
  public static let normalClosure = Self(rawValue: 1000)
  /// 1001, the server is shutting down, or the user leaves a page (RFC 6455 §7.4.1).
  public static let goingAway = Self(rawValue: 1001)
  /// 1002, a peer violated the protocol (RFC 6455 §7.4.1).
  public static let protocolError = Self(rawValue: 1002)
  /// 1003, a peer received a message whose type it does not support (RFC 6455 §7.4.1).
  public static let unsupportedData = Self(rawValue: 1003)
  /// 1005, the peer closed the connection without a code (RFC 6455 §7.4.1).
  ///
  /// This code is never sent.
  public static let noStatusReceived = Self(rawValue: 1005)
  /// 1006, the connection ended without a close frame (RFC 6455 §7.4.1).
  ///
  /// This code is never sent.
  public static let abnormalClosure = Self(rawValue: 1006)
  /// 1007, a message contains invalid data, such as text that is not UTF-8 (RFC 6455 §7.4.1).
  public static let invalidFramePayloadData = Self(rawValue: 1007)
  /// 1008, a message violates the peer's policy (RFC 6455 §7.4.1).
  public static let policyViolation = Self(rawValue: 1008)
  /// 1009, a message exceeds the peer's limit (RFC 6455 §7.4.1).
  public static let messageTooBig = Self(rawValue: 1009)
  /// 1010, the server did not accept an extension that the client requires (RFC 6455 §7.4.1).
  public static let mandatoryExtensionMissing = Self(rawValue: 1010)
  /// 1011, an unexpected condition prevents the server from fulfilling the request (RFC 6455 §7.4.1).
  public static let internalServerError = Self(rawValue: 1011)
  /// 1012, the server restarts (IANA registry).
  public static let serviceRestart = Self(rawValue: 1012)
  /// 1013, the server is overloaded (IANA registry).
  public static let tryAgainLater = Self(rawValue: 1013)
  /// 1014, a gateway received an invalid response from its upstream server (IANA registry).
  public static let badGateway = Self(rawValue: 1014)
  /// 1015, the TLS handshake failed (RFC 6455 §7.4.1).
  ///
  /// This code is never sent.
  public static let tlsHandshakeFailure = Self(rawValue: 1015)

  /// Whether a close frame may contain the code.
  ///
  /// True for 1000 to 1003, 1007 to 1014, and 3000 to 4999 (RFC 6455 §7.4.2, IANA registry).
  public var isSendable: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }
}

extension WebSocketCloseCode: CustomStringConvertible {
  /// The number and, for a registered code, its meaning.
  ///
  /// For example, `1001 (going away)`.
  public var description: String {
    guard let name else { return String(rawValue) }
    return "\(rawValue) (\(name))"
  }

  private var name: String? {
    switch self {
    case .normalClosure: "normal closure"
    case .goingAway: "going away"
    case .protocolError: "protocol error"
    case .unsupportedData: "unsupported data"
    case .noStatusReceived: "no status received"
    case .abnormalClosure: "abnormal closure"
    case .invalidFramePayloadData: "invalid frame payload data"
    case .policyViolation: "policy violation"
    case .messageTooBig: "message too big"
    case .mandatoryExtensionMissing: "mandatory extension missing"
    case .internalServerError: "internal server error"
    case .serviceRestart: "service restart"
    case .tryAgainLater: "try again later"
    case .badGateway: "bad gateway"
    case .tlsHandshakeFailure: "TLS handshake failure"
    default: nil
    }
  }
}
