/// What became of the addresses of a host: whether there is one that may be connected to.
struct CurlAddressCheck {
  /// Why the first refused address may not be connected to.
  private var reason: String?
  private var hasAddress = false

  /// An address is about to be connected to, or is refused.
  mutating func note(refusal: String?) {
    guard let refusal else { return hasAddress = true }
    if reason == nil { reason = refusal }
  }

  /// What it means if there was no address to connect to.
  var failure: CurlFailure? { hasAddress ? nil : reason.map { .refusedAddress($0) } }
}
