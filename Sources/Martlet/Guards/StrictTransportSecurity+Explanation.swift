extension Explanation.TransportSecurity {
  /// What became of the field of a response.
  init(_ value: String, from url: AbsoluteURL, isVerified: Bool) {
    let host = url.host
    if !isVerified {
      self = .ignored(host: host, .unverified)
    } else if !url.isSecure {
      self = .ignored(host: host, .notSecure)
    } else if HSTSTable.name(host) == nil {
      self = .ignored(host: host, .address)
    } else if let policy = StrictTransportSecurity(value) {
      self =
        policy.maxAge > 0
        ? .noted(host: host, seconds: policy.maxAge, includesSubdomains: policy.includesSubdomains)
        : .forgotten(host: host)
    } else {
      self = .ignored(host: host, .malformed)
    }
  }
}
