import Foundation
import Martlet

/// Reads a command line; touches neither the network nor, except for ``Defaults``, files.
struct Arguments {
  /// Returns the options in the configuration file; `nil` means the usual file.
  typealias Defaults = (_ file: String?) throws(UsageError) -> [GivenOption]

  private var command = RequestCommand(url: "")
  /// The option with which the user has requested a form.
  private var formOption: String?
  private var body: RequestCommand.Content?
  private var data: [PostedData] = []
  /// Whether the data comes from curl's `--json`.
  private var isJSON = false
  private var parts: [Part] = []
  private var isMultipart = false
  private var base: String?
  /// The configuration file's header fields, which others with the same name replace.
  private var defaultHeaders = HTTPHeaders()
  /// The first option whose value looks like a URL.
  private var urlTaker: GivenOption?
  /// The values of the options that belong to one command only.
  private(set) var own: [String: String] = [:]
  /// All values of the command's options that can be repeated.
  private(set) var repeated: [String: [String]] = [:]
  /// Whether URLs may have the schemes ws and wss.
  private var isWebSocket = false

  /// Reads the program's arguments without its name.
  ///
  /// - Parameters:
  ///   - arguments: The words on the command line.
  ///   - defaults: Reads the configuration file of `--config`, or the usual one; returns nothing by default.
  /// - Returns: The command.
  /// - Throws: ``UsageError`` that names the wrong word and the nearest right one.
  static func parse(
    _ arguments: [String], defaults: Defaults = { (_) throws(UsageError) in [] }
  ) throws(UsageError) -> Command {
    var line = try CommandLineReader(arguments)
    var words = line.words[...]
    let name = words.first.flatMap { CommandName(rawValue: $0) }
    if line.contains("--help") {
      return .help(name.map { .command($0) } ?? (words.isEmpty ? .overview : .command(.request)))
    }
    if line.contains("--version") { return .version }
    if name != nil { words.removeFirst() }
    let command = name ?? .request
    try line.check(for: command)
    if OptionEntry.sending.contains(command), !line.contains("--no-config") {
      line.add(defaults: try defaults(line.options.last { $0.option.name == "--config" }?.value), for: command)
    }
    var arguments = Arguments()
    arguments.isWebSocket = command == .ws
    for option in line.options { try arguments.apply(option) }
    return try arguments.finish(command, Array(words), isNamed: name != nil)
  }

  private func finish(_ name: CommandName, _ words: [String], isNamed: Bool) throws(UsageError) -> Command {
    switch name {
    case .help: return .help(try Help.Topic(words))
    case .demo, .doctor, .manual:
      if let word = words.first { throw UsageError("'\(name.rawValue)' takes no arguments, but got '\(word)'") }
      return name == .demo ? .demo : name == .doctor ? .doctor : .manual
    case .completion: return .completion(try Self.shell(words))
    case .cache: return .cache(try CacheCommand.parse(words + (own["--all"] != nil ? ["--all"] : [])))
    case .har: return .har(try HARCommand.parse(words, output: command.output, explains: command.explains))
    case .download: return .download(try DownloadCommand(words, self))
    case .upload: return .upload(try UploadCommand(words, self))
    case .load: return .load(try LoadCommand(words, self))
    case .sse:
      var arguments = self
      // For an event stream, standard input is the body only if the user requests it.
      arguments.command.ignoresInput = true
      return .events(SSECommand(command: try arguments.request(words, for: .sse)))
    case .ws: return .webSocket(try WebSocketCommand(words, self))
    case .request: return .request(try request(words, for: isNamed ? .request : nil))
    }
  }

  private static func shell(_ words: [String]) throws(UsageError) -> Shell {
    let names = Shell.allCases.map(\.rawValue)
    guard let word = words.first, words.count == 1 else {
      throw UsageError("'martlet completion' needs one of \(names.joined(separator: ", "))")
    }
    guard let shell = Shell(rawValue: word) else {
      let advice = Suggestion.nearest(to: word, in: names).map { "did you mean \($0)?" }
      throw UsageError("unknown shell '\(word)'; \(advice ?? "use one of \(names.joined(separator: ", "))")")
    }
    return shell
  }

  // MARK: Options

  private mutating func apply(_ given: GivenOption) throws(UsageError) {
    do {
      if given.place == nil, urlTaker == nil, Self.mayTakeURL(given) { urlTaker = given }
      switch (given.place, given.option.name) {
      case (_?, "--header"):
        let (name, value) = try CurlOptions.header(given.value)
        defaultHeaders.append(value, for: name)
      case (_?, "--user-agent"): defaultHeaders["User-Agent"] = given.value
      case (let place, let name):
        if place != nil, name == "--user" || name == "--bearer" { command.identity.isDefault = true }
        try apply(given.option, given.spelling, given.value)
      }
    } catch {
      guard let place = given.place else { throw error }
      throw UsageError("\(place): \(error)\(ConfigFile.commentHint(given.value))")
    }
  }

  private mutating func apply(_ option: OptionEntry, _ spelling: String, _ value: String) throws(UsageError) {
    let name = option.name
    if option.group == .command {
      own[name] = value
      if option.isRepeatable { repeated[name, default: []].append(value) }
      return
    }
    switch name {
    case "--body": body = Self.content(value)
    case "--timeout": command.timeout = try Self.seconds(value, of: spelling)
    case "--connect-timeout": command.connectTimeout = try Self.seconds(value, of: spelling)
    case "--retry": command.retries = try Self.count(value, of: name, in: 0...1000)
    case "--max-redirects": command.maximumRedirects = try Self.count(value, of: spelling, in: 0...1000)
    case "--cache": command.cache = try path(value, of: spelling)
    case "--har": command.har = try path(value, of: spelling)
    case "--output": command.output = try path(value, of: spelling)
    case "--request":
      if value.isEmpty { throw UsageError("the option '\(spelling)' needs a method") }
      if value.contains("/") { throw UsageError("'\(spelling)' is followed by a URL instead of a method") }
      command.method = Self.method(value) ?? value
    case "--header":
      let (name, value) = try CurlOptions.header(value)
      command.headers.append(value, for: name)
    case "--user-agent": command.headers.append(value, for: "User-Agent")
    case "--referer": command.headers.append(value, for: "Referer")
    case "--base":
      try Address.check(base: value, isWebSocket: isWebSocket)
      base = value
    case "--session", "--session-read-only":
      command.session = try path(value, of: spelling)
      command.isSessionReadOnly = name == "--session-read-only"
    case "--print": command.shownParts = try ShownParts(value)
    case "--pretty":
      guard let pretty = Pretty(rawValue: value) else {
        let names = Pretty.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--pretty needs one of \(names), not '\(value)'")
      }
      command.pretty = pretty
    case "--write-out":
      // A later option replaces an earlier one.
      command.writeOutFile = value.hasPrefix("@") ? try path(String(value.dropFirst()), of: spelling) : nil
      command.writeOut = command.writeOutFile == nil ? try WriteOut(value) : nil
    case "--json":
      isJSON = true
      data.append(try PostedData(name, value))
    case "--data", "--data-ascii", "--data-raw", "--data-binary": data.append(try PostedData(name, value))
    case "-F": parts.append(try Part(curl: value))
    case "--form-string": parts.append(try Part(curl: value, isLiteral: true))
    case "--form": formOption = spelling
    case _ where option.group == .identity && option.takesValue: try command.identity.read(name, value)
    case _ where option.group == .connection && option.takesValue: try command.connecting.read(name, value)
    default: try applyFlag(name)
    }
  }

  private mutating func applyFlag(_ name: String) throws(UsageError) {
    switch name {
    case "--multipart": isMultipart = true
    case "--ignore-stdin": command.ignoresInput = true
    case "--head":
      command.method = "HEAD"
      command.includesHead = true
    case "--no-follow": command.followsRedirects = false
    case "--verbose": command.isVerbose = true
    case "--explain": command.explains = true
    case "--include": command.includesHead = true
    case "--timing": command.showsTiming = true
    case "--offline": command.isOffline = true
    case "--curl": (command.isOffline, command.printsCurl) = (true, true)
    case "--no-proxy": command.connecting.isDirect = true
    case "--http1.0", "--http1.1", "--http2": try command.connecting.read("--http", String(name.dropFirst(6)))
    case "--http2-prior-knowledge": command.connecting.version = .http2PriorKnowledge
    case "--insecure": command.connecting.isInsecure = true
    case "--basic", "--digest", "--no-cookies": try command.identity.read(flag: name)
    // The URL is a word, the configuration has been read, and the others describe defaults.
    default: break
    }
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
  static func number(
    _ text: String, of name: String, in range: ClosedRange<Double>, unit: String = ""
  ) throws(UsageError) -> Double {
    guard let number = Double(text), range.contains(number) else {
      let bounds = "from \(range.lowerBound) to \(Int(range.upperBound))"
      throw UsageError("\(name) needs a number\(unit.isEmpty ? "" : " of \(unit)") \(bounds), not '\(text)'")
    }
    return number
  }

  /// Reads an option's duration of at most 30 years, which any clock can add.
  static func seconds(_ text: String, of name: String) throws(UsageError) -> Duration {
    .seconds(try number(text, of: name, in: 0.001...1e9, unit: "seconds"))
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

  /// Returns the request of a method, a URL and items.
  ///
  /// - Parameters:
  ///   - words: The words after the command's name.
  ///   - name: The command; `nil` if the command line does not name one.
  /// - Returns: The request.
  /// - Throws: ``UsageError`` if a word is missing or in the wrong place.
  func request(_ words: [String], for name: CommandName?) throws(UsageError) -> RequestCommand {
    var command = command
    var items = words[...]
    var hasMethod = false
    if let first = items.first, let method = Self.method(first) {
      guard items.count > 1 else { throw UsageError("'\(first)' is a method, and the URL is missing") }
      if let other = command.method, other != method {
        throw UsageError("the method '\(first)' and the option for '\(other)' exclude each other")
      }
      command.method = method
      hasMethod = true
      items.removeFirst()
    }
    guard let url = items.popFirst() else {
      throw missingURL("the URL is missing; see martlet \(name.map { "help \($0.rawValue)" } ?? "--help")")
    }
    command.url = try self.url(url, isFirst: name == nil && !hasMethod, next: items.first)
    var fields: [RequestCommand.Field] = []
    var parts: [Part] = []
    var file: String?
    for item in items {
      switch try Item.parse(item) {
      case .query(let name, let value): command.query.append(name, value)
      case .header(let name, let value): command.headers.append(value, for: name)
      case .file(let part): parts.append(part)
      case .body(let path):
        if let file { throw UsageError("'@\(file)' and '@\(path)' are two bodies; omit one") }
        file = path
      case .field(let field):
        fields.append(field)
        switch field.value {
        case .text(let text): parts.append(Part(name: ItemPath.literal(field.name), text: text))
        case .file(let path, isJSON: false): parts.append(Part(name: ItemPath.literal(field.name), contents: path))
        case .json, .file: break
        }
      }
    }
    command.content = try content(fields, self.parts + parts, file: file)
    if isJSON, !command.headers.contains("Accept") { command.headers["Accept"] = "application/json" }
    addDefaults(to: &command)
    try command.connecting.check()
    try command.identity.check()
    return command
  }

  /// Adds the configuration file's header fields, unless the command line replaces them.
  ///
  /// An `Authorization` field and a token or user replace each other, because a request has one credential.
  private func addDefaults(to command: inout RequestCommand) {
    let given = command.headers
    if given.contains("Authorization") { command.identity.dropDefault() }
    let identity = command.identity
    let hasOption = !identity.isDefault && (identity.token != nil || identity.user != nil)
    let hasCredential = hasOption || command.urlHasUser
    for field in defaultHeaders where !given.contains(field.name) {
      let name = field.name.lowercased()
      if hasCredential, name == "authorization" { continue }
      command.headers.append(field.value, for: field.name)
      command.defaultFields.insert(name)
    }
  }

  /// Whether the value of an option looks like the command line's URL; ignores words that may be secrets.
  private static func mayTakeURL(_ given: GivenOption) -> Bool {
    let names = ["--data", "--body", "--json", "--cookie", "--save-cookies", "--output", "--har", "--session"]
    let (name, value) = (given.option.name, given.value)
    guard names.contains(name), value.contains("/") || value.hasPrefix(":") else { return false }
    return (try? Address.absolute(value)) != nil
  }

  /// The error for a missing URL, which names the option that has taken one as its value.
  func missingURL(_ message: String) -> UsageError {
    guard let taker = urlTaker else { return UsageError(message) }
    // These options have no value in HTTPie.
    let ways = ["-d": "'martlet download URL' downloads a file", "-b": "--print b shows only the body"]
    let way = ways[taker.spelling == "--body" ? "-b" : taker.spelling].map { "; \($0)" } ?? ""
    let value = Address.shown(taker.value)
    return UsageError("the URL is missing, because '\(value)' is the value of '\(taker.spelling)'\(way)")
  }

  /// Completes a URL from the command line.
  ///
  /// `isFirst` is whether the user may have meant a command or a method, and `next` is the word after the URL.
  func url(_ word: String, isFirst: Bool = false, next: String? = nil) throws(UsageError) -> String {
    do {
      return try Address.absolute(word, base: base, isWebSocket: isWebSocket)
    } catch {
      guard isFirst else { throw error }
      let methods = Self.methods.map { $0.lowercased() }
      guard let guess = Suggestion.nearest(to: word, in: CommandName.allCases.map(\.rawValue) + methods) else {
        let isMethod = next.map { (try? Address.absolute($0, base: base)) != nil } ?? false
        guard isMethod, word.allSatisfy(\.isLetter) else { throw error }
        let cure = "methods are in capitals, such as \(word.uppercased())"
        throw UsageError("'\(word)' is neither a command nor a URL; \(cure)")
      }
      let meant = CommandName(rawValue: guess).map { "martlet \($0.rawValue)" } ?? guess.uppercased()
      throw UsageError("'\(word)' is neither a command nor a URL; did you mean \(meant)?")
    }
  }

  /// Returns the content to send.
  ///
  /// `parts` includes the fields, for a form that also contains files. `file` is the file of the item `@FILE`.
  private func content(
    _ fields: [RequestCommand.Field], _ parts: [Part], file: String?
  ) throws(UsageError) -> RequestCommand.Content {
    if let file, body != nil { throw UsageError("--body and the item '@\(file)' exclude each other") }
    let body = file.map { Self.content("@\($0)") } ?? body
    if body != nil || !data.isEmpty {
      let option = file.map { "the item '@\($0)'" } ?? (body != nil ? "--body" : isJSON ? "--json" : "-d")
      if let name = fields.first?.name ?? parts.first?.name {
        throw UsageError("\(option) and the data item '\(name)' exclude each other")
      }
      if formOption != nil || isMultipart {
        let other = formOption ?? "--multipart"
        throw UsageError("\(option) and \(other) exclude each other\(formHint)")
      }
      if body != nil && !data.isEmpty { throw UsageError("\(option) and -d exclude each other") }
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

  /// The methods that may be written in any case.
  static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]

  /// The method named by a word: any word in capitals, or a common method in any case.
  private static func method(_ word: String) -> String? {
    if methods.contains(word.uppercased()) { return word.uppercased() }
    let isName = word.utf8.allSatisfy { (65...90).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    return isName && word.contains(where: \.isLetter) ? word : nil
  }
}
