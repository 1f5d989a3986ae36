import MartletBase

/// The addresses that connections may use: public ones, and exceptions.
struct AddressPolicy: Sendable, Hashable {
  private var exceptions: [IPNetwork] = []
  /// The problem of the first malformed exception.
  private(set) var problem: InvalidInput?

  init(except texts: [String]) {
    for text in texts {
      if let network = IPNetwork(String(FieldSyntax.trimmed(text))) {
        exceptions.append(network)
      } else if problem == nil {
        problem = InvalidInput(
          "publicAddressesOnly lists the exception \"\(InvalidInput.printable(text))\": not an IP address or network")
      }
    }
  }

  /// The policy's contribution to the ``NetworkPartition``.
  var partition: String { exceptions.map { "\($0.address.bytes)/\($0.prefix)" }.sorted().joined(separator: " ") }

  /// The reason why connections to an address are rejected, or `nil`.
  func refusal(of address: IPAddress) -> AddressUse? {
    guard let use = AddressUse(of: address) else { return nil }
    let plain = address.unmapped
    return exceptions.contains { $0.contains(address) || $0.contains(plain) } ? nil : use
  }
}
