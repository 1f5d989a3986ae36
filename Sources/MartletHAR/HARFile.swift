import Martlet
public import MartletBase

/// A HAR file (HTTP Archive 1.1 and 1.2).
///
/// This or another program may have written it.
///
/// ```swift
/// let slow = try HARFile(at: file).entries.filter { $0.timings.total > .seconds(1) }
/// ```
public struct HARFile: Sendable {
  /// The maximum size of a file to read: 256 MiB.
  public static let maximumBytes = 256 << 20

  /// The name and the version of the program that wrote the file.
  public var creator = ""
  /// The entries, in order.
  public var entries: [HAREntry] = []

  /// Creates a file without entries.
  public init() {}

  /// Reads a file.
  ///
  /// Programs omit members that they do not know, so only the method and the URL of each entry are required.
  ///
  /// - Parameter file: The file.
  /// - Throws: `HTTPError.Kind.fileFailed` with the name of the file, the line and the problem.
  public init(at file: URL) throws {
    guard file.isFileURL else { throw HARFileErrors.needsFileURL(file) }
    try self.init(at: file.path(percentEncoded: false))
  }

  /// Reads the file at a path.
  init(at path: String) throws(HTTPError) {
    let name = DiskCalls.shown(path)
    guard let facts = DiskCalls.targetFacts(path) else { throw HTTPError(.fileFailed, "\(name) does not exist") }
    guard facts.size <= Self.maximumBytes else {
      throw HTTPError(.fileFailed, "\(name) is larger than \(Self.maximumBytes >> 20) MiB")
    }
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw HTTPError(.fileFailed, "\(name) cannot be read")
    }
    try self.init(data, name: name)
  }

  init(_ data: Data, name: String) throws(HTTPError) {
    func problem(_ message: String, line: Int? = nil) -> HTTPError {
      HTTPError(.fileFailed, "\(name)\(line.map { ", line \($0)" } ?? ""): \(Printable.text(message, limit: 300))")
    }
    let root: JSONValue
    do {
      root = try JSONValue(parsing: data, isLenient: true)
    } catch {
      let error = error as? JSONValue.SyntaxError
      let line = 1 + data.prefix(error?.offset ?? 0).count { $0 == 0x0A }
      throw problem("not a HAR file, because it is not JSON: \(error?.reason ?? "")", line: line)
    }
    let log = root["log"]
    guard log.object != nil else { throw problem("not a HAR file: it has no 'log'") }
    // A file without a version is HAR 1.1.
    if let version = log["version"].string, !version.isEmpty, !version.hasPrefix("1.") {
      throw problem("HAR version '\(version)' is not supported; 1.1 and 1.2 are")
    }
    guard let items = log["entries"].array else { throw problem("not a HAR file: 'log' has no 'entries'") }
    creator = [log["creator"]["name"].string, log["creator"]["version"].string].compactMap(\.self)
      .joined(separator: " ")
    entries.reserveCapacity(items.count)
    for (index, item) in items.enumerated() {
      do throws(HAREntry.MissingMember) {
        entries.append(try HAREntry(item))
      } catch {
        throw problem("entry \(index + 1) has no \(error.name)", line: Self.line(ofEntry: index, in: Array(data)))
      }
    }
  }

  /// The line on which an entry begins, in a text that was parsed.
  private static func line(ofEntry number: Int, in text: [UInt8]) -> Int? {
    /// The names of the arrays and objects around the index.
    var open: [ArraySlice<UInt8>] = []
    var name: ArraySlice<UInt8> = []
    var (index, line, count) = (0, 1, 0)
    var isBeforeElement = false
    while index < text.count {
      let (start, octet) = (index, text[index])
      index = octet == UInt8(ascii: "\"") ? FieldSyntax.endOfQuotedString(in: text, from: start) : start + 1
      switch octet {
      case 0x20, 0x09, 0x0A, 0x0D:
        if octet == 0x0A { line += 1 }
        continue
      case UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ","): break
      default:
        if isBeforeElement, open.count == 3, open[1].elementsEqual("log".utf8), open[2].elementsEqual("entries".utf8) {
          if count == number { return line }
          count += 1
        }
      }
      isBeforeElement = octet == UInt8(ascii: "[") || octet == UInt8(ascii: ",")
      switch octet {
      case UInt8(ascii: "\""):
        name = text[start + 1..<max(index - 1, start + 1)]
        line += text[start..<index].count { $0 == 0x0A }
      case UInt8(ascii: "["), UInt8(ascii: "{"): open.append(name)
      case UInt8(ascii: "]"), UInt8(ascii: "}"): _ = open.popLast()
      default: break
      }
    }
    return nil
  }

  /// Returns the JSON text of the file.
  ///
  /// - Returns: The text, with each entry on one line.
  public func data() -> Data {
    let version = HTTPClient.Configuration.version
    let creator = HARNode.object([("name", .text("Martlet")), ("version", .text(version))])
    let log = HARNode.object([
      ("version", .text("1.2")), ("creator", creator), ("pages", .array([])), ("entries", .array([])),
    ])
    var (text, lines): ([UInt8], [UInt8]) = ([], [])
    HARNode.object([("log", log)]).append(to: &text)
    HAREntry.append(entries, to: &lines)
    let end = text.suffix(3)
    return Data(text.dropLast(3) + lines + end + "\n".utf8)
  }
}
