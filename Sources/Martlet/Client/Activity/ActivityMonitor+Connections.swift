import MartletBase

extension ActivityMonitor {
  /// The connections to one server, and the requests that wait for one.
  public struct ConnectionPool: Sendable, Hashable {
    /// The scheme: `http` or `https`.
    public let scheme: String
    /// The host, in lower case.
    public let host: String
    /// The port.
    public let port: Int
    /// The number of connections, including those that are being established.
    ///
    /// A connection through a proxy that only forwards requests counts for the server that it was opened for.
    public var open = 0
    /// The number of connections without an exchange.
    public var idle = 0
    /// The number of requests that wait for a connection.
    ///
    /// Over HTTP/2, requests above ``TransportSettings/maximumRequestsPerHost`` also count.
    public var queued = 0

    /// The number of connections with an exchange, or that are being established.
    public var active: Int { open - idle }

    init(_ origin: Origin) { (scheme, host, port) = (origin.scheme, origin.host, origin.port) }
  }
}

/// A transport that counts its connections.
package protocol ConnectionCountingTransport: Transport {
  /// The connections by origin, in no particular order.
  var connectionPools: [ActivityMonitor.ConnectionPool] { get }
}

extension ClientSettings {
  /// The connections in the order of their origins.
  var connectionPools: [ActivityMonitor.ConnectionPool] {
    guard let transport = transport as? any ConnectionCountingTransport else { return [] }
    return transport.connectionPools.ordered { ($0.host, $0.port, $0.scheme) < ($1.host, $1.port, $1.scheme) }
  }
}
