extension OptionEntry {
  private static let composing: Set<CommandName> = [.request, .sse]
  private static let everywhere = Set(CommandName.allCases)
  /// The commands whose method and HTTP version can be chosen; a WebSocket begins with a GET over HTTP/1.1.
  private static let choosing = sending.subtracting([.ws])
  private static let keeping: Set<CommandName> = [.request, .ws]

  static let ofCommands: [OptionEntry] = [
    OptionEntry(
      "--segments", value: .text("N"), .command, "download N ranges at the same time, up to 16", [.download]),
    OptionEntry(
      "--sha256", value: .text("DIGITS"), .command, "verify the SHA-256 checksum of the file", [.download],
      isConfigurable: false),
    OptionEntry(
      "--resume", .command, "resume an interrupted download, the default", [.download], conflicts: ["--no-resume"]),
    OptionEntry("--no-resume", .command, "download the whole file again", [.download], conflicts: ["--resume"]),
    OptionEntry(
      "--field", value: .text("NAME"), .command, "send the file as a form field", [.upload], isConfigurable: false),
    OptionEntry("--gzip", .command, "compress the file with gzip", [.upload]),
    OptionEntry("--count", value: .text("N"), .command, "send N requests (200), or receive N messages", [.load, .ws]),
    OptionEntry(
      "--at-a-time", value: .text("N"), .command, "run N requests at a time, 50 by default", [.load]),
    OptionEntry("--arrivals", value: .text("N"), .command, "start N requests per second", [.load]),
    OptionEntry("--adaptive", .command, "adapt the number of concurrent requests", [.load]),
    OptionEntry("--rate", value: .text("N"), .command, "limit the rate to N requests per second", [.load]),
    OptionEntry("--hedge", value: .text("MS"), .command, "repeat a request without a response after MS", [.load]),
    OptionEntry("--breaker", value: .text("N"), .command, "open the circuit after N failures", [.load]),
    OptionEntry("--deadline", value: .text("SECONDS"), .command, "limit each request, including its waits", [.load]),
    OptionEntry("--binary", .command, "send binary messages, and write them unchanged", [.ws]),
    OptionEntry("--subprotocol", value: .text("NAME"), .command, "offer a subprotocol, which can be repeated", [.ws]),
    OptionEntry("--origin", value: .text("ORIGIN"), .command, "set the Origin, such as https://example.org", [.ws]),
    OptionEntry("--compress", .command, "offer compression of messages", [.ws]),
    OptionEntry("--ping", value: .text("SECONDS"), .command, "send a ping every SECONDS, and require a pong", [.ws]),
    OptionEntry(
      "--close", value: .text("CODE[:REASON]"), .command, "close with a code, 1000 by default", [.ws],
      isConfigurable: false),
    OptionEntry("--max-message", value: .text("BYTES"), .command, "limit messages, 16M by default", [.ws]),
    OptionEntry(
      "--wait", value: .text("SECONDS"), .command, "set the silence before the close after the input", [.ws]),
    OptionEntry("--all", .command, "remove all responses (cache rm)", [.cache], isConfigurable: false),
  ]

  static let ofContent: [OptionEntry] = [
    OptionEntry(
      "--request", short: "X", value: .text("METHOD"), .content, "set the method", choosing, isConfigurable: false),
    OptionEntry(
      "--head", short: "I", .content, "send a HEAD request and show the head", [.request], isConfigurable: false),
    OptionEntry(
      "--header", short: "H", value: .text("FIELD"), .content, "send the header field 'Name: value'", sending),
    OptionEntry("--user-agent", short: "A", value: .text("TEXT"), .content, "set the User-Agent", sending),
    OptionEntry(
      "--referer", short: "e", value: .text("URL"), .content, "set the Referer", sending, isConfigurable: false),
    OptionEntry(
      "--body", value: .file("TEXT|@FILE|-"), .content, "send text, a file or standard input", composing,
      isConfigurable: false),
    OptionEntry(
      "--form", short: "f", .content, "send the items as a form instead of JSON", composing,
      isConfigurable: false),
    OptionEntry(
      "--multipart", .content, "send the items as a multipart form", composing,
      isConfigurable: false),
    OptionEntry(
      "--data", short: "d", value: .file("TEXT|@FILE"), .content, "post form data, as in curl", composing,
      isConfigurable: false),
    OptionEntry(
      "--data-ascii", value: .file("TEXT|@FILE"), .content, "post form data, like --data", composing,
      isConfigurable: false),
    OptionEntry(
      "--data-raw", value: .text("TEXT"), .content, "post form data, even with '@'", composing, isConfigurable: false),
    OptionEntry(
      "--data-binary", value: .file("TEXT|@FILE"), .content, "post form data with its line ends", composing,
      isConfigurable: false),
    OptionEntry(
      "--json", value: .file("TEXT|@FILE"), .content, "post JSON, as in curl", composing, isConfigurable: false),
    OptionEntry(
      "-F", short: "F", value: .file("NAME=VALUE"), .content, "add a part to a multipart form", composing,
      isConfigurable: false),
    OptionEntry(
      "--form-string", value: .text("NAME=TEXT"), .content, "add a text part, even with '@' or '<'", composing,
      isConfigurable: false),
    OptionEntry("--ignore-stdin", .content, "do not read standard input", composing.union([.ws])),
    OptionEntry("--url", value: .text("URL"), .content, "send the request to a URL", sending, isConfigurable: false),
    OptionEntry("--base", value: .text("URL"), .content, "prepend a URL to paths such as /users", sending),
    OptionEntry(
      "--session", value: .text("NAME"), .content, "reuse and keep cookies, fields and credentials", keeping,
      conflicts: ["--session-read-only", "--cookie-jar", "--credentials", "--no-cookies"]),
    OptionEntry(
      "--session-read-only", value: .text("NAME"), .content, "reuse a session without changes", keeping,
      conflicts: ["--session", "--cookie-jar", "--credentials", "--no-cookies"]),
    OptionEntry(
      "--no-follow", .content, "show redirects instead of following them", sending, conflicts: ["--max-redirects"]),
    OptionEntry(
      "--max-redirects", also: ["--max-redirs"], value: .text("N"), .content, "follow up to N redirects, 10 by default",
      sending, conflicts: ["--no-follow"]),
  ]

  static let ofOutput: [OptionEntry] = [
    OptionEntry(
      "--output", short: "o", value: .file("FILE"), .output, "write the result to a file, a folder or '-'",
      [.request, .download, .har], isConfigurable: false),
    OptionEntry("--include", short: "i", .output, "show the response head even in a pipe", [.request]),
    OptionEntry("--verbose", short: "v", .output, "show all exchanges on standard error", sending),
    OptionEntry(
      "--print", short: "p", value: .text("WHAT"), .output, "print only these parts: any of H, B, h, b, m", [.request],
      conflicts: ["--include"]),
    OptionEntry(
      "--pretty", value: .choice("HOW", Pretty.allCases.map(\.rawValue)), .output,
      "set colors and indentation of the result", keeping),
    OptionEntry(
      "--offline", .output, "print the request and send nothing", [.request],
      conflicts: ["--output", "--write-out", "--timing", "--har", "--include"], isConfigurable: false),
    OptionEntry(
      "--curl", .output, "print a curl command and send nothing", [.request],
      conflicts: ["--print", "--output", "--write-out", "--timing", "--har", "--include"], isConfigurable: false),
    OptionEntry(
      "--write-out", short: "w", value: .file("FORMAT"), .output, "print a line about the transfer, as in curl",
      [.request]),
    OptionEntry("--timing", .output, "show the phases of the request", [.request]),
    OptionEntry("--explain", .output, "show the reasons for decisions", [.request, .har]),
    OptionEntry(
      "--har", value: .file("FILE"), .output, "record the exchanges in a HAR file", [.request], isConfigurable: false),
  ]

  static let ofTime: [OptionEntry] = [
    OptionEntry(
      "--timeout", short: "m", also: ["--max-time"], value: .text("SECONDS"), .time,
      "limit the whole request, such as 0.5", sending),
    OptionEntry("--connect-timeout", value: .text("SECONDS"), .time, "limit the connection phase", sending),
    OptionEntry("--retry", value: .text("N"), .time, "retry up to N times, except a POST", sending),
    OptionEntry(
      "--cache", value: .folder("DIR"), .time, "store responses in a folder and reuse them",
      [.request, .download, .upload, .load]),
  ]

  static let ofIdentity: [OptionEntry] = [
    OptionEntry(
      "--user", short: "ua", also: ["--auth"], value: .text("NAME[:PASSWORD]"), .identity,
      "respond to challenges as a user",
      sending, conflicts: ["--bearer"]),
    OptionEntry(
      "--bearer", also: ["--oauth2-bearer"], value: .file("TOKEN|@FILE"), .identity, "send a token", sending,
      conflicts: ["--user"]),
    OptionEntry(
      "--basic", .identity, "send the password preemptively, with Basic", sending,
      conflicts: ["--digest", "--bearer"]),
    OptionEntry(
      "--digest", .identity, "use the password for Digest only", sending, conflicts: ["--basic", "--bearer"]),
    OptionEntry(
      "--credentials", value: .file("FILE"), .identity, "keep entered passwords in a private file", sending),
    OptionEntry(
      "--cookie", short: "b", value: .file("COOKIES|FILE"), .identity, "send NAME=VALUE, or a file's cookies", sending,
      conflicts: ["--no-cookies"]),
    OptionEntry(
      "--cookies-txt", value: .file("FILE"), .identity, "send the cookies of a cookies.txt file", sending,
      conflicts: ["--no-cookies"]),
    OptionEntry(
      "--save-cookies", short: "c", value: .file("FILE"), .identity, "write all cookies to a cookies.txt file", sending,
      conflicts: ["--no-cookies"], isConfigurable: false),
    OptionEntry(
      "--cookie-jar", value: .file("FILE"), .identity, "read and keep cookies in Martlet's format", sending,
      conflicts: ["--no-cookies"]),
    OptionEntry("--no-cookies", .identity, "send and keep no cookies", sending),
  ]

  static let ofConnection: [OptionEntry] = [
    OptionEntry(
      "--http", value: .choice("VERSION", ["1.0", "1.1", "2"]), .connection, "select the HTTP version", choosing),
    OptionEntry("--http1.0", short: "0", .connection, "use HTTP/1.0", choosing),
    OptionEntry("--http1.1", .connection, "use HTTP/1.1", choosing),
    OptionEntry("--http2", .connection, "use HTTP/2, which needs https", choosing),
    OptionEntry("--http2-prior-knowledge", .connection, "use HTTP/2 without TLS", choosing),
    OptionEntry(
      "--proxy", short: "x", value: .text("URL"), .connection, "use an http, https or socks5 proxy", sending,
      conflicts: ["--no-proxy", "--unix-socket"]),
    OptionEntry("--no-proxy", .connection, "use no proxy, even from the environment", sending, conflicts: ["--proxy"]),
    OptionEntry(
      "--cacert", value: .file("FILE"), .connection, "trust only these root certificates (PEM)", sending,
      conflicts: ["--insecure"]),
    OptionEntry(
      "--insecure", short: "k", .connection, "trust any certificate, which is dangerous", sending,
      conflicts: ["--cacert"]),
    OptionEntry(
      "--cert", short: "E", value: .file("FILE[:PASSWORD]"), .connection, "present a client certificate", sending),
    OptionEntry(
      "--key", also: ["--cert-key"], value: .file("FILE"), .connection, "set the key of a PEM certificate", sending),
    OptionEntry(
      "--resolve", value: .text("HOST:ADDRESS"), .connection, "set the address of a host", sending),
    OptionEntry(
      "--limit-rate", value: .text("BYTES"), .connection, "limit the bytes per second, such as 500k", sending),
    OptionEntry(
      "--unix-socket", value: .file("PATH"), .connection, "connect through a Unix socket", sending,
      conflicts: ["--proxy"]),
    OptionEntry(
      "--transport", value: .choice("NAME", Connecting.Lane.allCases.map(\.rawValue)), .connection,
      "select the library's transport", sending),
  ]

  static let ofTool: [OptionEntry] =
    [
      OptionEntry(
        "--config", short: "K", value: .file("FILE"), .tool, "read option defaults from a file", sending,
        conflicts: ["--no-config"], isConfigurable: false),
      OptionEntry(
        "--no-config", .tool, "ignore the configuration file", sending, conflicts: ["--config"], isConfigurable: false),
      OptionEntry("--help", short: "h", .tool, "print help for the command", everywhere, isConfigurable: false),
      OptionEntry("--version", short: "V", .tool, "print the version", everywhere, isConfigurable: false),
    ] + accepted

  /// The options of curl and HTTPie that describe the tool's defaults.
  private static let accepted: [OptionEntry] = [
    OptionEntry("--location", short: "L", .accepted, "follow redirects, which is the default", sending),
    OptionEntry("--follow", .accepted, "follow redirects, which is the default", sending),
    OptionEntry("--compressed", .accepted, "accept compressed bodies, the default", sending),
    OptionEntry("--silent", short: "s", .accepted, "print nothing but the result, the default", sending),
    OptionEntry("--show-error", short: "S", .accepted, "print errors, which is the default", sending),
    OptionEntry("--no-buffer", short: "N", .accepted, "write output at once, which is the default", sending),
    OptionEntry("--globoff", short: "g", .accepted, "send brackets in URLs, the default", sending),
    OptionEntry("--no-progress-meter", .accepted, "show no meter, as in every pipe", sending),
    OptionEntry("--progress-bar", short: "#", .accepted, "show a bar, as downloads always do", sending),
    OptionEntry("--check-status", .accepted, "derive the exit code from the status", sending),
    OptionEntry("--stream", .accepted, "show the body on arrival, the default for pipes", sending),
  ]
}
