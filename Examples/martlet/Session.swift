import Foundation
import Martlet
import MartletBase

/// The errors of the tool's private files.
enum ToolFileErrors: FileErrors {
  static func error(_ message: String, code: Int32?) -> UsageError {
    UsageError(message + (code.map { ": \(String(cString: strerror($0)))" } ?? ""))
  }
}

/// The session of `--session`: cookies, header fields and credentials of one host and port, in a private file.
struct Session: Equatable, Sendable {
  /// The contents of the file.
  struct Record: Codable, Equatable, Sendable {
    /// The host and the port; a session is used for no others.
    var host: String
    /// The header fields, each as name and value.
    var headers: [[String]] = []
    var user: String?
    var password: String?
    var scheme: String?
    var token: String?
    /// The cookies in the format of `cookies.txt`.
    var cookies = ""
  }

  private static let maximumBytes = 4 << 20

  let path: String
  let host: String
  /// Whether the session is saved at the end.
  let isSaved: Bool
  private(set) var record: Record

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
    host = try Self.host(of: url)
    path = try Self.path(name, host, environment)
    self.isSaved = isSaved
    record = try Self.read(path) ?? Record(host: host)
    guard record.host == host else {
      throw UsageError("the session '\(name)' belongs to \(record.host), not to \(host); choose another file")
    }
  }

  private static func host(of url: String) throws(UsageError) -> String {
    guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty else {
      throw UsageError("--session needs a URL with a host")
    }
    // The port keeps credentials for https away from http.
    let port = parts.port ?? (parts.scheme?.lowercased() == "http" ? 80 : 443)
    return "\(host.lowercased()):\(port)"
  }

  private static func path(
    _ name: String, _ host: String, _ environment: [String: String]
  ) throws(UsageError) -> String {
    if name.contains("/") {
      if name.hasSuffix("/") { throw UsageError("--session '\(name)' names a folder; give a name or a file") }
      return URL(fileURLWithPath: name).path
    }
    guard isFileName(name), !name.hasPrefix(".") else {
      throw UsageError("--session needs a name of letters, digits, '-', '_' and '.', or a path, not '\(name)'")
    }
    guard let folder = ToolFolder.path(environment) else {
      throw UsageError("--session '\(name)' needs HOME or XDG_CONFIG_HOME; give a path such as ./session.json")
    }
    let safe = host.map { isFileName(String($0)) ? $0 : "_" }
    return "\(folder)/sessions/\(String(safe))/\(name).json"
  }

  private static func isFileName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 100
      && text.utf8.allSatisfy { octet in
        let character = Character(Unicode.Scalar(octet))
        return character.isASCII && (character.isLetter || character.isNumber || "-_.".contains(character))
      }
  }

  private static func read(_ path: String) throws(UsageError) -> Record? {
    guard let file = OpenFile<ToolFileErrors>.at(path, O_RDONLY) else {
      if errno == ENOENT { return nil }
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
    return record
  }

  // MARK: Use

  /// Adds the session's header fields and credentials to a request, unless the command line contains others.
  func apply(to command: inout RequestCommand) {
    for field in record.headers where field.count == 2 && !command.headers.contains(field[0]) {
      command.headers.append(field[1], for: field[0])
    }
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

  /// Keeps the header fields and credentials of the command line.
  ///
  /// `Content-…` and conditional fields describe one request, and are not kept.
  mutating func keep(_ command: RequestCommand) throws(UsageError) {
    let fields = command.headers.filter { field in
      let name = field.name.lowercased()
      return !["content-", "if-"].contains { name.hasPrefix($0) }
        && !["host", "cookie", "range", "expect", "transfer-encoding", "connection"].contains(name)
    }
    let names = Set(fields.map { $0.name.lowercased() })
    record.headers.removeAll { names.contains(($0.first ?? "").lowercased()) }
    record.headers += fields.map { [$0.name, $0.value] }
    if let token = command.identity.token {
      (record.user, record.password, record.scheme) = (nil, nil, nil)
      record.token = try Identity.text(of: token)
    } else if let user = command.identity.user {
      (record.user, record.password, record.token) = (user.name, user.password, nil)
      record.scheme = command.identity.scheme?.rawValue
    }
  }

  /// Writes the session with a client's cookies to its private file.
  mutating func save(_ jar: CookieJar) async throws(UsageError) {
    record.cookies = await jar.netscape
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    try DiskFolder<ToolFileErrors>.make(folder)
    let lock = try FileLock<ToolFileErrors>(path + ".lock")
    defer { lock.release() }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(record) else { throw UsageError("the session cannot be encoded") }
    try PrivateFile<ToolFileErrors>.replace(path) { file throws(UsageError) in try file.append(data) }
  }
}
