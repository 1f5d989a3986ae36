import MartletBase

/// The positions of the values in a text that `JSONDecoder` has scanned and found to be well-formed.
///
/// One scan records where each array and object ends. The parts of one of them are listed once a path leads through it,
/// which skips the arrays and objects in it. So the time is linear for any number of paths, and other parts cost
/// little.
struct JSONIndex {
  /// The places of the parts of an array or an object.
  private enum Parts {
    case elements([Int])
    /// The members by their names, and by the names that the decoder's key strategy makes of them; if several members
    /// have the same name, the first one counts, as in Foundation.
    case members([String: Int], renamed: [String: Int]?)
  }

  private let bytes: [UInt8]
  private let start: Int
  /// The arrays and objects, in the order of their beginnings; 0 is the end of an unclosed one.
  private var containers: [(start: Int, end: Int)] = []
  /// The parts of the arrays and objects that a path led through, by their beginning.
  private var parts: [Int: Parts] = [:]

  /// The number of arrays and objects whose parts are listed.
  var listedCount: Int { parts.count }

  init(_ data: Data) {
    bytes = Self.utf8(data)
    start = bytes.firstIndex { !Self.isSeparator($0) } ?? bytes.count
    var open: [Int] = []
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index = FieldSyntax.endOfQuotedString(in: bytes, from: index)
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        open.append(containers.count)
        containers.append((index, 0))
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if let container = open.popLast() { containers[container].end = index + 1 }
      default: break
      }
      index += 1
    }
  }

  /// The text in UTF-8 without a byte order mark; `JSONDecoder` accepts UTF-16 and UTF-32 as well.
  static func utf8(_ data: Data) -> [UInt8] {
    let start = Array(data.prefix(4))
    guard start.count == 4 else { return Array(data) }
    let encoding: String.Encoding
    switch (start[0], start[1], start[2], start[3]) {
    case (0, 0, 0xFE, 0xFF), (0, 0, 0, _): encoding = .utf32BigEndian
    case (0xFF, 0xFE, 0, 0), (_, 0, 0, 0): encoding = .utf32LittleEndian
    case (0xFE, 0xFF, _, _), (0, _, 0, _): encoding = .utf16BigEndian
    case (0xFF, 0xFE, _, _), (_, 0, _, 0): encoding = .utf16LittleEndian
    default: encoding = .utf8
    }
    // A string would replace octets that are not UTF-8.
    let bytes = encoding == .utf8 ? Array(data) : Array((String(data: data, encoding: encoding) ?? "").utf8)
    return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
  }

  /// The value at a path.
  mutating func value(at path: [any CodingKey], _ convert: JSONNode.Conversion?) throws(JSONMisfit) -> JSONValue {
    guard let place = try place(at: path, convert) else {
      // Trying all types would take an amount of time that the peer controls.
      throw JSONMisfit(message: "the text has no such part")
    }
    let node: JSONNode
    do throws(JSONParser.Problem) {
      node = try JSONParser.node(in: bytes, at: place)
    } catch {
      throw JSONMisfit(message: error.reason)
    }
    var path = path
    return node.value(&path, convert)
  }

  /// The index of the value at a path, or `nil` if there is none.
  mutating func place(
    at path: [any CodingKey], _ convert: JSONNode.Conversion? = nil
  ) throws(JSONMisfit) -> Int? {
    var place = start
    for (depth, key) in path.enumerated() {
      guard let next = try part(key, of: place, path.prefix(depth), convert) else { return nil }
      place = next
    }
    return place
  }

  /// The line on which the value at a path begins.
  mutating func line(of path: [any CodingKey]) -> Int? {
    guard let place = try? place(at: path) else { return nil }
    return 1 + bytes[..<place].count { $0 == 0x0A }
  }

  private mutating func part(
    _ key: any CodingKey, of place: Int, _ path: ArraySlice<any CodingKey>, _ convert: JSONNode.Conversion?
  ) throws(JSONMisfit) -> Int? {
    guard let end = end(ofContainer: place) else { return nil }
    let known = parts[place] ?? listed(place + 1..<end - 1, Array(path), convert)
    parts[place] = known
    switch known {
    case .elements(let elements):
      guard let index = key.intValue, elements.indices.contains(index) else { return nil }
      return elements[index]
    case .members(let members, let renamed):
      let asWritten = members[key.stringValue]
      let found = renamed?[key.stringValue] ?? asWritten
      // Foundation does not rename a dictionary's keys, and a path does not distinguish dictionaries from models.
      if let asWritten, let found, asWritten != found {
        throw JSONMisfit(message: "two members have the same name once their keys are converted")
      }
      return found
    }
  }

  /// The end of the array or object that begins at an index, or `nil` if none does.
  private func end(ofContainer start: Int) -> Int? {
    var (low, high) = (0, containers.count)
    while low < high {
      let middle = (low + high) / 2
      if containers[middle].start < start { low = middle + 1 } else { high = middle }
    }
    guard low < containers.count, containers[low].start == start, containers[low].end > 0 else { return nil }
    return containers[low].end
  }

  private func listed(_ content: Range<Int>, _ path: [any CodingKey], _ convert: JSONNode.Conversion?) -> Parts {
    let isObject = bytes[content.lowerBound - 1] == UInt8(ascii: "{")
    var (names, places): ([String], [Int]) = ([], [])
    var index = content.lowerBound
    while index < content.upperBound {
      let start = index
      if Self.isSeparator(bytes[start]) {
        index += 1
        continue
      }
      if isObject, names.count == places.count {
        index = FieldSyntax.endOfQuotedString(in: bytes, from: start)
        names.append(JSONParser.string(in: bytes, at: start))
        continue
      }
      places.append(start)
      if bytes[start] == UInt8(ascii: "\"") {
        index = FieldSyntax.endOfQuotedString(in: bytes, from: start)
      } else if let end = end(ofContainer: start) {
        index = end
      } else {
        while index < content.upperBound, !Self.isSeparator(bytes[index]) { index += 1 }
      }
    }
    guard isObject else { return .elements(places) }
    func table(_ names: [String]) -> [String: Int] { Dictionary(zip(names, places)) { first, _ in first } }
    return .members(table(names), renamed: convert.map { convert in table(names.map { convert(path, $0) }) })
  }

  private static func isSeparator(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x20, 0x0A, 0x0D, 0x09, UInt8(ascii: ","), UInt8(ascii: ":"): true
    default: false
    }
  }
}
