import Foundation
import Martlet

/// The configuration file, which contains default options.
///
/// Each line is an option without hyphens, with its value after `=` or a space. A line in brackets begins the options
/// of one command. A line that begins with `#` is a comment.
struct ConfigFile {
  /// The maximum size in bytes.
  private static let maximumBytes = 1 << 20

  /// The name for errors.
  let name: String
  /// Whether only the owner can read the file.
  let isPrivate: Bool

  /// Returns the path of the usual file, or `nil` if the user has disabled it.
  static func path(_ environment: [String: String]) -> String? {
    if let named = environment["MARTLET_CONFIG"] { return named.isEmpty ? nil : named }
    return ToolFolder.path(environment).map { "\($0)/config" }
  }

  /// Reads the options of a file.
  ///
  /// - Parameters:
  ///   - file: The file of `--config`; `nil` means the usual file, which may be missing.
  ///   - environment: The environment.
  /// - Returns: The options in their order.
  /// - Throws: ``UsageError`` with the file and the line.
  static func load(
    _ file: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(UsageError) -> [GivenOption] {
    guard let path = file ?? Self.path(environment) else { return [] }
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      if errno == ENOENT, file == nil, environment["MARTLET_CONFIG"] == nil { return [] }
      throw UsageError("the configuration file '\(path)' cannot be read: \(String(cString: strerror(errno)))")
    }
    // Other users could set a proxy.
    guard facts.st_mode & 0o002 == 0 || facts.st_mode & S_IFMT != S_IFREG else {
      throw UsageError("others can change the configuration file '\(path)'; run chmod o-w '\(path)'")
    }
    let data = try InputFile.contents(of: path, for: "--config", limit: maximumBytes)
    guard let text = String(validating: data, as: UTF8.self) else {
      throw UsageError("the configuration file '\(path)' is not UTF-8 text")
    }
    return try ConfigFile(name: path, isPrivate: facts.st_mode & 0o077 == 0).options(text)
  }

  /// Reads the options of a text.
  func options(_ text: String) throws(UsageError) -> [GivenOption] {
    var options: [GivenOption] = []
    var command: CommandName?
    // Some editors begin a file with a byte order mark.
    let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.isEmpty || line.hasPrefix("#") { continue }
      let place = "\(name):\(index + 1)"
      do {
        if line.hasPrefix("[") {
          command = try Self.section(line)
        } else if var option = try option(line, command) {
          option.place = place
          try Self.check(option, beside: options)
          options.append(option)
        }
      } catch {
        throw UsageError("\(place): \(error.description)")
      }
    }
    return options
  }

  /// Rejects an option that another option in the same section excludes.
  private static func check(_ option: GivenOption, beside others: [GivenOption]) throws(UsageError) {
    for other in others where other.command == option.command {
      guard CommandLineReader.exclude(other.option, option.option) else { continue }
      throw UsageError("\(other.option.name.dropFirst(2)) and \(option.option.name.dropFirst(2)) exclude each other")
    }
  }

  private static func section(_ line: String) throws(UsageError) -> CommandName {
    let name = String(line.dropFirst().prefix { $0 != "]" })
    let names = OptionEntry.sending.map(\.rawValue).sorted()
    guard line.hasSuffix("]"), let command = CommandName(rawValue: name), OptionEntry.sending.contains(command) else {
      let guess = Suggestion.nearest(to: name, in: names).map { "did you mean [\($0)]?" }
      throw UsageError("'[\(name)]' is not a section; \(guess ?? "use one of \(names.joined(separator: ", "))")")
    }
    return command
  }

  /// Returns the option of a line; `nil` if the line disables a flag.
  private func option(_ line: String, _ command: CommandName?) throws(UsageError) -> GivenOption? {
    let spelled = line.prefix { !$0.isWhitespace && $0 != "=" }
    var rest = line[spelled.endIndex...].drop(while: \.isWhitespace)
    let hasMark = rest.hasPrefix("=")
    if hasMark { rest = rest.dropFirst().drop(while: \.isWhitespace) }
    let value = Self.unquoted(String(rest))
    let option = try Self.entry(String(spelled))
    guard option.isConfigurable else {
      throw UsageError("'\(spelled)' cannot be a default; give the option on the command line")
    }
    if let command, !option.commands.contains(command) {
      throw UsageError("'\(spelled)' is not an option of 'martlet \(command.rawValue)'")
    }
    guard option.takesValue else {
      guard ["", "true", "false"].contains(value) else {
        throw UsageError("the option '\(spelled)' takes no value but true or false\(Self.commentHint(value))")
      }
      return value == "false" ? nil : GivenOption(option: option, spelling: option.name, value: "", command: command)
    }
    if rest.isEmpty { throw UsageError("the option '\(spelled)' needs a value") }
    if !isPrivate, Self.isSecret(value, of: option) {
      throw UsageError("'\(spelled)' is a secret, and others can read the file; run chmod 600 \(name)")
    }
    return GivenOption(option: option, spelling: option.name, value: value, command: command)
  }

  /// Finds an option by its name with or without hyphens.
  private static func entry(_ spelled: String) throws(UsageError) -> OptionEntry {
    let name = String(spelled.drop { $0 == "-" })
    if name.count == 1, let option = OptionEntry.byLetter[name.first ?? " "] { return option }
    if let option = OptionEntry.byName["--\(name)"] { return option }
    if let colon = name.firstIndex(of: ":"), let option = try? entry(String(name[..<colon])) {
      let placeholder = option.value.placeholder.map { " = \($0)" } ?? ""
      throw UsageError("'\(name[...colon])' has a colon; write \(name[..<colon])\(placeholder)")
    }
    throw CurlOptions.problem("--\(name)")
  }

  /// A hint for a value that contains a comment, or nothing.
  static func commentHint(_ value: String) -> String {
    let hasComment = value.hasPrefix("#") || value.contains(" #") || value.contains("\t#")
    return hasComment ? "; a comment needs its own line" : ""
  }

  /// Removes the double quotes around a value, in which a backslash escapes a quote or a backslash.
  private static func unquoted(_ text: String) -> String {
    guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
    return String(text.dropFirst().dropLast()).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
  }

  private static func isSecret(_ value: String, of option: OptionEntry) -> Bool {
    switch option.name {
    case "--bearer": !value.hasPrefix("@")
    case "--user", "--cert": value.contains(":")
    case "--cookie": value.contains("=")
    case "--proxy", "--base": value.contains("@")
    case "--header": Redaction.standard.hides(field: String(value.prefix { $0 != ":" }))
    default: false
    }
  }
}

/// The folder of the tool's files.
enum ToolFolder {
  /// Returns the folder: `$XDG_CONFIG_HOME/martlet`, or `~/.config/martlet`; `nil` without a home.
  static func path(_ environment: [String: String]) -> String? {
    // A relative path is invalid and ignored (XDG Base Directory Specification).
    if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return "\(folder)/martlet" }
    return environment["HOME"].flatMap { $0.hasPrefix("/") ? "\($0)/.config/martlet" : nil }
  }
}
