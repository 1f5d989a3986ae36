/// The file names of one key.
///
///     ab/                                    the first two digits
///     ab/ab…40 digits                        the record: header, head, and body unless it is large
///     ab/ab…40 digits-0123456789abcdef       a large body, with its random number
///     new-0123456789abcdef-0123456789abcdef  an unfinished file: the process and a random number
struct DiskName: Hashable, Sendable {
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private var third: UInt32 = 0

  static let digitCount = 40

  init(_ key: CacheKey) {
    for digit in key.digest.utf8 { push(UInt64(Self.value(digit) ?? 0)) }
  }

  /// Parses the file name of a record or, with a number, of a body; `nil` for other names.
  static func read(_ name: UnsafePointer<CChar>) -> (name: DiskName, body: UInt64?)? {
    var found = DiskName()
    for place in 0..<digitCount {
      guard let value = value(UInt8(bitPattern: name[place])) else { return nil }
      found.push(UInt64(value))
    }
    if name[digitCount] == 0 { return (found, nil) }
    guard name[digitCount] == 0x2D else { return nil }
    var body: UInt64 = 0
    for place in (digitCount + 1)...(digitCount + 16) {
      guard let value = value(UInt8(bitPattern: name[place])) else { return nil }
      body = body << 4 | UInt64(value)
    }
    return name[digitCount + 17] == 0 ? (found, body) : nil
  }

  /// Whether the name is that of an unfinished file.
  static func isTemporary(_ name: UnsafePointer<CChar>) -> Bool {
    let text = String(cString: name)
    guard text.utf8.count == 37, text.hasPrefix("new-") else { return false }
    return text.utf8.dropFirst(4).enumerated().allSatisfy { $0 == 16 ? $1 == 0x2D : value($1) != nil }
  }

  static func temporary(process: UInt64, number: UInt64) -> String { "new-\(hex(process))-\(hex(number))" }

  private init() {}

  /// The index of the subfolder, 0 to 255.
  var folder: Int { Int(first >> 56) }

  static func folderName(_ folder: Int) -> String { (folder < 16 ? "0" : "") + String(folder, radix: 16) }

  /// The file name of the record, or of a body with a number.
  func fileName(body: UInt64? = nil) -> String { String(path(body: body).dropFirst(3)) }

  /// The path relative to the storage folder; built in place, because every lookup needs one.
  func path(body: UInt64? = nil) -> String {
    String(unsafeUninitializedCapacity: 60) { text in
      var count = 0
      func put(_ character: UInt8) {
        text[count] = character
        count += 1
      }
      func put(_ word: UInt64, digits: Int) {
        for index in (0..<digits).reversed() {
          let value = UInt8(truncatingIfNeeded: word >> UInt64(4 * index) & 15)
          put(value < 10 ? 0x30 + value : 0x61 + value - 10)
        }
      }
      put(first >> 56, digits: 2)
      put(0x2F)
      put(first, digits: 16)
      put(second, digits: 16)
      put(UInt64(third), digits: 8)
      if let body {
        put(0x2D)
        put(body, digits: 16)
      }
      return count
    }
  }

  private mutating func push(_ digit: UInt64) {
    first = first << 4 | second >> 60
    second = second << 4 | UInt64(third >> 28)
    third = third << 4 | UInt32(digit)
  }

  private static func hex(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}
