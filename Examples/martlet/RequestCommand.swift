import Foundation
import Martlet

/// A request described by the command line.
struct RequestCommand: Equatable, Sendable {
  /// A field `name=text` or `name:=json`.
  struct Field: Equatable, Sendable {
    enum Value: Equatable, Sendable {
      case text(String)
      /// Validated JSON.
      case json(String)
      /// The contents of a file that has not been read yet; `-` is standard input.
      case file(String, isJSON: Bool)
    }

    var name: String
    var value: Value

    /// Reads the file, if the value is in one.
    mutating func take(_ input: () throws(UsageError) -> Data) throws(UsageError) {
      guard case .file(let path, let isJSON) = value else { return }
      let item = "'\(name)\(isJSON ? ":=" : "=")@\(path)'"
      let hint = isJSON ? "" : "; text that begins with '@' is '\(name)=\\@…'"
      var data = try path == "-" ? input() : InputFile.contents(of: path, for: item, hint: hint)
      // A JSON parser may ignore a byte order mark, and a sender must not add one (RFC 8259 §8.1).
      if isJSON, data.starts(with: [0xEF, 0xBB, 0xBF]) { data = Data(data.dropFirst(3)) }
      guard let text = String(validating: data, as: UTF8.self) else {
        throw UsageError("the file of \(item) is not UTF-8 text; '\(name)@\(path)' sends it unchanged")
      }
      if isJSON, let problem = JSONScanner.problem(in: text) {
        throw UsageError("the file of \(item) is not JSON: \(problem)")
      }
      value = isJSON ? .json(text.trimmingCharacters(in: .whitespacesAndNewlines)) : .text(text)
    }
  }

  /// The content to send.
  enum Content: Equatable, Sendable {
    case none
    case json([Field])
    case form([Field])
    case text(String)
    case file(String)
    case multipart([Part])
    /// The data from curl's `-d` or `--json`.
    case posted([PostedData], isJSON: Bool)
    /// Standard input.
    case input
    /// Data that has already been read.
    case bytes(Data, type: String)
    /// Standard input, read while it is sent.
    case streamed(StandardInput.Rest, type: String)
  }

  /// The method; `nil` chooses it by the content.
  var method: String?
  /// The URL with its scheme.
  var url: String
  var query = Query()
  var headers = HTTPHeaders()
  /// The names of the header fields that come from the configuration file, in lower case.
  var defaultFields: Set<String> = []
  var content = Content.none
  var ignoresInput = false
  var timeout: Duration?
  /// The limit for the name lookup, the connection and the TLS handshake.
  var connectTimeout: Duration?
  var retries = 0
  var followsRedirects = true
  /// The maximum number of redirects; `nil` means the library's default.
  var maximumRedirects: Int?
  var isVerbose = false
  /// Whether decisions about the request are explained on standard error.
  var explains = false
  var includesHead = false
  /// The file for the recording.
  var har: String?
  var output: String?
  /// The directory of the cache.
  var cache: String?
  var showsTiming = false
  /// The parts of `--print`; `nil` means the usual ones.
  var shownParts: ShownParts?
  /// The look of the result; `nil` depends on the output.
  var pretty: Pretty?
  /// Whether the request is printed and not sent.
  var isOffline = false
  /// Whether the request is printed as a curl command.
  var printsCurl = false
  /// Whether the body of the request is printed.
  var printsBody: Bool { shownParts?.requestBody ?? (isOffline && !printsCurl) }
  var writeOut: WriteOut?
  /// The name of the session.
  var session: String?
  /// Whether the session is not changed.
  var isSessionReadOnly = false
  /// The file that contains the format of `--write-out`; `-` is standard input.
  var writeOutFile: String?
  var connecting = Connecting()
  var identity = Identity()

  init(url: String) { self.url = url }

  /// Whether the URL contains a user, whose password is sent.
  var urlHasUser: Bool { URLComponents(string: url)?.user != nil }

  /// The request to send.
  var request: HTTPRequest {
    let method = method ?? (content == .none ? "GET" : "POST")
    return HTTPRequest(HTTPMethod(method), RequestTarget(url), query: query, headers: headers, body: body)
  }

  /// The options that differ from the client's defaults.
  var options: RequestOptions {
    // Every status is shown and reported by the exit code.
    var options = RequestOptions.accepts(.any)
    if let timeout {
      // With a total limit, the user accepts waiting that long, even for a silent server.
      options = options.timeout(TimeoutPolicy(idle: nil, total: timeout))
    }
    if let connectTimeout { options = options.timeout(connect: connectTimeout) }
    // With --offline nothing is sent, so there is nothing to retry.
    if retries > 0, !isOffline { options = options.retry(.backoff(attempts: retries + 1)) }
    if explains { options = options.explains() }
    if !followsRedirects { options = options.redirects(.off) }
    if let maximumRedirects { options = options.redirects(.follow(upTo: maximumRedirects)) }
    if let version = connecting.version { options = options.httpVersion(version) }
    return options
  }

  private var body: HTTPBody? {
    switch content {
    case .none: nil
    // The names have been checked.
    case .json(let fields): .text((try? Self.document(fields)) ?? "{}", contentType: "application/json")
    case .form(let fields): .form(Self.query(fields))
    case .text(let text): .text(text, contentType: Self.contentType(ofText: text))
    case .file(let path): .file(URL(fileURLWithPath: path), contentType: Self.contentType(ofFile: path))
    case .multipart(let parts): .multipart { for part in parts { part.add(to: &$0) } }
    case .bytes(let data, let type): .data(data, contentType: type)
    case .streamed(let rest, let type):
      .stream(length: rest.length, contentType: type, isRepeatable: { rest.isRepeatable }) { rest.pieces() }
    case .posted, .input: nil
    }
  }

  /// The methods that do not use standard input as their body when they are given explicitly.
  private static let bodiless: Set<String> = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"]

  /// Reads standard input and the files of `-d`, `--write-out` and fields.
  ///
  /// Pipes and devices that are bodies or parts are read as well, because the library sends only regular files.
  /// Without other content, standard input becomes the body if it is redirected and not empty. It is ignored with
  /// `--ignore-stdin` and for an explicit GET, HEAD, DELETE, OPTIONS or TRACE. With other content, it must be empty.
  /// The waiting time is subtracted from ``timeout``.
  mutating func readInput(_ errors: Terminal, from input: StandardInput = StandardInput()) throws(UsageError) {
    var input = input
    input.end = timeout.map { ContinuousClock.now + $0 }
    defer { if let end = input.end { timeout = max(ContinuousClock.now.duration(to: end), .milliseconds(1)) } }
    var isRead = false
    func read() throws(UsageError) -> Data {
      if isRead { throw UsageError("standard input can be read only once, but two options read it; use a file") }
      isRead = true
      return try input.read(errors)
    }
    if let path = writeOutFile {
      let data = try path == "-" ? read() : InputFile.contents(of: path, for: "--write-out")
      writeOut = try WriteOut(String(decoding: data, as: UTF8.self))
    }
    let maySend = !ignoresInput && !isRead && !Self.bodiless.contains(method ?? "")
    let isTyped = headers.contains("Content-Type")
    // After more input, a JSON document may turn out to be JSON Lines.
    func isUndecided(_ data: Data) -> Bool { !isTyped && Self.contentType(of: data) == "application/json" }
    let isWhole = printsBody
    func inputBody() throws(UsageError) -> Content {
      // A body that is printed is needed twice.
      Self.content(isWhole ? .whole(try read()) : try input.body(errors, isUndecided: isUndecided))
    }
    let name = contentName
    switch content {
    case .none where maySend && input.isRedirected:
      let body = try inputBody()
      if case .bytes(let data, _) = body, data.isEmpty { return }
      content = body
      return
    case .input:
      content = try inputBody()
      return
    case .file(let path) where InputFile.isStream(path):
      let data = try InputFile.contents(of: path, for: "--body")
      content = .bytes(data, type: Self.contentType(of: data))
    case .posted(let pieces, let isJSON):
      var whole = Data()
      for (index, piece) in pieces.enumerated() {
        if index > 0 && !isJSON { whole.append(UInt8(ascii: "&")) }
        whole.append(try Self.bytes(of: piece, read))
      }
      content = .bytes(whole, type: isJSON ? "application/json" : "application/x-www-form-urlencoded")
    case .json(var fields):
      for index in fields.indices { try fields[index].take(read) }
      content = .json(fields)
    case .form(var fields):
      for index in fields.indices { try fields[index].take(read) }
      content = .form(fields)
    case .multipart(var parts):
      for index in parts.indices { try parts[index].take(read) }
      content = .multipart(parts)
    default: break
    }
    if maySend, !isRead, let name, input.hasOwnBytes {
      throw UsageError("standard input and \(name) are two bodies: omit one, or add --ignore-stdin")
    }
  }

  /// The name of the content that rules out standard input.
  private var contentName: String? {
    switch content {
    case .json(let fields), .form(let fields): fields.first.map { "the item '\($0.name)'" }
    case .multipart(let parts): parts.first.map { "the part '\($0.name)'" }
    case .text, .file: "--body"
    case .posted(_, let isJSON): isJSON ? "--json" : "-d"
    case .none, .bytes, .input, .streamed: nil
    }
  }

  private static func content(_ body: StandardInput.Body) -> Content {
    switch body {
    case .whole(let data): .bytes(data, type: contentType(of: data))
    case .streamed(let rest): .streamed(rest, type: contentType(ofBeginning: rest.beginning))
    }
  }

  /// The content type of an incomplete text: JSON if it is the beginning of a document.
  static func contentType(ofBeginning data: Data) -> String {
    // The last character, of up to four bytes, may be incomplete.
    let texts = (0..<4).lazy.compactMap { String(validating: data.dropLast($0), as: UTF8.self) }
    guard let text = texts.first else { return "application/octet-stream" }
    return contentType(ofText: text, isDocument: JSONScanner.isBeginning)
  }

  private static func bytes(
    of piece: PostedData, _ input: () throws(UsageError) -> Data
  ) throws(UsageError) -> Data {
    guard case .file(let path, let isStripped) = piece else {
      guard case .text(let text) = piece else { return Data() }
      return Data(text.utf8)
    }
    let data = try path == "-" ? input() : InputFile.contents(of: path, for: "-d")
    return isStripped ? data.filter { ![0x0A, 0x0D, 0].contains($0) } : data
  }

  private static func contentType(of data: Data) -> String {
    String(validating: data, as: UTF8.self).map { contentType(ofText: $0) } ?? "application/octet-stream"
  }

  /// Returns the JSON document of fields in their order.
  ///
  /// - Throws: ``UsageError`` if the names of two fields contradict each other.
  static func document(_ fields: [Field]) throws(UsageError) -> String {
    try JSONTree(
      fields.map { field in
        switch field.value {
        case .text(let text): (field.name, quoted(text))
        case .json(let json): (field.name, json)
        // The file has not been read yet.
        case .file: (field.name, "null")
        }
      }
    ).text
  }

  private static func query(_ fields: [Field]) -> Query {
    var query = Query()
    for field in fields {
      if case .text(let text) = field.value { query.append(ItemPath.literal(field.name), text) }
    }
    return query
  }

  /// A JSON string (RFC 8259 §7).
  static func quoted(_ text: String) -> String {
    var octets: [UInt8] = []
    JSONEscape.append(text.utf8, to: &octets)
    return "\"\(String(decoding: octets, as: UTF8.self))\""
  }

  private static func contentType(
    ofText text: String, isDocument: (String) -> Bool = { JSONScanner.problem(in: $0) == nil }
  ) -> String {
    let isOpened = text.first { !$0.isWhitespace }.map { $0 == "{" || $0 == "[" } ?? false
    return isOpened && isDocument(text) ? "application/json" : "text/plain; charset=utf-8"
  }

  private static func contentType(ofFile path: String) -> String {
    switch URL(fileURLWithPath: path).pathExtension.lowercased() {
    case "json": "application/json"
    case "txt": "text/plain; charset=utf-8"
    case "html", "htm": "text/html; charset=utf-8"
    case "xml": "application/xml"
    case "csv": "text/csv; charset=utf-8"
    default: "application/octet-stream"
    }
  }
}
