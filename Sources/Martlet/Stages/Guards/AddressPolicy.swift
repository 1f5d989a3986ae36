import MartletBase

/// Which addresses may be connected to: those of the public internet, and exceptions.
struct AddressPolicy: Sendable, Hashable {
  private var exceptions: [IPNetwork] = []
  /// The first exception that cannot be read.
  private(set) var problem: InvalidInput?

  init(except texts: [String]) {
    for text in texts {
      if let network = IPNetwork(String(FieldSyntax.trimmed(text))) {
        exceptions.append(network)
      } else if problem == nil {
        problem = InvalidInput(
          "publicAddressesOnly has the exception \"\(InvalidInput.printable(text))\": not an IP address or network")
      }
    }
  }

  /// What tells it from others, for ``NetworkPartition``.
  var partition: String { exceptions.map { "\($0.address.bytes)/\($0.prefix)" }.sorted().joined(separator: " ") }

  /// Why an address may not be connected to, or `nil` if it may.
  func refusal(of address: IPAddress) -> AddressUse? {
    guard let use = AddressUse(of: address) else { return nil }
    let plain = address.unmapped
    return exceptions.contains { $0.contains(address) || $0.contains(plain) } ? nil : use
  }
}
