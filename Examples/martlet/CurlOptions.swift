/// The options of curl and HTTPie: their names in this tool, or their replacements.
enum CurlOptions {
  /// The long names of one-letter options, both curl's and Martlet's.
  static let letters: [Character: String] = [
    "f": "--form", "v": "--verbose", "i": "--include", "h": "--help", "u": "--user", "o": "--output",
    "X": "--request", "H": "--header", "d": "--data", "F": "--form-part", "A": "--user-agent", "e": "--referer",
    "b": "--cookie", "I": "--head", "L": "--location", "k": "--insecure", "s": "--silent", "S": "--show-error",
    "m": "--timeout", "x": "--proxy", "E": "--cert", "N": "--no-buffer", "g": "--globoff", "c": "--save-cookies",
    "a": "--user", "0": "--http1.0", "#": "--progress-bar", "V": "--version",
  ]

  /// Synonyms of options.
  static let synonyms = [
    "--max-time": "--timeout", "--oauth2-bearer": "--bearer", "--auth": "--user", "--cert-key": "--key",
  ]

  /// The options with a value, except those for connections and identity.
  static let values: Set = [
    "--request", "--header", "--data", "--data-ascii", "--data-raw", "--data-binary", "--json", "--form-part",
    "--form-string", "--user-agent", "--referer", "--url", "--body", "--timeout", "--retry", "--cache", "--output",
    "--har",
  ]

  /// The options without a value, except those for connections and identity.
  static let flags: Set = [
    "--form", "--multipart", "--ignore-stdin", "--head", "--no-follow", "--verbose", "--explain", "--include",
    "--timing",
    "--no-proxy", "--http1.0", "--http1.1", "--http2", "--http2-prior-knowledge", "--insecure", "--help", "--version",
  ]

  /// The accepted options that have no effect, because they describe the tool's defaults.
  static let needless: Set = [
    "--location", "--compressed", "--silent", "--show-error", "--no-buffer", "--globoff", "--no-progress-meter",
    "--progress-bar", "--follow", "--check-status",
  ]

  /// The unsupported options with their replacements; the last lines are HTTPie's options and those of other commands.
  static let refused: [String: String] = [
    "-G": "items name==value for the query", "--get": "items name==value for the query",
    "-O": "'martlet download URL', or -o FILE", "--remote-name": "'martlet download URL', or -o FILE",
    "-J": "'martlet download URL', or -o FILE", "--remote-header-name": "'martlet download URL', or -o FILE",
    "-T": "'martlet upload FILE URL'", "--upload-file": "'martlet upload FILE URL'",
    "-C": "'martlet download URL'", "--continue-at": "'martlet download URL'",
    "-w": "--timing, or -i", "--write-out": "--timing, or -i",
    "-D": "-i", "--dump-header": "-i", "-n": "--user NAME", "--netrc": "--user NAME",
    "-r": "the item Range:bytes=0-99", "--range": "the item Range:bytes=0-99",
    "-z": "the item If-Modified-Since:DATE", "--time-cond": "the item If-Modified-Since:DATE",
    "--connect-timeout": "--timeout SECONDS", "--max-redirs": "--no-follow", "--noproxy": "--no-proxy",
    "--socks5": "--proxy socks5://HOST:PORT", "--socks5-hostname": "--proxy socks5://HOST:PORT",
    "--data-urlencode": "--form and items name=text", "--connect-to": "--resolve HOST:ADDRESS",
    "-U": "--proxy http://USER:PASSWORD@HOST:PORT", "--proxy-user": "--proxy http://USER:PASSWORD@HOST:PORT",
    "--fail": "the exit code, which is 4 or 5 for such statuses", "-K": "the options themselves",
    "--config": "the options themselves", "--trace": "-v, or MARTLET_LOG=body",
    "-j": "what items make without an option", "-p": "-v, -i or -I", "--print": "-v, -i or -I",
    "--headers": "-I, or -i", "--raw": "--body TEXT", "--auth-type": "--basic, --digest or --bearer",
    "--verify": "--insecure, or --cacert FILE", "--session": "--cookie-jar FILE",
    "--download": "'martlet download URL'", "--max-redirects": "--no-follow",
    "--pretty": "what a terminal gets, with NO_COLOR=1 without colours", "--quiet": "-o /dev/null",
    "--segments": "'martlet download URL --segments N'", "--sha256": "'martlet download URL --sha256 DIGITS'",
    "--resume": "'martlet download URL'", "--no-resume": "'martlet download URL --no-resume'",
    "--field": "'martlet upload FILE URL --field NAME'", "--gzip": "'martlet upload FILE URL --gzip'",
  ]

  /// Returns the error for an unsupported or unknown option; `argument` contained the one-letter option.
  static func problem(_ name: String, in argument: String? = nil) -> UsageError {
    let place = argument.map { $0 == name ? "" : " in '\($0)'" } ?? ""
    let problem = "unknown option '\(name)'\(place)"
    if let argument, known.contains("-\(argument)") { return UsageError("\(problem); did you mean -\(argument)?") }
    if let way = refused[name] { return UsageError("\(problem): here it is \(way)") }
    let guess: String? = if let argument { nearest(toLetter: name, in: argument) } else { nearest(to: name) }
    let advice = guess.map { "did you mean \($0)?" } ?? "see martlet --help"
    return UsageError("\(problem); \(advice)")
  }

  /// Whether an option, long or short, takes the next word if it has no attached value.
  static func takesValue(_ word: String) -> Bool {
    var name = word
    if !word.hasPrefix("--"), word.count == 2, let letter = word.last { name = letters[letter] ?? word }
    name = synonyms[name] ?? name
    return values.contains(name) || Identity.options.contains(name) || Connecting.options.contains(name)
  }

  /// Whether an option is known and takes no value.
  static func isFlag(_ name: String) -> Bool {
    flags.contains(name) || needless.contains(name) || Identity.flags.contains(name)
  }

  /// Reads `Name: value`, or `Name;` for an empty value.
  static func header(_ text: String) throws(UsageError) -> (name: String, value: String) {
    if text.hasSuffix(";"), !text.contains(":") { return (String(text.dropLast()), "") }
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
  /// All long names that a user may have meant.
  private static let known: Set<String> = values.union(flags).union(needless).union(synonyms.keys)
    .union(Identity.options).union(Identity.flags).union(Connecting.options)
    .union(refused.keys.filter { $0.hasPrefix("--") }).subtracting(["--form-part"])

  /// The long option that begins with the word, or differs in at most two letters (one if the word is short).
  private static func nearest(to word: String) -> String? {
    guard (5...40).contains(word.count) else { return nil }
    let limit = word.count == 5 ? 1 : 2
    let ranked = known.map { name in (name.hasPrefix(word) ? 1 : distance(word, name), name) }
    // On a tie, prefers the option of the same length: letters are exchanged more often than omitted.
    func rank(_ guess: (Int, String)) -> (Int, Int, String) { (guess.0, abs(guess.1.count - word.count), guess.1) }
    return ranked.filter { $0.0 <= limit }.min { rank($0) < rank($1) }?.1
  }

  /// The long option if the word lacks a hyphen; otherwise the letter in the other case.
  private static func nearest(toLetter name: String, in argument: String) -> String? {
    if let long = nearest(to: "-\(argument)") { return long }
    let other = name == name.lowercased() ? name.uppercased() : name.lowercased()
    guard let letter = other.last, let long = letters[letter] else { return nil }
    return "\(other) (\(long))"
  }

  /// The number of letters added, removed or changed between two words (Levenshtein distance).
  private static func distance(_ word: String, _ other: String) -> Int {
    let target = Array(other)
    var row = Array(0...target.count)
    for (index, letter) in word.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in target.indices {
        let changed = diagonal + (letter == target[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
      }
    }
    return row[target.count]
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
