/// An option's row in the table, from which the parser, help, completions and manual page derive.
struct OptionEntry: Sendable {
  /// The value of an option, with its placeholder in the help.
  enum Value: Equatable, Sendable {
    case none
    case text(String)
    case file(String)
    case folder(String)
    case choice(String, [String])

    /// The placeholder, or `nil` for an option without a value.
    var placeholder: String? {
      switch self {
      case .none: nil
      case .text(let name), .file(let name), .folder(let name), .choice(let name, _): name
      }
    }

    /// The noun of a value that is only the name of a file or a folder; `nil` for other values.
    var file: String? {
      switch self {
      case .file("FILE"), .file("PATH"): "file"
      case .folder: "folder"
      case .none, .text, .file, .choice: nil
      }
    }
  }

  /// A section of the help.
  enum Group: String, CaseIterable, Sendable {
    case command = "Options of the command"
    case content = "Request"
    case output = "Output"
    case time = "Time and retries"
    case identity = "Credentials and cookies"
    case connection = "Connection and trust"
    case tool = "Tool"
    case accepted = "Accepted without effect"
  }

  /// The long name, or the letter of an option without one.
  let name: String
  /// The one-letter names; the first one is shown.
  let letters: [Character]
  /// Other long names, such as those of curl.
  let synonyms: [String]
  let value: Value
  let group: Group
  /// The effect on one line; begins with a verb and ends without a period.
  let help: String
  let commands: Set<CommandName>
  /// The names of the options that this option excludes.
  let conflicts: [String]
  /// Whether a configuration file may contain the option.
  let isConfigurable: Bool

  init(
    _ name: String, short letters: String = "", also synonyms: [String] = [], value: Value = .none, _ group: Group,
    _ help: String, _ commands: Set<CommandName>, conflicts: [String] = [], isConfigurable: Bool = true
  ) {
    (self.name, self.letters, self.synonyms) = (name, Array(letters), synonyms)
    (self.value, self.group, self.help, self.commands) = (value, group, help, commands)
    (self.conflicts, self.isConfigurable) = (conflicts, isConfigurable)
  }

  var takesValue: Bool { value != .none }
  /// Whether the option has only a one-letter name.
  var isLetterOnly: Bool { !name.hasPrefix("--") }
  /// Whether a further value does not replace the previous one.
  var isRepeatable: Bool { ["--header", "--cookie", "--cookies-txt", "--resolve", "--subprotocol"].contains(name) }
  /// All long names.
  var longNames: [String] { (isLetterOnly ? [] : [name]) + synonyms }
  /// All names as written on a command line.
  var spellings: [String] { letters.map { "-\($0)" } + longNames }

  /// The names and the placeholder as the help shows them, such as `-o, --output FILE`.
  var heading: String {
    let short = letters.first.map { "-\($0)" }
    let names = isLetterOnly ? short ?? name : short.map { "\($0), \(name)" } ?? "    \(name)"
    return names + (value.placeholder.map { " \($0)" } ?? "")
  }

  /// The rows of all options, in the order of the help.
  static let all: [OptionEntry] = ofCommands + ofContent + ofOutput + ofTime + ofIdentity + ofConnection + ofTool
  /// The rows by long name.
  static let byName: [String: OptionEntry] = Dictionary(
    all.flatMap { entry in entry.longNames.map { ($0, entry) } }, uniquingKeysWith: { first, _ in first })
  /// The rows by letter.
  static let byLetter: [Character: OptionEntry] = Dictionary(
    all.flatMap { entry in entry.letters.map { ($0, entry) } }, uniquingKeysWith: { first, _ in first })

  /// The commands that send requests.
  static let sending: Set<CommandName> = [.request, .download, .upload, .load, .sse, .ws]
}
