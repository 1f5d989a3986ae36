import Martlet

/// The manual page in roff format, made from the tables of commands and options.
enum Manual {
  static var text: String {
    var lines = [".TH MARTLET 1 \"\" \"martlet \(HTTPClient.Configuration.version)\" \"User Commands\""]
    lines += [".SH NAME", "martlet \\- send HTTP requests and show the responses", ".SH SYNOPSIS"]
    for (index, usage) in CommandEntry.all.flatMap(\.usage).enumerated() {
      if index > 0 { lines.append(".br") }
      lines += [".B martlet", escaped(usage)]
    }
    lines += [".SH DESCRIPTION", escaped(Help.target[0])] + Help.target.dropFirst().flatMap { [".br", escaped($0)] }
    lines += [".PP"] + Help.output.map(escaped)
    lines.append(".SH COMMANDS")
    for entry in CommandEntry.all { lines += tag(entry.name.rawValue, sentence(entry.summary)) }
    lines += [".SH ITEMS"] + literal(Array(Help.items.dropFirst()))
    lines += [".SH PARTS"] + literal(Help.parts)
    lines.append(".SH OPTIONS")
    for group in OptionEntry.Group.allCases {
      lines.append(".SS \(group.rawValue)")
      for option in OptionEntry.all where option.group == group {
        let names = option.spellings.joined(separator: ", ")
        lines += tag(names + (option.value.placeholder.map { " \($0)" } ?? ""), sentence(option.help))
        lines.append(escaped("Commands: \(commands(of: option))."))
        if let conflicts = option.conflicts.isEmpty ? nil : option.conflicts.joined(separator: ", ") {
          lines.append(escaped("Excludes \(conflicts)."))
        }
      }
    }
    lines += [".SH CONFIGURATION"] + literal(Help.config)
    lines += [".SH \"WRITE\\-OUT VARIABLES\""]
    for variable in WriteOut.Variable.allCases { lines += tag("%{\(variable.rawValue)}", sentence(variable.help)) }
    lines += [".SH \"EXIT STATUS\""] + literal(Help.allExitCodes)
    lines += [".SH ENVIRONMENT"]
    for (name, meaning) in environment { lines += tag(name, meaning) }
    lines.append(".SH FILES")
    for (name, meaning) in files { lines += tag(name, meaning) }
    lines += [".SH EXAMPLES"] + literal(CommandEntry.all.flatMap(\.examples).map { "  martlet \($0)" })
    lines += [".SH \"SEE ALSO\"", ".BR curl (1)"]
    return lines.joined(separator: "\n") + "\n"
  }

  private static let environment = [
    ("MARTLET_CONFIG", "Names the configuration file. An empty value disables the file."),
    ("MARTLET_LOG", "Enables a log on standard error, such as headers or bodies."),
    ("NO_COLOR", "Disables colors."),
    ("http_proxy, https_proxy, all_proxy, no_proxy", "Select a proxy, unless an option does."),
    ("XDG_CONFIG_HOME", "Contains the folder martlet with the configuration file and the sessions."),
  ]

  private static let files = [
    ("~/.config/martlet/config", "Default options."),
    ("~/.config/martlet/sessions", "Private files of --session."),
  ]

  private static func commands(of option: OptionEntry) -> String {
    if option.commands.count == CommandName.allCases.count { return "all" }
    return CommandName.allCases.filter { option.commands.contains($0) }.map(\.rawValue).joined(separator: ", ")
  }

  private static func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() + "." }

  private static func tag(_ name: String, _ text: String) -> [String] {
    [".TP", ".B \(escaped(name, isArgument: true))", escaped(text)]
  }

  private static func literal(_ lines: [String]) -> [String] { [".nf"] + lines.map { escaped($0) } + [".fi"] }

  /// Escapes text for roff: backslashes, hyphens, quotes, and a control character at the start of a line.
  static func escaped(_ text: String, isArgument: Bool = false) -> String {
    var result = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("~", with: "\\(ti")
      .replacing("'", with: "\\(aq").replacing("^", with: "\\(ha").replacing("`", with: "\\(ga")
    if isArgument { result = result.replacing("\"", with: "\\(dq") }
    return result.hasPrefix(".") ? "\\&\(result)" : result
  }

  private static func escaped(_ text: String) -> String { escaped(text, isArgument: false) }
}
