import Foundation
import TestSupport
import Testing

@testable import MartletTool

extension TestProgram {
  fileprivate static let bash = TestProgram("bash")
  fileprivate static let zsh = TestProgram("zsh")
  fileprivate static let fish = TestProgram("fish")
  fileprivate static let groff = TestProgram("groff")
}

/// The completion scripts in the shells that they are for, and the manual page.
@Suite(.hangLimit) struct CompletionTests {
  /// The words before the cursor, and words that a shell must and must not offer.
  struct Sample: CustomStringConvertible {
    let words: [String]
    let offered: Set<String>
    var missing: Set<String> = []

    var description: String { words.joined(separator: " ") }

    static let all = [
      Sample(words: ["do"], offered: ["download", "doctor"], missing: ["upload", "request"]),
      Sample(words: [""], offered: ["download", "completion", "manual", "GET"]),
      Sample(words: ["download", "--se"], offered: ["--segments"], missing: ["--session"]),
      Sample(words: ["--se"], offered: ["--session"], missing: ["--segments"]),
      Sample(words: ["-v", "--timeout", "3", "download", "--sha"], offered: ["--sha256"]),
      Sample(words: ["GET", "http://a.test", "--conn"], offered: ["--connect-timeout"], missing: ["--count"]),
      Sample(words: ["http://a.test", "--http", "1"], offered: ["1.0", "1.1"], missing: ["2"]),
      Sample(words: ["completion", ""], offered: ["bash", "zsh", "fish"]),
      Sample(words: ["ws", "http://a.test", "--sub"], offered: ["--subprotocol"], missing: ["--segments"]),
      Sample(words: ["cache", "s"], offered: ["stat"], missing: ["sse"]),
      Sample(words: ["help", "wr"], offered: ["write-out"]),
      Sample(words: ["demo", "--h"], offered: ["--help"], missing: ["--head", "--http"]),
    ]
  }

  /// bash splits words at `=`, `:` and `@`.
  private static let split = [
    Sample(words: ["--timeout", "=", "3", "download", "--sha"], offered: ["--sha256"]),
    Sample(words: ["--user", "a", ":", "b", "download", "--sha"], offered: ["--sha256"]),
    Sample(words: ["-d", "@", "file", "download", "--sha"], offered: ["--sha256"]),
    Sample(words: ["http", ":", "//a.test", "--http", "=", "1"], offered: ["1.0", "1.1"], missing: ["2"]),
  ]

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Compares the words that a shell prints for a sample.
  private func check(_ sample: Sample, of shell: Shell, _ text: String, _ errors: String) {
    let words = text.split { $0.isNewline }
      .map { $0.prefix { $0 != "\t" && $0 != "=" }.trimmingCharacters(in: .whitespaces) }
    #expect(sample.offered.isSubset(of: words), "\(shell) \(sample): \(words) \(errors)")
    #expect(sample.missing.isDisjoint(with: words), "\(shell) \(sample): \(words)")
    #expect(!errors.contains("rror"), "\(shell) \(sample): \(errors)")
  }

  /// Runs a shell for each sample.
  private func check(
    _ samples: [Sample] = Sample.all, of shell: Shell, _ run: (String, [String]) async throws -> ToolProcess.Result
  ) async throws {
    try folder.write(Completion.script(for: shell), to: "script")
    for sample in samples {
      let result = try await run(folder.path("script"), sample.words)
      check(sample, of: shell, result.text, result.errors)
    }
  }

  @Test(.needs(.bash)) func `bash completes commands, options and values`() async throws {
    let program = #"source "$0"; COMP_WORDS=(martlet "$@"); COMP_CWORD=$#; _martlet; printf '%s\n' "${COMPREPLY[@]}""#
    try await check(Sample.all + Self.split, of: .bash) { script, words in
      try await TestProgram.bash.start(["--norc", "-c", program, script] + words).end()
    }
  }

  @Test(.needs(.fish)) func `fish completes commands, options and values`() async throws {
    let environment = ["HOME": folder.path("."), "XDG_CONFIG_HOME": folder.path(".")]
    try await check(of: .fish) { script, words in
      let program = "source $argv[1]; complete -C $argv[2]"
      let line = (["martlet"] + words).joined(separator: " ")
      return try await TestProgram.fish.start(["-c", program, script, line], environment: environment).end()
    }
  }

  @Test(.needs(.pseudoTerminals), .needs(.zsh)) func `zsh completes commands, options and values`() async throws {
    // zsh completes only in its line editor, so a shell on a pseudo terminal prints the words that it would show.
    let program = #"""
      zmodload zsh/zpty || exit 3
      zpty z zsh -f -i
      zpty -w z "unset zle_bracketed_paste; PROMPT= RPROMPT="
      zpty -w z "autoload -Uz compinit && compinit -D -u; source $1"
      zpty -w z 'compadd() {
        if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
        local -a hits; builtin compadd -A hits "$@"; (($#hits)) && print -rl -- "" $hits > /dev/stderr
        builtin compadd "$@"
      }'
      zpty -w z 'finished() { print -r -- "END-""OF-LIST" > /dev/stderr }'
      zpty -w z 'print READY-"MARK"'
      zpty -r -m z text '*READY-MARK*'
      for line in "${@:2}"; do
        # The functions are removed after each completion. ^U empties the line.
        zpty -w z 'comppostfuncs=(finished)'
        zpty -w -n z "$line"$'\t'
        zpty -r -m z text '*END-OF-LIST*'
        zpty -w -n z $'\x15'
        print -r -- "$text"
        print -r -- NEXT-SAMPLE
      done
      zpty -d z
      """#
    try folder.write(Completion.script(for: .zsh), to: "script")
    let lines = Sample.all.map { (["martlet"] + $0.words).joined(separator: " ") }
    let result = try await TestProgram.zsh.start(["-f", "-c", program, "zsh", folder.path("script")] + lines).end()
    let texts = result.text.components(separatedBy: "NEXT-SAMPLE")
    try #require(texts.count == lines.count + 1, "\(result.text) \(result.errors)")
    for (sample, text) in zip(Sample.all, texts) { check(sample, of: .zsh, text, result.errors) }
  }

  @Test func `every script contains every option and command`() {
    for shell in Shell.allCases {
      let script = Completion.script(for: shell)
      for option in OptionEntry.all {
        let name = option.isLetterOnly ? option.name : String(option.name.dropFirst(2))
        #expect(script.contains(name), "\(shell) \(name)")
      }
      for name in CommandName.allCases { #expect(script.contains(name.rawValue), "\(shell) \(name)") }
    }
  }

  // MARK: Manual page

  @Test func `the manual page contains every option, command, variable and exit code`() {
    let text = Manual.text
    for option in OptionEntry.all {
      for spelling in option.spellings {
        #expect(text.contains(Manual.escaped(spelling, isArgument: true)), "\(spelling)")
      }
    }
    for name in CommandName.allCases { #expect(text.contains("\n.B \(name.rawValue)\n")) }
    #expect(text.contains("%{time_total}") && text.contains(".SH \"EXIT STATUS\"\n"))
    #expect(text.split(separator: "\n").allSatisfy { !$0.hasPrefix("'") })
  }

  @Test(.needs(.groff)) func `groff formats the manual page without a warning`() async throws {
    try folder.write(Manual.text, to: "martlet.1")

    let result = try await TestProgram.groff.start(["-man", "-ww", "-Tutf8", folder.path("martlet.1")]).end()

    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    #expect(result.text.hasPrefix("MARTLET(1)"), "\(result.text.prefix(100))")
  }
}
