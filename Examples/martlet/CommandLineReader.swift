/// An option as given by the user.
struct GivenOption: Sendable {
  let option: OptionEntry
  /// The name as written.
  let spelling: String
  /// The value; empty for an option without one.
  let value: String
  /// The file and line of an option in a configuration file.
  var place: String?
  /// The command of a section in a configuration file; `nil` means all commands.
  var command: CommandName?
}

/// Splits a command line into options and other words, with the table of options.
///
/// All commands share the names of options, so the command may stand after options.
struct CommandLineReader {
  /// The options in their order.
  private(set) var options: [GivenOption] = []
  /// The other words: a command, a method, a URL, items.
  private(set) var words: [String] = []
  private var rest: ArraySlice<String>

  /// Reads the program's arguments without its name.
  init(_ arguments: [String]) throws(UsageError) {
    rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        words += rest
        rest = []
      } else if argument.hasPrefix("--") {
        try readLongOption(argument)
      } else if argument.hasPrefix("-"), argument != "-" {
        try readLetters(argument)
      } else {
        words.append(argument)
      }
    }
  }

  /// Whether the user has given an option.
  func contains(_ name: String) -> Bool { options.contains { $0.option.name == name } }

  private mutating func readLongOption(_ argument: String) throws(UsageError) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = OptionEntry.byName[name] else { throw CurlOptions.problem(name) }
    let attached = parts.count > 1 ? String(parts[1]) : nil
    if !option.takesValue, let attached {
      throw UsageError("the option '\(name)' takes no value, but got '\(attached)'")
    }
    try add(option, name, attached)
  }

  /// Reads `-v`, `-iv` and `-o file`.
  private mutating func readLetters(_ argument: String) throws(UsageError) {
    for (index, letter) in argument.dropFirst().enumerated() {
      guard let option = OptionEntry.byLetter[letter] else { throw CurlOptions.problem("-\(letter)", in: argument) }
      let attached = argument.dropFirst(index + 2)
      if option.takesValue, attached.hasPrefix("=") { throw Self.mark(after: letter, option) }
      try add(option, "-\(letter)", option.takesValue && !attached.isEmpty ? String(attached) : nil)
      if option.takesValue { return }
    }
  }

  /// The error for `-o=file`, which would name the file `=file`; shows no value, which may be a secret.
  private static func mark(after letter: Character, _ option: OptionEntry) -> UsageError {
    let value = option.value.placeholder ?? "VALUE"
    let long = option.isLetterOnly ? "" : " or \(option.name)=\(value)"
    return UsageError("'-\(letter)=' has a '=' after the letter; write -\(letter) \(value)\(long)")
  }

  private mutating func add(_ option: OptionEntry, _ spelling: String, _ attached: String?) throws(UsageError) {
    var value = attached ?? ""
    if option.takesValue, attached == nil {
      guard let next = rest.popFirst() else { throw UsageError("the option '\(spelling)' needs a value") }
      if let file = option.value.file, Self.isOption(next) {
        throw UsageError(
          "the option '\(spelling)' needs a \(file), but the option '\(next)' follows; './\(next)' is a file")
      }
      value = next
    }
    if option.name == "--url" { words.append(value) }
    options.append(GivenOption(option: option, spelling: spelling, value: value))
  }

  private static func isOption(_ word: String) -> Bool {
    guard word.hasPrefix("-"), let letter = word.dropFirst().first else { return false }
    return OptionEntry.byName[word] != nil || word.count == 2 && OptionEntry.byLetter[letter] != nil
  }
}

// MARK: Checks

extension CommandLineReader {
  /// Adds the options of a configuration file, except those that the command line overrides or excludes.
  mutating func add(defaults: [GivenOption], for command: CommandName) {
    let usable = defaults.filter {
      $0.option.commands.contains(command) && ($0.command == nil || $0.command == command)
    }
    let given = options
    // The section of the command overrides the options of all commands, in the same way.
    let section = usable.filter { $0.command != nil }
    let used = usable.filter { entry in
      !(entry.command == nil ? given + section : given).contains {
        ($0.option.name == entry.option.name && !entry.option.isRepeatable) || Self.exclude($0.option, entry.option)
      }
    }
    options = used + options
  }

  /// Rejects options of other commands, and options that exclude each other.
  func check(for command: CommandName) throws(UsageError) {
    for given in options where !given.option.commands.contains(command) {
      throw Self.foreign(given, command)
    }
    var known: [GivenOption] = []
    var names: Set<String> = []
    for given in options where names.insert(given.option.name).inserted {
      if let other = known.first(where: { Self.exclude($0.option, given.option) }) {
        throw UsageError("\(other.spelling) and \(given.spelling) exclude each other")
      }
      known.append(given)
    }
  }

  /// Whether two options exclude each other.
  static func exclude(_ one: OptionEntry, _ other: OptionEntry) -> Bool {
    one.conflicts.contains(other.name) || other.conflicts.contains(one.name)
  }

  private static func foreign(_ given: GivenOption, _ command: CommandName) -> UsageError {
    let owners = CommandName.allCases.filter { given.option.commands.contains($0) }
    let names = owners.prefix(2).map { "'martlet \($0.rawValue)'" }.joined(separator: " and ")
    // HTTPie's options show all redirects, and compress the body.
    let ways = ["--all": "; -v shows redirects", "--compress": "; 'martlet upload FILE URL --gzip' compresses a file"]
    let way = command == .request ? ways[given.option.name] ?? "" : ""
    return UsageError("'\(given.spelling)' is an option of \(names), not of 'martlet \(command.rawValue)'\(way)")
  }
}
