/// The options of curl: what they are called here, or what to write in their place.
enum CurlOptions {
  /// The long names of options of one letter, curl's and our own.
  static let letters: [Character: String] = [
    "f": "--form", "v": "--verbose", "i": "--include", "h": "--help", "u": "--user", "o": "--output",
    "X": "--request", "H": "--header", "d": "--data", "F": "--form-part", "A": "--user-agent", "e": "--referer",
    "b": "--cookie", "I": "--head", "L": "--location", "k": "--insecure", "s": "--silent", "S": "--show-error",
    "m": "--timeout", "x": "--proxy", "E": "--cert", "N": "--no-buffer", "g": "--globoff",
  ]

  /// Other names of options that mean the same.
  static let synonyms = ["--max-time": "--timeout", "--oauth2-bearer": "--bearer"]

  /// The options that have a value, besides those that describe connections and identity.
  static let values: Set = [
    "--request", "--header", "--data", "--data-ascii", "--data-raw", "--data-binary", "--json", "--form-part",
    "--user-agent", "--referer", "--url", "--body", "--timeout", "--retry", "--cache", "--output",
  ]

  /// What is so here without being asked for.
  static let needless: Set = [
    "--location", "--compressed", "--silent", "--show-error", "--no-buffer", "--globoff", "--no-progress-meter",
  ]

  /// What has another name or another way here.
  static let refused: [String: String] = [
    "-G": "items name==value for the query", "--get": "items name==value for the query",
    "-O": "'martlet download URL', or -o FILE", "--remote-name": "'martlet download URL', or -o FILE",
    "-J": "'martlet download URL', or -o FILE", "--remote-header-name": "'martlet download URL', or -o FILE",
    "-T": "'martlet upload FILE URL'", "--upload-file": "'martlet upload FILE URL'",
    "-C": "'martlet download URL'", "--continue-at": "'martlet download URL'",
    "-c": "--cookie-jar FILE, which is read and written and not a cookies.txt",
    "-w": "--timing, or -i", "--write-out": "--timing, or -i",
    "-D": "-i", "--dump-header": "-i", "-n": "--user NAME", "--netrc": "--user NAME",
    "-r": "the item Range:bytes=0-99", "--range": "the item Range:bytes=0-99",
    "-z": "the item If-Modified-Since:DATE", "--time-cond": "the item If-Modified-Since:DATE",
    "-0": "--http 1.0", "--http1.0": "--http 1.0", "--http1.1": "--http 1.1", "--http2": "--http 2",
    "--connect-timeout": "--timeout SECONDS", "--max-redirs": "--no-follow", "--noproxy": "--no-proxy",
    "--socks5": "--proxy socks5://HOST:PORT", "--socks5-hostname": "--proxy socks5://HOST:PORT",
    "--data-urlencode": "--form and items name=text", "--form-string": "-F NAME=TEXT",
    "--fail": "the exit code, which is 4 or 5 for such statuses", "-K": "the options themselves",
    "--config": "the options themselves", "--trace": "-v, or MARTLET_LOG=body",
  ]

  /// The error for an option that is curl's only, or known to nobody.
  static func problem(_ name: String, in argument: String? = nil) -> UsageError {
    if let way = refused[name] { return UsageError("the option '\(name)' is curl's: here it is \(way)") }
    let place = argument.map { $0 == name ? "" : " in '\($0)'" } ?? ""
    return UsageError("unknown option '\(name)'\(place); see martlet --help")
  }

  /// Whether an option, also one of a letter, takes the next word if nothing is attached to it.
  static func takesValue(_ word: String) -> Bool {
    var name = word
    if !word.hasPrefix("--"), word.count == 2, let letter = word.last { name = letters[letter] ?? word }
    name = synonyms[name] ?? name
    return values.contains(name) || Identity.options.contains(name) || Connecting.options.contains(name)
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

  /// Reads curl's list of cookies: `a=1; b=2`.
  static func cookies(_ text: String) throws(UsageError) -> [String] {
    guard text.contains("=") else { throw UsageError("-b '\(text)' is a file of cookies: use --cookies-txt FILE") }
    return text.split(separator: ";").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
  }
}

/// A piece of the data of curl's `-d`.
enum PostedData: Equatable, Sendable {
  case text(String)
  /// `@file`, of which `-d` drops line ends and NUL; `-` is standard input.
  case file(String, isStripped: Bool)

  /// Reads the value of one of curl's options for data.
  init(_ option: String, _ value: String) throws(UsageError) {
    guard value.hasPrefix("@"), option != "--data-raw" else {
      self = .text(value)
      return
    }
    if value.count == 1 { throw UsageError("the option '\(option)' needs the name of a file after '@'") }
    self = .file(String(value.dropFirst()), isStripped: option == "--data" || option == "--data-ascii")
  }
}
