#if os(Linux)
  /// What became of the addresses of a host: whether there is one that may be connected to.
  struct CurlAddressCheck {
    /// The first address that may not.
    private var refused: (address: IPAddress, use: AddressUse)?
    private var hasAddress = false

    /// An address is about to be connected to, or is refused.
    mutating func note(_ address: IPAddress, _ refusal: AddressUse?) {
      guard let refusal else { return hasAddress = true }
      if refused == nil { refused = (address, refusal) }
    }

    /// What it means if there was no address to connect to.
    func error(for host: String) -> HTTPError? {
      guard let (address, use) = refused, !hasAddress else { return nil }
      return HTTPError(
        .refusedByGuard, "publicAddressesOnly refuses \(host): \(address.text) is \(use.rawValue)", phase: .connecting)
    }
  }
#endif
