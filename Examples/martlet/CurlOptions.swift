/// The options of curl and HTTPie that the tool does not support, and the syntax of those that it does.
enum CurlOptions {
  /// The unsupported options of curl and HTTPie with their replacements.
  static let refused: [String: String] = [
    "-G": "items name==value for the query", "--get": "items name==value for the query",
    "-O": "'martlet download URL', or -o FILE", "--remote-name": "'martlet download URL', or -o FILE",
    "-J": "'martlet download URL', or -o FILE", "--remote-header-name": "'martlet download URL', or -o FILE",
    "-T": "'martlet upload FILE URL'", "--upload-file": "'martlet upload FILE URL'",
    "-C": resuming, "--continue-at": resuming, "--continue": resuming,
    "-D": "-i", "--dump-header": "-i",
    "-n": "--user NAME, or --session NAME, which keeps the password",
    "--netrc": "--user NAME, or --session NAME, which keeps the password",
    "--netrc-file": "--user NAME, or --session NAME, which keeps the password",
    "-r": "the item Range:bytes=0-99", "--range": "the item Range:bytes=0-99",
    "-z": "the item If-Modified-Since:DATE", "--time-cond": "the item If-Modified-Since:DATE",
    "--noproxy": "--no-proxy",
    "--socks5": "--proxy socks5://HOST:PORT", "--socks5-hostname": "--proxy socks5://HOST:PORT",
    "--data-urlencode": "--form and items name=text", "--connect-to": "--resolve HOST:ADDRESS",
    "-U": "--proxy http://USER:PASSWORD@HOST:PORT", "--proxy-user": "--proxy http://USER:PASSWORD@HOST:PORT",
    "--fail": exitCode, "--fail-with-body": exitCode,
    "--trace": tracing, "--trace-ascii": tracing, "--debug": tracing,
    "-j": "items, which make JSON without an option", "--headers": "--print h", "--meta": "--print m",
    "--raw": "--body TEXT", "--auth-type": "--basic, --digest or --bearer", "-B": "--print b",
    "--verify": "--insecure, or --cacert FILE", "--no-verify": "--insecure, or --cacert FILE",
    "--pass": "--cert FILE:PASSWORD", "--download": "'martlet download URL'",
    "--no-color": "NO_COLOR=1, or --pretty format", "--color": "--pretty all", "--colors": "--pretty all",
    "--quiet": "-o /dev/null", "-q": "--no-config, or -o /dev/null", "--dry-run": "--offline",
    "--default-scheme": "a URL with http:// or https://", "--manual": "'martlet manual'", "--man": "'martlet manual'",
    "--retry-delay": retrying, "--retry-max-time": retrying, "--retry-all-errors": retrying,
    "--retry-connrefused": retrying,
  ]

  private static let resuming = "'martlet download URL', which resumes an interrupted download"
  private static let exitCode = "the exit code, which is 4 or 5 for such statuses"
  private static let tracing = "-v, or MARTLET_LOG=body"
  private static let retrying = "--retry N, which lengthens the delay before each retry"

  /// The options of curl and HTTPie without a replacement.
  static let unmatched: Set = [
    "-4", "-6", "--ipv4", "--ipv6", "--interface", "--local-port", "--capath", "--crlfile", "--ciphers", "--ssl",
    "--tlsv1.0", "--tlsv1.1", "--tlsv1.2", "--tlsv1.3", "--tls-max", "--http3", "--http3-only", "--ntlm", "--negotiate",
    "--aws-sigv4", "--max-filesize", "--path-as-is", "--create-dirs", "--stderr", "--chunked",
    "--boundary", "--sorted", "--unsorted", "--style", "--format-options", "--response-charset", "--response-mime",
    "--next", "--parallel",
  ]

  /// Returns the error for an unsupported or unknown option; `argument` contained the one-letter option.
  static func problem(_ name: String, in argument: String? = nil) -> UsageError {
    let place = argument.map { $0 == name ? "" : " in '\($0)'" } ?? ""
    let problem = "unknown option '\(name)'\(place)"
    if let argument, let advice = advice("-\(argument)") { return UsageError("\(problem); \(advice)") }
    if let way = refused[name] { return UsageError("\(problem); use \(way)") }
    if unmatched.contains(name) { return UsageError("\(problem); the tool has no equivalent") }
    let guess: String? = if let argument { nearest(toLetter: name, in: argument) } else { nearest(to: name) }
    return UsageError("\(problem); \(guess ?? "see martlet --help")")
  }

  /// Reads `Name: value`, or `Name;` for an empty value.
  static func header(_ text: String) throws(UsageError) -> (name: String, value: String) {
    if text.hasSuffix(";"), !text.contains(":") { return (String(text.dropLast()), "") }
    if ["http://", "https://"].contains(where: { text.lowercased().hasPrefix($0) }) {
      throw UsageError("-H needs 'Name: value', but got a URL; write the URL without -H")
    }
    guard let colon = text.firstIndex(of: ":"), colon > text.startIndex, !text.hasPrefix("@") else {
      throw UsageError("-H needs 'Name: value', or 'Name;' for an empty value, not '\(text)'")
    }
    let (name, value) = (String(text[..<colon]), text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    if value.isEmpty { throw UsageError("the header '\(text)' has no value; -H '\(name);' sends an empty one") }
    return (name, String(value))
  }
}

// MARK: Suggestions

extension CurlOptions {
  /// Suggests a long option that works, or the replacement of an unsupported one; `nil` for an unknown option.
  private static func advice(_ name: String) -> String? {
    if OptionEntry.byName[name] != nil { return "did you mean \(name)?" }
    return refused[name].map { "for \(name), use \($0)" }
  }

  /// The advice for the long option nearest to a word; an unsupported one only if no supported one is near.
  private static func nearest(to word: String) -> String? {
    func nearest(_ names: some Collection<String>) -> String? {
      let names = names.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
      return Suggestion.nearest(to: String(word.drop { $0 == "-" }), in: names).flatMap { advice("--\($0)") }
    }
    return nearest(OptionEntry.byName.keys) ?? nearest(refused.keys)
  }

  /// The advice for the long option if the word lacks a hyphen; otherwise for the letter in the other case.
  private static func nearest(toLetter name: String, in argument: String) -> String? {
    if argument.count > 4, let long = nearest(to: argument) { return long }
    let other = name == name.lowercased() ? name.uppercased() : name.lowercased()
    guard let letter = other.last, let option = OptionEntry.byLetter[letter] else { return nil }
    return "did you mean \(option.isLetterOnly ? other : "\(other) (\(option.name))")?"
  }
}

/// One value of curl's `-d`.
enum PostedData: Equatable, Sendable {
  case text(String)
  /// `@file`, from which `-d` strips line ends and NUL; `-` is standard input.
  case file(String, isStripped: Bool)

  /// Reads the value of one of curl's data options.
  init(_ option: String, _ value: String) throws(UsageError) {
    guard value.hasPrefix("@"), option != "--data-raw" else {
      self = .text(value)
      return
    }
    if value.count == 1 { throw UsageError("the option '\(option)' needs the name of a file after '@'") }
    self = .file(String(value.dropFirst()), isStripped: option == "--data" || option == "--data-ascii")
  }
}
