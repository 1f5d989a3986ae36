/// The context of a request, for transports and middleware.
public struct RequestContext: Sendable {
  /// The identifier of the call.
  public var id: RequestID { call.id }
  /// The number of the attempt, from 1 for each request of a redirect chain.
  public internal(set) var attempt = 1
  /// The number of redirects followed before this request.
  public internal(set) var hop = 0
  /// The effective options, with all inherited values.
  public var options: RequestOptions { call.options.source }

  package let call: Call
  /// How the stage for proxies and the transport agree on credentials; `nil` where there is no proxy.
  var proxyExchange: ProxyExchange?
  /// How the transport has to prove who the client is, if that is for a connection and not for a request.
  var handshake: Handshake?

  /// The exchange on the wire that this request belongs to; above the last stage there is none yet.
  package var exchange: ExchangeControl {
    get { current ?? ExchangeControl(call: call) }
    set { current = newValue }
  }

  /// Whether the body is read as it arrives, at the pace of its reader.
  private(set) var isStreamed = false
  /// Whether the server has refused the request over HTTP/2, and wants HTTP/1.1 (RFC 9113 §7).
  var needsHTTP11 = false
  /// Whether other requests have taken what the connections before would take.
  var needsNewConnection = false
  var httpVersion: HTTPVersion { needsHTTP11 ? .http1_1 : call.options.httpVersion }

  /// The credential that a request was given on the way, if any.
  var credential: Credential?
  /// Where the cache leaves word of what may stand in for a server that fails; `nil` if nobody reads it.
  var fallback: Fallback?

  private var current: ExchangeControl?

  init(call: Call, isStreamed: Bool = false) { (self.call, self.isStreamed) = (call, isStreamed) }

  /// Reports that bytes of the request body were sent, for progress and bandwidth.
  ///
  /// - Parameters:
  ///   - bytes: The number of additional bytes.
  ///   - expected: The total number of bytes, if known.
  public func didSend(_ bytes: Int, of expected: Int64? = nil) { exchange.didSend(bytes, of: expected) }

  /// Reports that bytes of the response body were received, for progress and bandwidth.
  ///
  /// - Parameters:
  ///   - bytes: The number of additional bytes.
  ///   - expected: The total number of bytes, if known.
  public func didReceive(_ bytes: Int, of expected: Int64? = nil) { exchange.didReceive(bytes, of: expected) }
}

/// The number of a call, the same for all its attempts and redirects; unique within the process.
public struct RequestID: Hashable, Sendable, Comparable, CustomStringConvertible {
  let number: UInt64

  /// The number.
  public var description: String { String(number) }

  /// Whether the first call was made before the second.
  public static func < (first: RequestID, second: RequestID) -> Bool { first.number < second.number }
}
