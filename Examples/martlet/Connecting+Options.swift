import Martlet

extension Connecting {
  /// Reads an option with a value.
  mutating func read(_ name: String, _ value: String) throws(UsageError) {
    switch name {
    case "--transport":
      guard let lane = Lane(rawValue: value) else {
        let names = Lane.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--transport needs one of \(names), not '\(value)'")
      }
      self.lane = lane
    case "--http": version = try Self.version(value)
    case "--proxy":
      if value.isEmpty { throw UsageError("--proxy needs a URL") }
      proxy = Proxy(value.contains("://") ? value : "http://\(value)")
    case "--cert": certificate = try Certificate(value)
    case "--cacert": roots = try Self.path(value, of: name)
    case "--key": key = try Self.path(value, of: name)
    case "--limit-rate": rate = try Self.rate(value)
    case "--unix-socket": unixSocket = try Self.path(value, of: name)
    default:
      let (host, address) = try Self.override(value)
      addresses[host, default: []].append(address)
    }
  }

  /// Rejects combinations of options that exclude each other.
  func check() throws(UsageError) {
    if let key {
      guard let certificate else { throw UsageError("--key '\(key)' needs --cert") }
      if certificate.isPKCS12 {
        throw UsageError("--key and --cert '\(certificate.file)' exclude each other: PKCS #12 contains the key")
      }
    }
    if !usesEngine, let option = engineOption {
      throw UsageError("--transport system and \(option) exclude each other: the system's loader cannot do that")
    }
  }

  /// The name of the first given option that only Martlet's own engine supports.
  private var engineOption: String? {
    let asked: [(name: String, isGiven: Bool)] = [
      (version == .http2PriorKnowledge ? "--http2-prior-knowledge" : "--http", version != nil),
      ("--proxy", proxy != nil), ("--no-proxy", isDirect), ("--cacert", roots != nil),
      ("--cert", certificate != nil), ("--insecure", isInsecure), ("--resolve", !addresses.isEmpty),
      ("--unix-socket", unixSocket != nil), ("--limit-rate", rate != nil),
    ]
    return asked.first { $0.isGiven }?.name
  }

  private static func version(_ value: String) throws(UsageError) -> RequestOptions.HTTPVersionPolicy {
    switch value {
    case "1.0": return .http1_0
    case "1.1": return .http1_1
    case "2": return .http2
    default: throw UsageError("--http needs 1.0, 1.1 or 2, not '\(value)'")
    }
  }

  /// Reads bytes per second.
  private static func rate(_ value: String) throws(UsageError) -> Int {
    guard let rate = bytes(value), (1024...1e12).contains(rate) else {
      throw UsageError("--limit-rate needs at least 1024 bytes per second, such as 500k or 2M, not '\(value)'")
    }
    return Int(rate)
  }

  /// Reads a number of bytes, with curl's suffixes for KiB, MiB and GiB.
  static func bytes(_ value: String) -> Double? {
    let factors: [Character: Double] = ["k": 0x1p10, "m": 0x1p20, "g": 0x1p30]
    let factor = value.lowercased().last.flatMap { factors[$0] }
    return Double(factor == nil ? value : String(value.dropLast())).map { $0 * (factor ?? 1) }
  }

  private static func path(_ value: String, of name: String) throws(UsageError) -> String {
    guard !value.isEmpty else { throw UsageError("the option '\(name)' needs the name of a file") }
    return value
  }

  /// Reads `HOST[:PORT]:ADDRESS`; the library validates the parts.
  private static func override(_ value: String) throws(UsageError) -> (host: String, address: String) {
    let isBracketed = value.hasSuffix("]")
    guard let start = value.lastIndex(of: isBracketed ? "[" : ":") else { throw overrideProblem(value) }
    let host = value[..<start]
    let address = isBracketed ? value[start...] : value[start...].dropFirst()
    // A bracket must follow the colon that ends the host.
    guard !isBracketed || host.last == ":" else { throw overrideProblem(value) }
    let parts = (isBracketed ? host.dropLast() : host).split(separator: ":", omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty, !address.isEmpty, parts.count <= 2 else {
      throw overrideProblem(value)
    }
    if parts.count == 2 {
      guard let port = UInt16(parts[1]), port > 0 else { throw overrideProblem(value) }
      return ("\(name):\(port)", String(address))
    }
    return (String(name), String(address))
  }

  private static func overrideProblem(_ value: String) -> UsageError {
    UsageError("--resolve needs HOST:ADDRESS or HOST:PORT:ADDRESS, with IPv6 in brackets, not '\(value)'")
  }
}

extension Connecting.Certificate {
  /// Reads `FILE` or `FILE:PASSWORD`; a backslash escapes `:` or `\` in the file.
  init(_ text: String) throws(UsageError) {
    file = ""
    var rest = Substring(text)
    while let character = rest.popFirst() {
      if character == "\\", let next = rest.first, next == ":" || next == "\\" {
        file.append(next)
        rest = rest.dropFirst()
      } else if character == ":" {
        password = String(rest)
        break
      } else {
        file.append(character)
      }
    }
    if file.isEmpty { throw UsageError("the option '--cert' needs the name of a file") }
  }
}
