extension HTTPResponse {
  /// The connection that a response came on.
  public struct Connection: Sendable, Hashable {
    /// The IP address connected to, without brackets: of a proxy, if there was one; `nil` for a unix socket.
    public var remoteAddress: String?
    /// The port connected to, or `nil` for a unix socket.
    public var remotePort: Int?
    /// The own IP address.
    public var localAddress: String?
    /// The own port.
    public var localPort: Int?
    /// Whether it had served an exchange before, or serves others at the same time (HTTP/2).
    public var isReused: Bool

    /// Makes one, for stubs and tests.
    ///
    /// - Parameters:
    ///   - remoteAddress: The address connected to.
    ///   - remotePort: The port connected to.
    ///   - localAddress: The own address.
    ///   - localPort: The own port.
    ///   - isReused: Whether it had served before.
    public init(
      remoteAddress: String? = nil, remotePort: Int? = nil, localAddress: String? = nil, localPort: Int? = nil,
      isReused: Bool = false
    ) {
      self.remoteAddress = remoteAddress
      self.remotePort = remotePort
      self.localAddress = localAddress
      self.localPort = localPort
      self.isReused = isReused
    }
  }
}
