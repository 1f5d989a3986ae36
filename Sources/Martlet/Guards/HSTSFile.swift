import MartletBase

/// The file of HSTS hosts: private, replaced atomically, and shared by processes.
///
/// ```
///   # martlet hsts 1
///   1924992000 + example.com          the expiration in seconds since 1970; + with subdomains, - without; the host
///   1924992000 - login.example.org
///
///   lock "name.lock" ─▶ read "name" ─▶ apply own changes ─▶ write and sync "name.new" ─▶ rename to "name" ─▶ unlock
/// ```
///
/// A file without the first line is foreign: it is neither trusted nor replaced. Other lines that are malformed, or
/// have an invalid host, are skipped.
enum HSTSFile {
  private static let heading = "# martlet hsts 1"
  private static let maximumBytes = 1 << 20

  /// Reads the hosts; none without a file, and an error for a foreign file.
  static func read(_ path: String) throws(HTTPError) -> [String: HSTSTable.Entry] {
    guard let data = try PrivateFile.read(path, limit: maximumBytes) else { return [:] }
    guard let entries = parse(data) else {
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) is not a file of hosts that this version can read")
    }
    return entries
  }

  static func parse(_ data: Data) -> [String: HSTSTable.Entry]? {
    var lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
    guard let first = lines.popFirst(), first.elementsEqual(heading.utf8) else { return nil }
    var entries: [String: HSTSTable.Entry] = [:]
    for line in lines {
      guard entries.count < HSTSTable.maximumHosts else { break }
      guard let (name, entry) = Self.entry(String(decoding: line, as: UTF8.self)) else { continue }
      entries[name] = entry
    }
    return entries
  }

  private static func entry(_ line: String) -> (String, HSTSTable.Entry)? {
    let parts = line.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, let expires = FieldSyntax.parseDigits(parts[0]), parts[1] == "+" || parts[1] == "-",
      let name = try? URLHost.parse(Array(parts[2].utf8)[...]), name == parts[2], HSTSTable.name(name) == name
    else { return nil }
    return (name, HSTSTable.Entry(expires: Int64(clamping: expires), includesSubdomains: parts[1] == "+"))
  }

  static func text(_ entries: [String: HSTSTable.Entry]) -> Data {
    var text = heading + "\n"
    for (name, entry) in entries.ordered(by: { $0.key < $1.key }) {
      text += "\(max(0, entry.expires)) \(entry.includesSubdomains ? "+" : "-") \(name)\n"
    }
    return Data(text.utf8)
  }
}
