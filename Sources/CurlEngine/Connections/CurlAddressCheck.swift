/// The result of checking a host's addresses.
struct CurlAddressCheck {
  private var reason: String?
  private var hasAddress = false

  /// Records an address that is used, or refused for a reason.
  mutating func record(refusal: String?) {
    guard let refusal else { return hasAddress = true }
    if reason == nil { reason = refusal }
  }

  /// The failure if every address was refused.
  var failure: CurlFailure? { hasAddress ? nil : reason.map { .refusedAddress($0) } }
}
