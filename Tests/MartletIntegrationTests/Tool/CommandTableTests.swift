import TestSupport
import Testing

@testable import MartletTool

/// The table of commands and options, and the help made from it.
@Suite(.hangLimit) struct CommandTableTests {
  /// A command line that the command accepts without the option.
  private static func words(_ name: CommandName) -> [String] {
    switch name {
    case .request, .sse, .ws, .load, .download: [name.rawValue, "http://a.test"]
    case .upload: ["upload", "file", "http://a.test"]
    case .cache: ["cache", "rm", "folder"]
    case .har: ["har", "show", "file"]
    case .completion: ["completion", "bash"]
    case .help, .demo, .doctor, .manual: [name.rawValue]
    }
  }

  /// A value that the option accepts.
  private static func value(_ option: OptionEntry) -> String {
    switch option.name {
    case "--request": "GET"
    case "--header": "A: b"
    case "--cookie", "-F", "--form-string": "a=b"
    case "--print": "h"
    case "--pretty": "all"
    case "--resolve": "a.test:127.0.0.1"
    case "--cert": "me.p12"
    case "--key": "me.key"
    case "--url", "--base": "http://a.test"
    case "--http": "2"
    case "--transport": "curl"
    case "--json": "{}"
    case "--limit-rate": "1k"
    case "--origin": "http://a.test"
    case "--close": "1000"
    default: "1"
    }
  }

  @Test func `every name of an option and of a command is unique`() {
    let spellings = OptionEntry.all.flatMap(\.spellings)
    #expect(Set(spellings).count == spellings.count)
    #expect(CommandEntry.all.map(\.name) == CommandName.allCases)
  }

  @Test func `every command reads all of its options, under all of their names`() {
    for name in CommandName.allCases {
      for option in name.options {
        for spelling in option.spellings {
          var words = Self.words(name) + [spelling] + (option.takesValue ? [Self.value(option)] : [])
          if option.name == "--url" { words.remove(at: words.count - 3) }
          if option.name == "--key" { words += ["--cert", "me.pem"] }
          if option.name == "--basic" || option.name == "--digest" { words += ["--user", "ada"] }
          if option.name == "--form" || option.name == "--multipart" { words.append("a=b") }
          // The file names several commands, of which `har page` has --output.
          if name == .har, option.name == "--output" { words[1] = "page" }
          if name == .cache, option.name == "--help" || option.name == "--version" { words.append("http://a.test") }
          do {
            _ = try Arguments.parse(words)
          } catch {
            Issue.record("\(words): \(error)")
          }
        }
      }
    }
  }

  @Test func `an option of another command is refused with its command`() {
    for option in OptionEntry.all {
      for name in CommandName.allCases where !option.commands.contains(name) {
        let words = Self.words(name) + [option.spellings[0]] + (option.takesValue ? [Self.value(option)] : [])
        let error = #expect(throws: UsageError.self) { try Arguments.parse(words) }
        let owner = CommandName.allCases.first { option.commands.contains($0) }
        #expect(error?.description.contains("martlet \(owner?.rawValue ?? "")'") == true, "\(words): \(error as Any)")
      }
    }
  }

  @Test func `options that exclude each other are refused in both orders`() {
    for option in OptionEntry.all {
      for name in option.conflicts {
        guard let other = OptionEntry.byName[name] else {
          Issue.record("\(option.name) excludes the unknown \(name)")
          continue
        }
        let command = CommandName.allCases.first { option.commands.contains($0) && other.commands.contains($0) }
        for pair in [[option, other], [other, option]] {
          let words = pair.flatMap { [$0.spellings[0]] + ($0.takesValue ? [Self.value($0)] : []) }
          let error = #expect(throws: UsageError.self) {
            try Arguments.parse(Self.words(command ?? .request) + words)
          }
          #expect(error?.description.hasSuffix(" exclude each other") == true, "\(words): \(error as Any)")
        }
      }
    }
  }

  // MARK: Help

  @Test func `help fits the terminal and lists one option a line, which begins with a verb`() throws {
    let topics = CommandName.allCases.map { Help.Topic.command($0) } + HelpTopic.allCases.map { .topic($0) }
    for topic in topics + [.overview] {
      let text = Help.text(topic)
      #expect(text.hasSuffix("\n") && !text.contains("\u{1B}"))
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        #expect(line.count <= 80, "\(line.count): \(line)")
        #expect(!line.contains("; -"), "two options: \(line)")
        #expect(line.firstMatch(of: /\b(it|here|this|else)\b/) == nil, "\(line)")
      }
    }
    for help in OptionEntry.all.map(\.help) + CommandEntry.all.map(\.summary) {
      let first = try #require(help.first)
      #expect(first.isLowercase && !help.hasSuffix(".") && !help.contains(";"), "\(help)")
    }
  }

  @Test func `the help of a command lists exactly its options`() {
    for name in CommandName.allCases {
      let lines = Help.text(.command(name)).split(separator: "\n").map { $0.drop { $0 == " " } }
      for option in OptionEntry.all {
        let heading = option.heading.drop { $0 == " " }
        #expect(lines.contains { $0.hasPrefix("\(heading)  ") } == option.commands.contains(name), "\(name) \(heading)")
      }
    }
  }

  @Test func `the overview lists every command and exit code`() {
    for name in CommandName.allCases { #expect(Help.text(.overview).contains("\n  \(name.rawValue) "), "\(name)") }
    for code in ["0", "1", "2", "3", "4", "5", "6", "130"] { #expect(Help.text(.overview).contains("\n  \(code) ")) }
    for code in ["7", "102-115"] { #expect(Help.text(.command(.ws)).contains("\(code) for ")) }
  }

  @Test(arguments: [
    (["help", "dowload"], "did you mean martlet help download?"), (["help", "xyz"], "see martlet help"),
    (["help", "cache", "rm"], "'rm'"), (["completion"], "bash, zsh, fish"),
    (["completion", "bas"], "did you mean bash?"), (["completion", "bsh"], "did you mean bash?"),
    (["completion", "zs"], "did you mean zsh?"),
    (["completion", "tcsh"], "bash, zsh, fish"), (["manual", "x"], "'x'"),
    (["cache", "list", "x"], "see martlet help cache"),
    (["cache", "lss", "x"], "did you mean ls?"), (["cache", "ls"], "folder"), (["cache", "ls", "a", "b"], "'b'"),
    (["cache", "ls", "a", "--all"], "'martlet cache rm'"), (["cache", "rm", "a"], "--all"),
    (["cache"], "ls, rm or stat"),
    (["har", "shwo", "x"], "did you mean show?"), (["har"], "show or page"), (["har", "show"], "one file"),
    (["download"], "martlet help download"), (["upload", "file"], "martlet help upload"),
    (["upload", "http://a.test", "file"], "martlet upload FILE URL"), (["load"], "martlet help load"),
    (["upload", ":8080/x", "a.txt"], "martlet upload FILE URL"),
  ])
  func `an incomplete or misspelled command names the cure`(words: [String], cure: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(words) }

    #expect(error?.description.contains(cure) == true, "\(error as Any)")
  }

  // MARK: Suggestions

  @Test(arguments: [
    ("downlod", "download"), ("dowlnoad", "download"), ("laod", "load"), ("uplaod", "upload"), ("sss", "sse"),
    ("cach", "cache"), ("hlep", "help"), ("DOWNLOD", "download"),
  ])
  func `suggests the nearest command`(word: String, command: String) {
    #expect(Suggestion.nearest(to: word, in: CommandName.allCases.map(\.rawValue)) == command)
  }

  @Test(arguments: ["intranet", "x", "", "abc", String(repeating: "d", count: 100_000)])
  func `suggests no command for another word`(word: String) {
    #expect(Suggestion.nearest(to: word, in: CommandName.allCases.map(\.rawValue)) == nil)
  }

  @Test(arguments: [
    ("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("abc", "acb", 1), ("kitten", "sitting", 3), ("ca", "abc", 3),
  ])
  func `counts an exchange of neighbors as one change`(word: String, other: String, distance: Int) {
    #expect(Suggestion.distance(word, other) == distance)
    #expect(Suggestion.distance(other, word) == distance)
  }
}
