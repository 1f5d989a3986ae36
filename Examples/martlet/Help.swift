/// The output of `--help` and `martlet help`, made from the tables of commands and options.
enum Help {
  /// The subject of a help text.
  enum Topic: Equatable, Sendable {
    case overview
    case command(CommandName)
    case topic(HelpTopic)

    /// Reads the words after `help`.
    init(_ words: [String]) throws(UsageError) {
      guard let word = words.first else {
        self = .overview
        return
      }
      if words.count > 1 { throw UsageError("'martlet help' takes one topic, but got '\(words[1])' after it") }
      if let name = CommandName(rawValue: word) {
        self = .command(name)
      } else if let topic = HelpTopic(rawValue: word) {
        self = .topic(topic)
      } else {
        let topics = CommandName.allCases.map(\.rawValue) + HelpTopic.allCases.map(\.rawValue)
        let advice = Suggestion.nearest(to: word, in: topics).map { "did you mean martlet help \($0)?" }
        throw UsageError("there is no help for '\(word)'; \(advice ?? "see martlet help")")
      }
    }
  }

  /// The text of a topic, with lines of at most 80 columns.
  static func text(_ topic: Topic) -> String {
    switch topic {
    case .overview: overview
    case .command(let name): text(of: name.entry)
    case .topic(.config): config.joined(separator: "\n") + "\n"
    case .topic(.writeOut): writeOut
    }
  }

  private static var overview: String {
    var lines = ["martlet: send HTTP requests and show the responses", ""]
    lines += ["Usage: martlet [METHOD] URL [ITEM...] [OPTION...]", "       martlet COMMAND [WORD...] [OPTION...]", ""]
    lines.append("Commands")
    lines += rows(CommandEntry.all.map { ($0.name.rawValue, $0.summary) })
    let short = ["name==", "Name:t", "name=t", "name:=j", "user[", "name@"]
    lines += ["", "Items"] + items.filter { line in short.contains { line.hasPrefix("  \($0)") } }
    lines += ["", "Frequent options"]
    let frequent = [
      "--form", "--body", "--header", "--user", "--verbose", "--output", "--timeout", "--offline",
    ]
    lines += rows(frequent.compactMap { OptionEntry.byName[$0] }.map { ($0.heading, $0.help) })
    lines += [""] + exitCodes
    lines += ["", "'martlet help request' lists all items and options of a request."]
    return lines.joined(separator: "\n") + "\n"
  }

  private static func text(of entry: CommandEntry) -> String {
    var lines = ["martlet \(entry.name.rawValue): \(entry.summary)", ""]
    for (index, usage) in entry.usage.enumerated() {
      lines.append((index == 0 ? "Usage: " : "       ") + "martlet \(usage)")
    }
    for note in entry.notes { lines += [""] + note }
    for group in OptionEntry.Group.allCases {
      let options = entry.name.options.filter { $0.group == group }
      if options.isEmpty { continue }
      lines += ["", group.rawValue] + rows(options.map { ($0.heading, $0.help) })
    }
    if !entry.examples.isEmpty { lines += ["", "Examples"] + entry.examples.map { "  martlet \($0)" } }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Two columns, the first one as wide as its longest entry.
  static func rows(_ entries: [(String, String)]) -> [String] {
    let width = entries.map(\.0.count).max() ?? 0
    return entries.map { "  \($0.0)\(String(repeating: " ", count: width - $0.0.count))  \($0.1)" }
  }
}

// MARK: Paragraphs

extension Help {
  static let target = [
    "METHOD is a word in capitals. The default is GET, or POST with a body.",
    "URL may omit its scheme: localhost and 127.* get http://, other hosts https://.",
    "':8080/x' is on localhost. A path such as '/users' needs --base.",
  ]

  static let items = [
    "Items", "  name==text              query item", "  Name:text               header field",
    "  Name;                   empty header field", "  name=text               field of a JSON object or form",
    "  name:=json              JSON field with any JSON value",
    "  user[name]=text         field of a nested object",
    "  tags[]=text             element of an array",
    "  name=@FILE              field with the text of a file",
    "  name:=@FILE             field with the JSON of a file",
    "  name@FILE               file of a multipart form",
    "  @FILE                   file as the whole body",
    "  A backslash escapes : = ; @ [ ] in a name.",
  ]

  static let output = [
    "A terminal shows status, header and body, with JSON indented.",
    "A pipe gets the bytes of the body.",
    "Redirected standard input is the body, except for GET and HEAD.",
    "-v, --offline, --curl and --print H mask secrets in URLs and header fields.",
    "-i, --print h and bodies show all values.",
    "NO_COLOR=1 disables colors. MARTLET_LOG=headers enables a log.",
  ]

  static let parts =
    ["Parts of --print"]
    + rows(ShownParts.names)

  static let exitCodes = ["Exit codes"] + rows(codes)

  /// The exit codes of all commands, including those of `martlet ws`, which its own help describes.
  static let allExitCodes = rows(codes.dropLast() + closeCodes + codes.suffix(1))

  private static let codes = [
    ("0", "status 2xx or 3xx"), ("1", "input, output or demo failed"), ("2", "wrong usage, nothing was sent"),
    ("3", "no usable response"), ("4", "status 4xx"), ("5", "status 5xx"), ("6", "timeout"),
    ("130", "interrupted (SIGINT)"),
  ]

  private static let closeCodes = [
    ("7", "WebSocket closed with a code from 3000 to 4999"),
    ("102-115", "WebSocket closed with a code from 1002 to 1015"),
  ]

  static let messages = [
    "Each line of standard input is sent as a text message.",
    "A terminal shows received messages with JSON indented.",
    "A pipe gets each message with a line end.",
  ]

  static let binary = [
    "With --binary, a file is one message, and each block of a pipe is a message.",
    "A pipe gets received binary messages without line ends.",
  ]

  static let closing = [
    "The command ends when the server closes, or after --count N.",
    "After the end of a pipe or file, a silence of 2 seconds ends the command.",
    "A terminal, /dev/null and empty input have no such limit. --wait sets one.",
    "Ctrl-C closes with 1001. --timeout limits the whole connection.",
    "Exit codes: 0 for 1000 and 1001, 102-115 for 1002-1015, 7 for 3000-4999.",
  ]

  static let completion = [
    "bash  martlet completion bash > \\", "        ~/.local/share/bash-completion/completions/martlet",
    "zsh   martlet completion zsh > FOLDER/_martlet, with FOLDER in $fpath",
    "fish  martlet completion fish > ~/.config/fish/completions/martlet.fish",
  ]

  /// The help text about the configuration file.
  static let config = [
    "The configuration file contains default options.", "",
    "The file is $XDG_CONFIG_HOME/martlet/config, or ~/.config/martlet/config.",
    "MARTLET_CONFIG or --config names another file. --no-config ignores the file.", "",
    "Each line is an option without hyphens, with its value after '=' or a space.",
    "A line in brackets begins the options of one command.",
    "A comment is a line that begins with '#'.", "",
    "  timeout = 10", "  base = https://api.example.com", "  header = Accept: application/json", "  no-follow", "",
    "  [download]", "  segments = 4", "",
    "A section overrides the lines above the first section.",
    "Command-line options override the file. A header field overrides only",
    "fields with the same name. A file with passwords or tokens must have mode 0600.",
  ]

  private static var writeOut: String {
    var lines = [
      "--write-out prints FORMAT to standard output after the transfer, as in curl.",
      "FORMAT may be @FILE, or @- for standard input.", "",
      "  \\n \\r \\t          line end, carriage return, tab",
      "  %%                percent sign",
      "  %header{NAME}     field of the response",
      "  %{stderr}         continue on standard error",
      "  %{stdout}         continue on standard output", "", "Variables",
    ]
    lines += rows(WriteOut.Variable.allCases.map { ("%{\($0.rawValue)}", $0.help) })
    lines += ["", "Example", "  martlet URL -o file -w '%{http_code} %{time_total}\\n'"]
    return lines.joined(separator: "\n") + "\n"
  }
}
