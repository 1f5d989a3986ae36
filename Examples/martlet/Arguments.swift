import Foundation
import Martlet

/// Reads a command line; touches neither files nor the network.
struct Arguments {
  private var rest: ArraySlice<String>
  private var positionals: [String] = []
  private var command = RequestCommand(url: "")
  /// The option with which the user has requested a form.
  private var formOption: String?
  private var body: RequestCommand.Content?
  private var shortcut: Command?
  private var removesAll = false
  private var data: [PostedData] = []
  /// Whether the data comes from curl's `--json`.
  private var isJSON = false
  private var parts: [Part] = []
  private var isMultipart = false

  /// Reads the program's arguments without its name.
  static func parse(_ arguments: [String]) throws(UsageError) -> Command {
    // The command has its own options. To reach a host with this name, write a method before it or a path after it.
    if arguments.first == "download", arguments.count > 1 {
      return .download(try DownloadCommand.parse(Array(arguments.dropFirst())))
    }
    if arguments.first == "upload", arguments.count > 1 {
      return .upload(try UploadCommand.parse(Array(arguments.dropFirst())))
    }
    if arguments.first == "load", arguments.count > 1 {
      return .load(try LoadCommand.parse(Array(arguments.dropFirst())))
    }
    var parser = Arguments(arguments)
    return try parser.parse()
  }

  private init(_ arguments: [String]) { rest = arguments[...] }

  private mutating func parse() throws(UsageError) -> Command {
    while let argument = rest.popFirst() {
      if argument == "--" {
        positionals += rest
        rest = []
      } else if argument.hasPrefix("--") {
        try readLongOption(argument)
      } else if argument.hasPrefix("-"), argument != "-" {
        try readShortOptions(argument)
      } else {
        positionals.append(argument)
      }
    }
    if let shortcut { return shortcut }
    if let name = positionals.first, let command: Command = ["demo": .demo, "doctor": .doctor][name] {
      guard positionals.count == 1 else {
        throw UsageError("'\(name)' takes no arguments, but got '\(positionals[1])'")
      }
      return command
    }
    // To reach a host with this name, write a method before it or a path after it.
    if positionals.first == "cache", positionals.count > 1 {
      return .cache(try CacheCommand.parse(Array(positionals.dropFirst()) + (removesAll ? ["--all"] : [])))
    }
    if positionals.first == "har", positionals.count > 1 {
      return .har(
        try HARCommand.parse(
          Array(positionals.dropFirst()), output: command.output, explains: command.explains))
    }
    if removesAll { throw UsageError("unknown option '--all'; see martlet --help") }
    if positionals.first == "sse", positionals.count > 1 {
      positionals.removeFirst()
      // For an event stream, standard input is the body only if the user requests it.
      command.ignoresInput = true
      if command.har != nil { throw UsageError("'martlet sse' has no --har") }
      if command.output != nil { throw UsageError("'martlet sse' has no -o: redirect its standard output") }
      return .events(SSECommand(command: try request()))
    }
    return .request(try request())
  }

  // MARK: Options

  private mutating func readLongOption(_ argument: String) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    // Only the short form is supported, because curl's `--form` and Martlet's differ in meaning.
    if name == "--form-part" { throw CurlOptions.problem(name) }
    try read(CurlOptions.synonyms[name] ?? name, name, parts.count > 1 ? String(parts[1]) : nil)
  }

  /// Reads `-v`, `-iv` and `-o file`.
  private mutating func readShortOptions(_ argument: String) throws(UsageError) {
    for (index, letter) in argument.dropFirst().enumerated() {
      guard let name = CurlOptions.letters[letter] else { throw CurlOptions.problem("-\(letter)", in: argument) }
      guard CurlOptions.takesValue(name) else {
        try readFlag(name, "-\(letter)")
        continue
      }
      let attached = String(argument.dropFirst(index + 2))
      return try read(name, "-\(letter)", attached.isEmpty ? nil : attached)
    }
  }

  /// Reads an option; `spelling` is the name that the user has written.
  private mutating func read(_ name: String, _ spelling: String, _ attached: String?) throws(UsageError) {
    guard CurlOptions.takesValue(name) else {
      guard let attached else { return try readFlag(name, spelling) }
      guard CurlOptions.isFlag(name) else { throw CurlOptions.problem(name) }
      throw UsageError("the option '\(name)' takes no value, but got '\(attached)'")
    }
    let value = try value(of: spelling, attached)
    switch name {
    case "--body": body = Self.content(value)
    // The maximum is 30 years, which any clock can add.
    case "--timeout": command.timeout = .seconds(try Self.number(value, of: name, in: 0.001...1e9))
    case "--retry": command.retries = try Self.count(value, of: name, in: 0...1000)
    case "--cache": command.cache = try path(value, of: spelling)
    case "--har": command.har = try path(value, of: spelling)
    case "--output": command.output = try path(value, of: spelling)
    case "--request":
      if value.isEmpty { throw UsageError("the option '\(spelling)' needs a method") }
      command.method = Self.method(value) ?? value
    case "--header":
      let (name, value) = try CurlOptions.header(value)
      command.headers.append(value, for: name)
    case "--user-agent": command.headers.append(value, for: "User-Agent")
    case "--referer": command.headers.append(value, for: "Referer")
    case "--url": positionals.append(value)
    case "--json":
      isJSON = true
      data.append(try PostedData(name, value))
    case "--data", "--data-ascii", "--data-raw", "--data-binary": data.append(try PostedData(name, value))
    case "--form-part": parts.append(try Part(curl: value))
    case "--form-string": parts.append(try Part(curl: value, isLiteral: true))
    case _ where Identity.options.contains(name): try command.identity.read(name, value)
    default: try command.connecting.read(name, value)
    }
  }

  private mutating func readFlag(_ name: String, _ spelling: String) throws(UsageError) {
    switch name {
    case "--form": formOption = spelling
    case "--multipart": isMultipart = true
    case "--ignore-stdin": command.ignoresInput = true
    case "--head":
      command.method = "HEAD"
      command.includesHead = true
    case "--no-follow": command.followsRedirects = false
    case "--all": removesAll = true
    case "--verbose": command.isVerbose = true
    case "--explain": command.explains = true
    case "--include": command.includesHead = true
    case "--timing": command.showsTiming = true
    case "--no-proxy": command.connecting.isDirect = true
    case "--http1.0", "--http1.1", "--http2": try command.connecting.read("--http", String(name.dropFirst(6)))
    case "--http2-prior-knowledge": command.connecting.version = .http2PriorKnowledge
    case _ where Identity.flags.contains(name): try command.identity.read(flag: name)
    case "--insecure": command.connecting.isInsecure = true
    case "--help": shortcut = .help
    case "--version": shortcut = shortcut ?? .version
    case _ where CurlOptions.needless.contains(name): break
    default: throw CurlOptions.problem(name)
    }
  }

  private mutating func value(of name: String, _ attached: String?) throws(UsageError) -> String {
    if let attached { return attached }
    guard let next = rest.popFirst() else { throw UsageError("the option '\(name)' needs a value") }
    return next
  }

  private func path(_ value: String, of name: String) throws(UsageError) -> String {
    guard !value.isEmpty else { throw UsageError("the option '\(name)' needs the name of a file") }
    return value
  }

  private static func content(_ value: String) -> RequestCommand.Content {
    if value == "-" || value == "@-" { return .input }
    return value.hasPrefix("@") ? .file(String(value.dropFirst())) : .text(value)
  }

  /// Reads an option's number, whose range keeps out NaN, infinity and durations that overflow.
  static func number(_ text: String, of name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double {
    guard let number = Double(text), range.contains(number) else {
      throw UsageError("\(name) needs a number from \(range.lowerBound) to \(Int(range.upperBound)), not '\(text)'")
    }
    return number
  }

  /// Reads an option's whole number.
  static func count(_ text: String, of name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let count = Int(text), range.contains(count) else {
      throw UsageError(
        "\(name) needs a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return count
  }

  // MARK: Method, URL and items

  private func request() throws(UsageError) -> RequestCommand {
    var command = command
    var items = positionals[...]
    if let first = items.first, let method = Self.method(first) {
      guard items.count > 1 else { throw UsageError("'\(first)' is a method, and the URL is missing") }
      if let other = command.method, other != method {
        throw UsageError("the method '\(first)' and the option for '\(other)' exclude each other")
      }
      command.method = method
      items.removeFirst()
    }
    guard let url = items.popFirst() else { throw UsageError("the URL is missing; see martlet --help") }
    command.url = try Self.absolute(url)
    var fields: [RequestCommand.Field] = []
    var parts: [Part] = []
    for item in items {
      switch try Item.parse(item) {
      case .query(let name, let value): command.query.append(name, value)
      case .header(let name, let value): command.headers.append(value, for: name)
      case .file(let part): parts.append(part)
      case .field(let field):
        fields.append(field)
        switch field.value {
        case .text(let text): parts.append(Part(name: ItemPath.literal(field.name), text: text))
        case .file(let path, isJSON: false): parts.append(Part(name: ItemPath.literal(field.name), contents: path))
        case .json, .file: break
        }
      }
    }
    command.content = try content(fields, self.parts + parts)
    if isJSON, !command.headers.contains("Accept") { command.headers["Accept"] = "application/json" }
    try command.connecting.check()
    try command.identity.check()
    return command
  }

  /// Returns the content to send.
  ///
  /// `parts` includes the fields, for a form that also contains files.
  private func content(
    _ fields: [RequestCommand.Field], _ parts: [Part]
  ) throws(UsageError) -> RequestCommand.Content {
    if body != nil || !data.isEmpty {
      let option = body != nil ? "--body" : isJSON ? "--json" : "-d"
      if let name = fields.first?.name ?? parts.first?.name {
        throw UsageError("\(option) and the data item '\(name)' exclude each other")
      }
      if formOption != nil || isMultipart {
        let other = formOption ?? "--multipart"
        throw UsageError("\(option) and \(other) exclude each other\(formHint)")
      }
      if body != nil && !data.isEmpty { throw UsageError("--body and -d exclude each other") }
      return body ?? .posted(data, isJSON: isJSON)
    }
    let hasFiles = isMultipart || parts.contains { if case .file = $0.value { true } else { false } }
    if let formOption, fields.isEmpty, parts.isEmpty {
      throw UsageError("\(formOption) needs data items, such as name=text\(formHint)")
    }
    guard hasFiles || formOption != nil || !self.parts.isEmpty else {
      _ = try RequestCommand.document(fields)
      return fields.isEmpty ? .none : .json(fields)
    }
    for field in fields {
      switch field.value {
      case .json, .file(_, isJSON: true):
        throw UsageError("'\(field.name):=' makes JSON, which a form (--form) cannot carry")
      case .text, .file: break
      }
    }
    if parts.isEmpty { return .none }
    return hasFiles || !self.parts.isEmpty ? .multipart(parts) : .form(fields)
  }

  /// A hint for users who expect curl's `-f`.
  private var formHint: String {
    formOption == "-f" ? "; curl's -f (--fail) is the exit code here, which is 4 or 5 for such statuses" : ""
  }

  /// The method named by a word: any word in capitals, or a common method in any case.
  private static func method(_ word: String) -> String? {
    let common = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
    if common.contains(word.uppercased()) { return word.uppercased() }
    let isName = word.utf8.allSatisfy { (65...90).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    return isName && !word.isEmpty ? word : nil
  }

  /// Completes a URL: `:8080/x` is on this machine, and the scheme can be omitted.
  static func absolute(_ text: String) throws(UsageError) -> String {
    if text.isEmpty { throw UsageError("the URL is empty") }
    if text.contains("://") { return text }
    if let scheme = ["http", "https"].first(where: { text.lowercased().hasPrefix("\($0):/") }) {
      let rest = text.dropFirst(scheme.count + 1).drop { $0 == "/" }
      throw UsageError("'\(text)' has one slash after its scheme; write \(scheme)://\(rest)")
    }
    if text.hasPrefix(":") {
      let rest = text.dropFirst()
      return "http://localhost" + (rest.first?.isNumber == true ? ":" : "") + rest
    }
    let authority = text.prefix { !"/?#".contains($0) }
    let host = (authority.split(separator: "@").last ?? "").lowercased()
    let name = host.hasPrefix("[") ? String(host.prefix { $0 != "]" }) : String(host.prefix { $0 != ":" })
    let isLocal = name == "localhost" || name.hasSuffix(".localhost") || name.hasPrefix("127.") || name == "[::1"
    return (isLocal ? "http://" : "https://") + text
  }
}
