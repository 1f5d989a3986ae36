import MartletBase

/// Texts that look like secrets, regardless of their names.
enum SecretShapes {
  /// The minimum length of a secret that is recognized by its shape.
  static let minimumLength = 20

  private static let prefixes = [
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxa-", "xoxb-", "xoxp-", "xoxe-", "sk_live_",
    "sk_test_", "rk_live_", "sk-ant-", "sk-proj-", "npm_", "pypi-", "AIza", "ya29.",
  ].map { Array($0.utf8) }

  /// Whether a word is a JSON Web Token (RFC 7519), or a token of a known service.
  static func isToken(_ word: ArraySlice<UInt8>) -> Bool {
    guard word.count >= minimumLength else { return false }
    // The beginning of `{"` in base64url.
    if word.starts(with: "eyJ".utf8), word.count(where: { $0 == UInt8(ascii: ".") }) >= 1 { return true }
    return prefixes.contains { word.starts(with: $0) }
  }

  /// Whether a word is the beginning of a Telegram bot's token, as in `/bot123:secret/`.
  static func isBot(_ word: ArraySlice<UInt8>) -> Bool {
    let digits = word.drop { !(0x30...0x39 ~= $0) }
    return !digits.isEmpty && digits.allSatisfy { 0x30...0x39 ~= $0 }
      && (digits.count == word.count
        ? digits.count >= 8 : word.prefix(word.count - digits.count).elementsEqual("bot".utf8))
  }

  /// Whether a segment of a path is probably a secret.
  ///
  /// Letters and digits alternate in random text more often than in names, dates and numbers. Identifiers and digests are
  /// shown: UUIDs, and hexadecimal numbers, except those of 32 digits, which are the keys of many services.
  static func isSecret(segment: ArraySlice<UInt8>) -> Bool {
    if let colon = segment.firstIndex(of: UInt8(ascii: ":")), isBot(segment[..<colon]), segment.endIndex - colon > 6 {
      return true
    }
    guard segment.count >= minimumLength, segment.allSatisfy(tokenOctets.contains) else { return false }
    if isToken(segment) { return true }
    let hex = segment.filter { $0 != UInt8(ascii: "-") }
    if hex.allSatisfy({ PercentEncoding.hexValue($0) != nil }) { return segment.count == 32 }
    var changes = 0
    var digits = 0
    var last = 0
    for octet in segment {
      let kind = 0x30...0x39 ~= octet ? 1 : 0x41...0x5A ~= octet ? 2 : 0x61...0x7A ~= octet ? 3 : 0
      guard kind > 0 else { continue }
      if kind == 1 { digits += 1 }
      if last > 0, kind != last { changes += 1 }
      last = kind
    }
    return digits > 0 && changes * 4 >= segment.count
  }

  /// Whether the end of an authority, after its last `@`, may be the beginning of userinfo.
  ///
  /// The text was truncated before an `@`, or the password contains a `/`, `?`, `#` or quote. After the colon of a host,
  /// there are at most five digits, so at most five digits of a password are shown. A user name is recognized by its
  /// shape, if the authority is the last part of a text.
  static func isUserinfo(_ authority: ArraySlice<UInt8>, isLast: Bool) -> Bool {
    var host = authority.prefix { $0 != UInt8(ascii: ":") }
    if authority.first == UInt8(ascii: "[") {
      // The colons of an IPv6 address do not introduce a port, even if the address is truncated.
      let address = authority.prefix { $0 != UInt8(ascii: "]") }
      if address.dropFirst().allSatisfy(addressOctets.contains) { host = authority.prefix(address.count + 1) }
    }
    let rest = authority[host.endIndex...]
    let port = rest.first == UInt8(ascii: ":") ? rest.dropFirst().prefix { 0x30...0x39 ~= $0 } : rest.prefix(0)
    if port.count > 5 || !authority[port.endIndex...].allSatisfy(punctuation.contains) { return true }
    // A sentence may end after the name.
    let name = host.prefix(while: tokenOctets.contains)
    return isLast && !name.dropLast(3).contains(UInt8(ascii: ".")) && isSecret(segment: name)
  }

  private static let addressOctets = ASCIISet("0123456789abcdefABCDEF:.")
  private static let punctuation = ASCIISet("'),.;]}")
  private static let tokenOctets = ASCIISet(ASCIISet.alphanumerics + "-._~=:+$!")
}

/// A pattern of ``Redaction/masking(headers:queryItems:paths:)``.
struct PathPattern: Sendable, Hashable {
  private enum Part: Sendable, Hashable {
    case any
    case text([UInt8])
    case secret(after: [UInt8], before: [UInt8])
  }

  private var host: [UInt8]?
  private var parts: [Part]

  init(_ pattern: String) {
    var segments = pattern.split(separator: "/", omittingEmptySubsequences: false).map { Array($0.utf8) }
    let first = segments.isEmpty ? [] : segments.removeFirst()
    host = first.isEmpty ? nil : first
    parts = segments.filter { !$0.isEmpty }.map { segment in
      if segment.elementsEqual("*".utf8) { return .any }
      guard let open = segment.firstIndex(of: UInt8(ascii: "{")), let close = segment.lastIndex(of: UInt8(ascii: "}")),
        open < close
      else { return .text(segment) }
      return .secret(after: Array(segment[..<open]), before: Array(segment[(close + 1)...]))
    }
  }

  static let standard = [
    "hooks.slack.com/services/*/*/{secret}", "hooks.slack.com/workflows/*/*/*/{secret}",
    "hooks.slack.com/triggers/*/*/{secret}", "discord.com/api/webhooks/*/{secret}",
  ].map { PathPattern($0) }

  /// The ranges that the pattern masks in segments, from any segment on.
  func secrets(in segments: [ArraySlice<UInt8>], host: ArraySlice<UInt8>) -> [Range<Int>] {
    if let own = self.host {
      guard host.elementsEqual(own, by: { FieldSyntax.lowercased($0) == $1 }) else { return [] }
      return match(segments[...]) ?? []
    }
    guard segments.count >= parts.count else { return [] }
    return (0...(segments.count - parts.count)).flatMap { match(segments[$0...]) ?? [] }
  }

  private func match(_ segments: ArraySlice<ArraySlice<UInt8>>) -> [Range<Int>]? {
    guard !parts.isEmpty, segments.count >= parts.count else { return nil }
    var secrets: [Range<Int>] = []
    for (part, segment) in zip(parts, segments) {
      switch part {
      case .any: break
      case .text(let text): guard segment.elementsEqual(text) else { return nil }
      case .secret(let after, let before):
        guard segment.count > after.count + before.count, segment.starts(with: after),
          segment.suffix(before.count).elementsEqual(before)
        else { return nil }
        secrets.append((segment.startIndex + after.count)..<(segment.endIndex - before.count))
      }
    }
    return secrets
  }
}

extension Redaction {
  /// The ranges of a decoded path that are secret: by the program's patterns, by those of known services, or by shape.
  func secrets(inPath path: ArraySlice<UInt8>, host: ArraySlice<UInt8>) -> [Range<Int>] {
    let segments = path.split(separator: UInt8(ascii: "/"))
    var secrets = pathPatterns.flatMap { $0.secrets(in: segments, host: host) }
    guard !revealsSecrets else { return secrets }
    secrets += PathPattern.standard.flatMap { $0.secrets(in: segments, host: host) }
    for segment in segments {
      let name = segment.prefix { $0 != UInt8(ascii: ";") }
      if SecretShapes.isSecret(segment: name) { secrets.append(name.startIndex..<name.endIndex) }
    }
    return secrets
  }
}
