/// A command of the tool; ``request`` is the command of a line that begins with a method or a URL.
enum CommandName: String, CaseIterable, Sendable {
  case request, download, upload, load, sse, ws, cache, har, demo, doctor, help, completion, manual
}

/// A command's row in the table, from which the parser, help, completions and manual page derive.
struct CommandEntry: Sendable {
  let name: CommandName
  /// The purpose; begins with a verb and ends without a period.
  let summary: String
  /// The forms of a command line, without the tool's name.
  let usage: [String]
  /// The words that may follow the command's name.
  var words: [String] = []
  /// Whether URLs follow the command's name.
  var takesURLs = false
  /// Whether files follow the command's name.
  var takesFiles = false
  /// The paragraphs of the command's help, each as its lines.
  var notes: [[String]] = []
  /// Example command lines, without the tool's name.
  var examples: [String] = []

  /// The rows of all commands.
  static let all: [CommandEntry] = [
    CommandEntry(
      name: .request, summary: "send a request and show the response",
      usage: ["[METHOD] URL [ITEM...] [OPTION...]", "request [METHOD] URL [ITEM...] [OPTION...]"], takesURLs: true,
      notes: [Help.target, Help.items, Help.output, Help.parts],
      examples: [
        "api.example.com/users page==2 Accept:application/json", "PUT :8080/users/7 name=Ada admin:=true",
        "POST :8080/users user[name]=Ada tags[]=a tags[]=b",
      ]),
    CommandEntry(
      name: .download, summary: "download files, and resume interrupted downloads",
      usage: ["download URL... [OPTION...]"], takesURLs: true,
      examples: ["download https://example.org/a.iso --segments 4 -o folder"]),
    CommandEntry(
      name: .upload, summary: "upload a file with PUT, or in a form with POST", usage: ["upload FILE URL [OPTION...]"],
      takesURLs: true, takesFiles: true, examples: ["upload photo.jpg :8080/photos --field photo"]),
    CommandEntry(
      name: .load, summary: "send a request many times and measure the responses",
      usage: ["load URL [ITEM...] [OPTION...]"], takesURLs: true,
      examples: ["load :8080/ --count 5000 --arrivals 500 --adaptive"]),
    CommandEntry(
      name: .sse, summary: "print server-sent events as they arrive",
      usage: ["sse [METHOD] URL [ITEM...] [OPTION...]"], takesURLs: true,
      notes: [
        [
          "When the stream ends, the command reconnects until the server responds with 204.",
          "'martlet URL' prints one stream, and ends with that stream.",
        ]
      ],
      examples: ["sse :8080/events"]),
    CommandEntry(
      name: .ws, summary: "exchange messages over a WebSocket", usage: ["ws URL [ITEM...] [OPTION...]"],
      takesURLs: true, notes: [Help.messages, Help.binary, Help.closing],
      examples: [
        "ws wss://echo.example.org/ --verbose", "ws :8080/feed --ignore-stdin --count 10 > messages",
        "ws /rpc --base wss://api.example.com --count 1 < call.json",
      ]),
    CommandEntry(
      name: .cache, summary: "list, count or remove the responses of a cache",
      usage: ["cache ls DIR", "cache stat DIR", "cache rm DIR URL...", "cache rm DIR --all"],
      words: ["ls", "stat", "rm"], takesFiles: true,
      notes: [
        ["ls    list the stored responses", "stat  print their number and size", "rm    remove responses by URL"]
      ],
      examples: ["cache rm folder https://api.example.com/news"]),
    CommandEntry(
      name: .har, summary: "show a recording in the terminal, or as an HTML page",
      usage: ["har show FILE [--explain]", "har page FILE [-o PAGE]"], words: ["show", "page"], takesFiles: true,
      notes: [["show  print a line for each exchange", "page  write an HTML page"]],
      examples: ["har show trace.har"]),
    CommandEntry(name: .demo, summary: "run a tour against an embedded server", usage: ["demo"]),
    CommandEntry(name: .doctor, summary: "print the system's libraries and limits", usage: ["doctor"]),
    CommandEntry(
      name: .help, summary: "print help for a command", usage: ["help [COMMAND|config|write-out]"],
      words: CommandName.allCases.map(\.rawValue) + HelpTopic.allCases.map(\.rawValue)),
    CommandEntry(
      name: .completion, summary: "print a completion script for a shell", usage: ["completion SHELL"],
      words: Shell.allCases.map(\.rawValue), notes: [Help.completion],
      examples: ["completion bash > ~/.local/share/bash-completion/completions/martlet"]),
    CommandEntry(
      name: .manual, summary: "print the manual page in roff format", usage: ["manual"],
      examples: ["manual > ~/.local/share/man/man1/martlet.1"]),
  ]
}

extension CommandName {
  /// The command's row in the table.
  var entry: CommandEntry { CommandEntry.all.first { $0.name == self } ?? CommandEntry.all[0] }

  /// The options of the command, in the order of the table.
  var options: [OptionEntry] { OptionEntry.all.filter { $0.commands.contains(self) } }
}

/// A topic of `martlet help` that is not a command.
enum HelpTopic: String, CaseIterable, Sendable {
  case config
  case writeOut = "write-out"
}

/// A shell with a completion script.
enum Shell: String, CaseIterable, Sendable {
  case bash, zsh, fish
}
