import Foundation
import Martlet

/// The entries of a cassette, and which of them were used.
struct CassetteTape {
  enum Step {
    case replay(HAREntry, number: Int, [Cassette.Fault])
    case fault(Cassette.Fault)
    case record
  }

  /// The size of bodies that have files of their own.
  private static let maximumBodyBytes = 64 << 10

  private let file: URL
  private let mode: Cassette.Mode
  private let matching: Cassette.Matching
  private let redaction: Redaction
  private var isLoaded = false
  private var archive = HARFile()
  private var keys: [HARKey] = []
  private var used: Set<Int> = []
  private var played = HARFile()
  var faults: [(fault: Cassette.Fault, path: String?, count: Int)] = []

  init(_ file: URL, _ mode: Cassette.Mode, _ matching: Cassette.Matching, _ redaction: Redaction) {
    (self.file, self.mode, self.matching, self.redaction) = (file, mode, matching, redaction)
  }

  private var path: String { file.path(percentEncoded: false) }
  private var folder: URL { file.appendingPathExtension("bodies") }
  private var name: String { file.lastPathComponent }

  var entryCount: Int { archive.entries.count }

  var unused: [String] {
    archive.entries.indices.filter { !used.contains($0) }.map { place in
      "\(archive.entries[place].request.method) \(archive.entries[place].request.url)"
    }
  }

  var transcript: Data { played.data() }

  mutating func next(_ asked: HARKey) throws(HTTPError) -> Step {
    try load()
    let key = matching.reduced(asked)
    var laid: [Cassette.Fault] = []
    if mode != .recordAnew {
      for place in faults.indices where faults[place].count > 0 && faults[place].path ?? asked.path == asked.path {
        faults[place].count -= 1
        switch faults[place].fault {
        case .status, .failure: return .fault(faults[place].fault)
        case .delay, .cut: laid.append(faults[place].fault)
        }
      }
      if let number = keys.indices.first(where: { keys[$0] == key && !used.contains($0) }) {
        used.insert(number)
        played.entries.append(archive.entries[number])
        return .replay(archive.entries[number], number: number + 1, laid)
      }
    }
    guard mode == .replay else { return .record }
    throw problem(asked, key)
  }

  private func problem(_ asked: HARKey, _ key: HARKey) -> HTTPError {
    let query = asked.query.isEmpty ? "" : "?…"
    let what = "cassette '\(name)' has no response to \(asked.method) \(asked.origin)\(asked.path)\(query)"
    let cure = "; run the test with MARTLET_CASSETTES=missing to record it"
    if keys.contains(key) {
      let count = keys.count { $0 == key }
      let times = count == 1 ? "the one that was recorded was" : "all \(count) that were recorded were"
      return HTTPError(.unsupported, "\(what): \(times) used\(cure)")
    }
    let ranked = keys.enumerated().map { ($0.offset, Cassette.Matching.difference(key, $0.element)) }
    guard let (place, difference) = ranked.min(by: { $0.1.weight < $1.1.weight }) else {
      return HTTPError(.unsupported, "\(what): it has no entries\(cure)")
    }
    return HTTPError(.unsupported, "\(what); the nearest is entry \(place + 1), where \(difference.text)\(cure)")
  }

  private mutating func load() throws(HTTPError) {
    guard !isLoaded else { return }
    if mode != .recordAnew {
      if FileManager.default.fileExists(atPath: path) {
        archive = try HARFile(at: path)
      } else if mode == .replay {
        throw HTTPError(
          .file, "cassette '\(path)' does not exist; run the test with MARTLET_CASSETTES=missing to record it")
      }
    }
    keys = archive.entries.map { matching.reduced(HARKey($0, headers: matching.headers, redaction)) }
    isLoaded = true
  }

  // MARK: Recording

  mutating func record(_ entry: HAREntry) throws(HTTPError) {
    var entry = entry
    played.entries.append(entry)
    do {
      if let body = entry.response.body, body.size > Self.maximumBodyBytes {
        entry.response.body = try writeOut(body)
      }
      archive.entries.append(entry)
      keys.append(matching.reduced(HARKey(entry, headers: matching.headers, redaction)))
      used.insert(archive.entries.count - 1)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try archive.data().write(to: file, options: .atomic)
    } catch {
      throw HTTPError(.file, "cassette '\(path)' cannot be written: \(error.localizedDescription)")
    }
  }

  /// Writes a body into a file of its own, with the number of its entry as its name.
  private func writeOut(_ body: HAREntry.Body) throws -> HAREntry.Body {
    let data: Data
    switch body.content {
    case .text(let text): data = Data(text.utf8)
    case .bytes(let bytes): data = bytes
    case .none, .file: return body
    }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let name = "\(archive.entries.count + 1)"
    try data.write(to: folder.appending(path: name), options: .atomic)
    var moved = body
    moved.content = .file("\(folder.lastPathComponent)/\(name)")
    return moved
  }

  func body(of entry: HAREntry, _ number: Int) throws(HTTPError) -> Data {
    guard let body = entry.response.body else { return Data() }
    func problem(_ text: String) -> HTTPError { HTTPError(.file, "entry \(number) of cassette '\(name)' \(text)") }
    if !body.isWhole { throw problem("has only the beginning of its body") }
    switch body.content {
    case .text(let text): return Data(text.utf8)
    case .bytes(let data): return data
    case .none:
      if body.size == 0 { return Data() }
      throw problem("has no body\(body.comment.map { ": \($0)" } ?? "")")
    case .file(let name):
      let place = file.deletingLastPathComponent().appending(path: name)
      // A file that somebody else made could name any file.
      guard !name.split(separator: "/").contains(".."), !name.hasPrefix("/") else {
        throw problem("names a file outside of its folder for its body: '\(name)'")
      }
      do {
        return try Data(contentsOf: place)
      } catch {
        throw problem("has a body in '\(name)', which cannot be read")
      }
    }
  }
}
