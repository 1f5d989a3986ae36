import MartletBase
package import Foundation

/// A HAR file with its entries.
package struct HARFile: Sendable {
  /// The maximum size of a file to read.
  package static let maximumBytes = 256 << 20

  /// The name and the version of the program that has written it.
  package var creator = ""
  package var entries: [HAREntry] = []

  package init() {}

  /// Reads a file.
  ///
  /// Throws ``HTTPError/Kind/file`` with the name of the file, the line, and what is wrong there.
  package init(at path: String) throws(HTTPError) {
    let name = InvalidInput.printable(path, limit: 300)
    guard FileManager.default.fileExists(atPath: path) else { throw HTTPError(.file, "\(name) does not exist") }
    // A pipe has no size.
    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    guard (size?.intValue ?? 0) <= Self.maximumBytes else {
      throw HTTPError(.file, "\(name) is larger than \(Self.maximumBytes >> 20) MiB")
    }
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw HTTPError(.file, "\(name) cannot be read")
    }
    try self.init(data, name: name)
  }

  package init(_ data: Data, name: String) throws(HTTPError) {
    func problem(_ message: String, line: Int? = nil) -> HTTPError {
      HTTPError(.file, "\(name)\(line.map { ", line \($0)" } ?? ""): \(InvalidInput.printable(message, limit: 300))")
    }
    let root: JSONValue
    do throws(JSONParser.Problem) {
      root = try JSONParser.value(of: data, isLenient: true)
    } catch {
      let line = 1 + data.prefix(error.index).count { $0 == 0x0A }
      throw problem("not a HAR file, because it is not JSON: \(error.reason)", line: line)
    }
    let log = root["log"]
    guard log.object != nil else { throw problem("not a HAR file: it has no 'log'") }
    // Without a version, 1.1 is meant.
    if let version = log["version"].string, !version.isEmpty, !version.hasPrefix("1.") {
      throw problem("HAR version '\(version)' is not supported; 1.1 and 1.2 are")
    }
    guard let items = log["entries"].array else { throw problem("not a HAR file: 'log' has no 'entries'") }
    creator = [log["creator"]["name"].string, log["creator"]["version"].string].compactMap(\.self)
      .joined(separator: " ")
    entries.reserveCapacity(items.count)
    for (index, item) in items.enumerated() {
      do throws(InvalidInput) {
        entries.append(try HAREntry(item))
      } catch {
        var places = JSONIndex(data)
        let line = places.line(of: [JSONNode.Key.name("log"), .name("entries"), .index(index)])
        throw problem("entry \(index + 1) has \(error.message)", line: line)
      }
    }
  }
}
