extension TransportSettings {
  /// Whether a prepared transport serves other settings as well.
  ///
  /// The test of this function fails if it lacks a property.
  func isSame(as other: TransportSettings) -> Bool {
    maximumConnectionsPerHost == other.maximumConnectionsPerHost
      && maximumRequestsPerHost == other.maximumRequestsPerHost && maximumConnections == other.maximumConnections
      && allowsExpensiveNetworks == other.allowsExpensiveNetworks
      && allowsConstrainedNetworks == other.allowsConstrainedNetworks && engineThreads == other.engineThreads
      && tls == other.tls && proxy.rule == other.proxy.rule && resolve == other.resolve
      && unixSocket == other.unixSocket && localInterface == other.localInterface
      && idleConnectionLifetime == other.idleConnectionLifetime
      && maximumConnectionAge == other.maximumConnectionAge && shufflesAddresses == other.shufflesAddresses
      && addresses == other.addresses
  }
}
