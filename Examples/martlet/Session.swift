import Foundation
import Martlet
import MartletBase

/// The errors of the tool's private files.
enum ToolFileErrors: FileErrors {
  static func error(_ message: String, code: Int32?) -> UsageError {
    UsageError(message + (code.map { ": \(String(cString: strerror($0)))" } ?? ""))
  }
}

/// The session of `--session`: cookies, header fields and credentials of one origin, in a private file.
struct Session: Equatable, Sendable {
  private static let maximumBytes = 4 << 20
  /// The maximum wait for other runs that save the session, in milliseconds.
  private static let patience = 10_000

  let path: String
  let origin: String
  /// Whether the session is saved at the end.
  let isSaved: Bool
  /// Whether the path is the tool's own, so its folders are created.
  private let isNamed: Bool
  /// The contents of the file, with the changes of this run.
  private(set) var record: Record
  private var changes = Changes()

  /// Opens a session, which need not exist.
  ///
  /// - Parameters:
  ///   - name: A name, or the path of a file if the text contains a slash.
  ///   - url: The complete URL of the request.
  ///   - isSaved: Whether the session is saved at the end.
  ///   - environment: The environment.
  /// - Throws: ``UsageError`` if the name is invalid, or the file is damaged, foreign or readable by others.
  init(
    _ name: String, for url: String, isSaved: Bool, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(UsageError) {
    origin = try Self.origin(of: url)
    isNamed = !name.contains("/")
    path = isNamed ? try Self.path(named: name, origin, environment) : try Self.path(name)
    self.isSaved = isSaved
    record = try Self.read(path, origin)
  }

  /// The scheme, the host and the port; http and https share no session, even on the same port.
  private static func origin(of url: String) throws(UsageError) -> String {
    guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty else {
      throw UsageError("--session needs a URL with a host")
    }
    let scheme = parts.scheme?.lowercased() ?? "https"
    return "\(scheme)://\(host.lowercased()):\(parts.port ?? (scheme == "http" ? 80 : 443))"
  }

  /// The path of a session's own file, whose folder must exist.
  private static func path(_ file: String) throws(UsageError) -> String {
    if file.hasSuffix("/") { throw UsageError("--session '\(file)' names a folder; give a name or a file") }
    let url = URL(fileURLWithPath: file)
    var isFolder: ObjCBool = false
    let folder = url.deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw UsageError("the folder of --session '\(file)' does not exist; create the folder, or give a name")
    }
    return url.path
  }

  private static func path(
    named name: String, _ origin: String, _ environment: [String: String]
  ) throws(UsageError) -> String {
    guard isFileName(name), !name.hasPrefix(".") else {
      throw UsageError("--session needs a name of letters, digits, '-', '_' and '.', or a path, not '\(name)'")
    }
    guard let folder = ToolFolder.path(environment) else {
      throw UsageError("--session '\(name)' needs HOME or XDG_CONFIG_HOME; give a path such as ./session.json")
    }
    let safe = origin.replacing("://", with: "_").map { isFileName(String($0)) ? $0 : "_" }
    return "\(folder)/sessions/\(String(safe))/\(name).json"
  }

  private static func isFileName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 100
      && text.utf8.allSatisfy { octet in
        let character = Character(Unicode.Scalar(octet))
        return character.isASCII && (character.isLetter || character.isNumber || "-_.".contains(character))
      }
  }

  /// Reads the record of a file; an empty one if the file does not exist.
  private static func read(_ path: String, _ origin: String) throws(UsageError) -> Record {
    guard let file = OpenFile<ToolFileErrors>.at(path, O_RDONLY) else {
      if errno == ENOENT { return Record(origin: origin) }
      throw PrivateFile<ToolFileErrors>.error("cannot be opened", path, errno)
    }
    let facts = try file.check()
    guard facts.isPrivate else {
      throw UsageError("the session file '\(path)' can be read by others; run chmod 600 '\(path)'")
    }
    guard facts.size <= maximumBytes else { throw UsageError("the session file '\(path)' is too large") }
    let data = try file.read(at: 0, count: Int(facts.size))
    // The decoder's message may quote the file's secrets.
    guard let record = try? JSONDecoder().decode(Record.self, from: data) else {
      throw UsageError("the session file '\(path)' is damaged; remove the file to start a new session")
    }
    guard record.origin == origin else {
      throw UsageError("the session file '\(path)' belongs to \(record.origin), not to \(origin); choose another file")
    }
    return record
  }

  // MARK: Use

  /// Adds the session's header fields and credentials to a request, unless the command line contains others.
  ///
  /// They replace those from the configuration file.
  func apply(to command: inout RequestCommand) {
    var record = record
    // The URL's user is a command-line credential, for this request only.
    if command.urlHasUser { record.dropCredential() }
    let fields = record.headers.filter { $0.count == 2 && Self.keeps($0[0]) }
    let hasCredential = record.hasCredential
    if hasCredential { command.identity.dropDefault() }
    for name in command.defaultFields
    where fields.contains(where: { $0[0].lowercased() == name }) || hasCredential && name == "authorization" {
      command.headers[name] = nil
    }
    let given = command.headers
    for field in fields where !given.contains(field[0]) { command.headers.append(field[1], for: field[0]) }
    // Passwords entered on the terminal are kept by the library.
    command.identity.credentials = "\(path).credentials"
    guard command.identity.user == nil, command.identity.token == nil else { return }
    if let token = record.token {
      command.identity.token = .text(token)
    } else if let user = record.user {
      command.identity.user = .init(name: user, password: record.password)
      command.identity.scheme = record.scheme.map { AuthenticationScheme(rawValue: $0) }
    }
  }

  /// Adds the session's cookies to a client's jar.
  func fill(_ jar: CookieJar) async { await jar.add(netscape: record.cookies) }

  /// Keeps the header fields and credentials from the command line.
  mutating func keep(_ command: RequestCommand) throws(UsageError) {
    changes = try Changes(command)
    record.apply(changes)
  }

  /// Writes this run's changes to the private file, and keeps those of other runs.
  ///
  /// - Parameters:
  ///   - jar: The client's cookies.
  ///   - before: The cookies before the request, in the format of `cookies.txt`.
  /// - Throws: ``UsageError`` if the file cannot be read or written.
  func save(_ jar: CookieJar, before: String) async throws(UsageError) {
    let after = await jar.netscape
    if isNamed { try DiskFolder<ToolFileErrors>.make(URL(fileURLWithPath: path).deletingLastPathComponent().path) }
    let lock = try FileLock<ToolFileErrors>(path + ".lock", patience: Self.patience)
    defer { lock.release() }
    // Other runs may have changed the file since this run has read it.
    var record = try Self.read(path, origin)
    record.apply(changes)
    record.cookies = Self.merged(record.cookies, before: before, after: after)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(record) else { throw UsageError("the session cannot be encoded") }
    try PrivateFile<ToolFileErrors>.replace(path) { file throws(UsageError) in try file.append(data) }
  }
}

extension Session {
  /// Saves the session unless it is read-only, and reports an error without failing the request.
  func save(_ jar: CookieJar, before: String, _ errors: Terminal) async {
    guard isSaved else { return }
    do {
      try await save(jar, before: before)
    } catch {
      errors.complain("the session is not saved: \(error)")
    }
  }
}

extension RequestCommand {
  /// Returns the command with the header fields and credentials of its session.
  func withSession() throws(UsageError) -> (command: RequestCommand, session: Session?) {
    guard let name = session else { return (self, nil) }
    var command = self
    // A pipe can be read once.
    if let token = identity.token { command.identity.token = .text(try Identity.text(of: token)) }
    let isSaved = !isSessionReadOnly && !isOffline
    var session = try Session(name, for: url, isSaved: isSaved)
    try session.keep(command)
    session.apply(to: &command)
    return (command, session)
  }
}
