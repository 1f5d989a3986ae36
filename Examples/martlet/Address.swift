import Martlet

/// Completes and checks the URLs on the command line.
///
/// A word without a scheme counts as a URL only if its host contains a dot, has a port, or is `localhost`, so a
/// misspelled command never becomes the name of a host.
enum Address {
  /// Completes a URL: `:8080/x` is on this machine, and the scheme can be omitted.
  ///
  /// - Parameters:
  ///   - text: The word on the command line.
  ///   - base: The URL that a path such as `/users` is appended to, as to ``HTTPClient/Configuration/baseURL``.
  ///   - isWebSocket: Whether ws and wss are allowed, which become http and https.
  /// - Returns: The whole URL.
  /// - Throws: ``UsageError`` with the cure if the word is not a URL.
  static func absolute(
    _ text: String, base: String? = nil, isWebSocket: Bool = false
  ) throws(UsageError) -> String {
    if text.isEmpty { throw UsageError("the URL is empty") }
    let schemes = ["http", "https"] + (isWebSocket ? ["ws", "wss"] : [])
    if let range = text.firstRange(of: "://"), text[..<range.lowerBound].allSatisfy(isSchemeCharacter) {
      let scheme = text[..<range.lowerBound].lowercased()
      guard schemes.contains(scheme) else { throw schemeProblem(scheme, schemes) }
      return scheme.hasPrefix("ws") ? "http\(scheme.dropFirst(2))\(text[range.lowerBound...])" : text
    }
    if let scheme = schemes.first(where: { text.lowercased().hasPrefix("\($0):/") }) {
      let rest = text.dropFirst(scheme.count + 1).drop { $0 == "/" }
      throw UsageError("'\(shown(text))' has one slash after its scheme; write \(scheme)://\(shown(String(rest)))")
    }
    if let scheme = schemes.first(where: { text.lowercased().hasPrefix("\($0)//") }) {
      let rest = shown(String(text.dropFirst(scheme.count + 2)))
      throw UsageError("'\(shown(text))' has no colon after its scheme; write \(scheme)://\(rest)")
    }
    if text.hasPrefix("/") {
      guard let base else {
        throw UsageError("'\(shown(text))' is a path, and no base URL is set; add --base URL or write the whole URL")
      }
      return try joined(base, text, isWebSocket)
    }
    if text.hasPrefix(":"), let rest = localPath(text) { return "http://localhost\(rest)" }
    guard let host = host(of: text) else { throw problem(text) }
    let isLocal = host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || host == "[::1]"
    return (isLocal ? "http://" : "https://") + text
  }

  /// Whether a word is a URL, or a path for a base URL.
  static func isURL(_ text: String) -> Bool { (try? absolute(text, base: "http://localhost")) != nil }

  /// The rest of `:8080/x` or `:/x` after `localhost`.
  private static func localPath(_ text: String) -> String? {
    let rest = text.dropFirst()
    if rest.isEmpty { return "" }
    if rest.first?.isNumber == true { return ":" + rest }
    return "/?#".contains(rest.first ?? " ") ? String(rest) : nil
  }

  private static func joined(_ base: String, _ path: String, _ isWebSocket: Bool) throws(UsageError) -> String {
    if base.hasPrefix("/") { throw UsageError("--base '\(base)' is a path; the base is a whole URL") }
    let base = try absolute(base, isWebSocket: isWebSocket)
    do {
      let url = try RequestTarget(path).resolve(against: RequestTarget(base))
      // The library keeps the user and the password apart from the text of the URL.
      let authority = base.drop { $0 != "/" }.dropFirst(2).prefix { !"/?#".contains($0) }
      let user = authority.lastIndex(of: "@").map { authority[...$0] } ?? ""
      return url.requestString.replacing("://", with: "://\(user)", maxReplacements: 1)
    } catch {
      throw UsageError(error.message.replacing("baseURL:", with: "--base:"))
    }
  }

  /// Checks the value of `--base`.
  static func check(base: String, isWebSocket: Bool = false) throws(UsageError) {
    _ = try joined(base, "/", isWebSocket)
  }

  /// The lowercase host of a URL without a scheme, or `nil` if the word is not a URL.
  private static func host(of text: String) -> String? {
    let authority = text.prefix { !"/?#".contains($0) }
    let user = authority.lastIndex(of: "@").map { authority[..<$0] } ?? ""
    // The item `name=@FILE` is not a user and a host.
    if user.contains("=") { return nil }
    let place = user.isEmpty ? authority : authority.dropFirst(user.count + 1)
    if place.hasPrefix("[") {
      let address = place.dropFirst().prefix { $0.isHexDigit || ":.%".contains($0) }
      return place.dropFirst(address.count + 1).hasPrefix("]") && address.contains(":") ? "[\(address)]" : nil
    }
    let parts = place.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = (parts.first ?? "").lowercased()
    let hasPort = parts.count == 2 && !parts[1].isEmpty && parts[1].utf8.allSatisfy { (0x30...0x39).contains($0) }
    guard !name.isEmpty, name.allSatisfy(isHostCharacter), parts.count == 1 || hasPort else { return nil }
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    let hasDot = labels.count > 1 && labels.dropLast().allSatisfy { !$0.isEmpty }
    return hasDot || hasPort || name == "localhost" ? name : nil
  }

  private static func isHostCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || "-._%".contains(character)
  }

  private static func isSchemeCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || "+-.".contains(character)
  }

  // MARK: Errors

  private static func schemeProblem(_ scheme: String, _ schemes: [String]) -> UsageError {
    let words = schemes.dropLast().joined(separator: ", ") + " or \(schemes.last ?? "")"
    if scheme.isEmpty { return UsageError("the URL has no scheme before '://'; write http:// or https://") }
    if ["ws", "wss"].contains(scheme) {
      return UsageError("the scheme '\(scheme)' is not supported; 'martlet ws URL' opens a WebSocket")
    }
    let known = ["ftp", "ftps", "file", "ldap", "sftp", "mailto", "data"]
    guard !known.contains(scheme), let guess = Suggestion.nearest(to: scheme, in: schemes) else {
      return UsageError("the scheme '\(shown(scheme))' is not supported; use \(words)")
    }
    return UsageError("unknown scheme '\(shown(scheme))'; did you mean \(guess)://?")
  }

  /// The error for a word that is not a URL; names the kind of word, and shows no field's value.
  static func problem(_ text: String) -> UsageError {
    let place = "where the URL belongs; write the URL first"
    if let first = text.first, first == "{" || first == "[", text.count > 1 {
      return UsageError("a JSON document is \(place), and send the document with --json or --body")
    }
    if text == "-" { return UsageError("'-' is \(place), and send standard input with --body -") }
    let host = text.prefix { !"/?#".contains($0) }
    if host.contains("::"), host.allSatisfy({ $0.isHexDigit || ":.".contains($0) }) {
      return UsageError("'\(shown(text))' has an IPv6 address without brackets; write http://[::1]:8080/x, for example")
    }
    if let index = host.firstIndex(where: { ":=".contains($0) }), index > text.startIndex,
      !host[index...].dropFirst().contains("@") || host[index] == "="
    {
      let name = shown(String(text[..<index]))
      let rest = text[index...]
      let isHeader = rest.hasPrefix(":") && !rest.hasPrefix(":=")
      let mark = isHeader ? ":" : rest.hasPrefix(":=") ? ":=" : rest.hasPrefix("==") ? "==" : "="
      return UsageError("the \(isHeader ? "header field" : "item") '\(name)\(mark)…' is \(place)")
    }
    if text.contains("/"), !host.hasPrefix(".") {
      return UsageError("'\(shown(text))' has a host without a dot or port; write http://\(shown(text))")
    }
    return UsageError(
      "'\(shown(text))' is not a URL; a URL has a scheme, a dot or a port, such as http://\(shown(text)) or :8080")
  }

  /// A word for an error: short, without credentials or query.
  static func shown(_ text: String) -> String {
    let place = text.prefix { !"?#".contains($0) }
    let visible = place.lastIndex(of: "@").map { "…\(place[$0...])" } ?? String(place)
    return visible.count > 80 ? "\(visible.prefix(80))…" : visible
  }
}
