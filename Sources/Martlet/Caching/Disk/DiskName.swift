/// The file names of one key.
///
///     ab/                                    the first two digits
///     ab/ab…40 digits                        the record: header, head, and body unless it is large
///     ab/ab…40 digits-0123456789abcdef       a large body, with its random number
///     new-0123456789abcdef-0123456789abcdef  an unfinished file: the process and a random number
struct DiskName: Hashable, Sendable {
  /// ``CacheKey/digest``.
  private let digest: String

  private init(digest: String) { self.digest = digest }

  init(_ key: CacheKey) { digest = key.digest }

  /// Parses the file name of a record or, with a number, of a body; `nil` for other names.
  static func read(_ name: UnsafePointer<CChar>) -> (name: DiskName, body: UInt64?)? {
    let text = Substring(String(cString: name)).utf8
    let (digest, rest) = (text.prefix(40), text.dropFirst(40))
    guard isHexadecimal(digest, 40) else { return nil }
    let found = DiskName(digest: String(Substring(digest)))
    if rest.isEmpty { return (found, nil) }
    guard rest.first == UInt8(ascii: "-"), isHexadecimal(rest.dropFirst(), 16) else { return nil }
    return UInt64(Substring(rest.dropFirst()), radix: 16).map { (found, $0) }
  }

  /// Whether the name is that of an unfinished file.
  static func isTemporary(_ name: UnsafePointer<CChar>) -> Bool {
    let text = Substring(String(cString: name)).utf8
    return text.starts(with: "new-".utf8) && isHexadecimal(text.dropFirst(4).prefix(16), 16)
      && text.dropFirst(20).first == UInt8(ascii: "-") && isHexadecimal(text.dropFirst(21), 16)
  }

  static func temporary(process: UInt64, number: UInt64) -> String {
    "new-\(process.digits(16, radix: 16))-\(number.digits(16, radix: 16))"
  }

  /// The index of the subfolder, 0 to 255.
  var folder: Int { Int(digest.prefix(2), radix: 16) ?? 0 }

  static func folderName(_ folder: Int) -> String { folder.digits(2, radix: 16) }

  /// The file name of the record, or of a body with a number.
  func fileName(body: UInt64? = nil) -> String { body.map { "\(digest)-\($0.digits(16, radix: 16))" } ?? digest }

  /// The path relative to the storage folder.
  func path(body: UInt64? = nil) -> String { "\(digest.prefix(2))/\(fileName(body: body))" }

  private static func isHexadecimal(_ text: Substring.UTF8View, _ count: Int) -> Bool {
    text.count == count && text.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
  }
}
