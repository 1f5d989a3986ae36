extension Explanation.Decision {
  /// The effect of the field of a response (RFC 6797 §8.1).
  static func hsts(_ value: String, from url: AbsoluteURL, isVerified: Bool) -> Self {
    let (host, section) = (url.host, "RFC 6797 §8.1")
    func ignored(_ code: String, _ text: String) -> Self {
      let reason = Explanation.Reason(code, text)
      return Self("hsts.ignored", "Strict-Transport-Security of \(host) was ignored", because: reason, section)
    }
    guard isVerified else { return ignored("unverified", "the client does not verify server certificates") }
    guard url.isSecure else { return ignored("notSecure", "the response was not received over https") }
    guard HSTSTable.name(host) != nil else { return ignored("address", "the host is an IP address") }
    guard let policy = StrictTransportSecurity(value) else { return ignored("malformed", "the value is malformed") }
    guard policy.maxAge > 0 else {
      return Self("hsts.removed", "\(host) is no longer an HSTS host (max-age=0)", section)
    }
    let users = policy.includesSubdomains ? " and its subdomains require" : " requires"
    return Self("hsts.stored", "\(host)\(users) https for \(policy.maxAge) s", section)
  }
}
