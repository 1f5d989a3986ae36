extension TransportSettings {
  var connectionProblem: InvalidInput? {
    proxy.problem ?? AddressOverrides(resolve).problem ?? unixSocketProblem ?? localInterfaceProblem ?? lifetimeProblem
  }

  /// The first setting that the system's loader does not support, in words, or `nil`.
  var connectionFeature: String? {
    if addresses != nil { return "publicAddressesOnly" }
    if !proxy.isNone { return "a proxy for one client" }
    if !resolve.isEmpty { return "resolve" }
    if unixSocket != nil { return "unixSocket" }
    return localInterface == nil ? nil : "localInterface"
  }

  private var unixSocketProblem: InvalidInput? {
    guard let unixSocket else { return nil }
    let shown = InvalidInput.printable(unixSocket)
    // sun_path has 108 bytes, one of them for the terminator.
    guard (1...107).contains(unixSocket.utf8.count), !unixSocket.utf8.contains(0) else {
      return InvalidInput("unixSocket is \"\(shown)\": a path has 1 to 107 bytes, none of them zero")
    }
    guard addresses == nil else {
      return InvalidInput("unixSocket is \"\(shown)\": it cannot be combined with publicAddressesOnly")
    }
    guard proxy.isNone else {
      return InvalidInput("unixSocket is \"\(shown)\": it cannot be combined with a proxy")
    }
    return nil
  }

  private var localInterfaceProblem: InvalidInput? {
    guard let localInterface, IPAddress(localInterface) == nil else { return nil }
    // IFNAMSIZ is 16 with the terminator. The system forbids slashes and blanks in names, and `!` has a meaning for
    // libcurl.
    let isName =
      (1...15).contains(localInterface.utf8.count)
      && localInterface.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "!") }
    if isName { return nil }
    return InvalidInput(
      "localInterface is \"\(InvalidInput.printable(localInterface))\": neither an IP address nor an interface's name")
  }

  private var lifetimeProblem: InvalidInput? {
    idleConnectionLifetime >= .zero
      ? nil : InvalidInput("idleConnectionLifetime is \(idleConnectionLifetime): it must not be negative")
  }
}
