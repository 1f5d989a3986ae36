import Foundation
import Martlet
import MartletHAR

/// The entries of a cassette, and the numbers of the used ones.
struct CassetteTape {
  enum Step {
    case replay(HAREntry, number: Int, [Cassette.Fault])
    case fault(Cassette.Fault)
    case record
  }

  private let file: URL
  private let mode: Cassette.Mode
  private let matching: Cassette.Matching
  private var isLoaded = false
  private var archive = HARFile()
  private var keys: [HARKey] = []
  private var used: Set<Int> = []
  /// The numbers of the entries to replay for each key, the next one last.
  private var replayable: [HARKey: [Int]] = [:]
  private var played = HARFile()
  var faults: [(fault: Cassette.Fault, path: String?, count: Int)] = []

  init(_ file: URL, _ mode: Cassette.Mode, _ matching: Cassette.Matching) {
    (self.file, self.mode, self.matching) = (file, mode, matching)
  }

  private var path: String { file.path(percentEncoded: false) }
  private var name: String { file.lastPathComponent }

  var entryCount: Int { archive.entries.count }

  /// The unused entries; all of them before the first request.
  mutating func unused() -> [String] {
    try? load(.standard)
    return archive.entries.indices.filter { !used.contains($0) }.map { place in
      "\(archive.entries[place].request.method) \(archive.entries[place].request.url)"
    }
  }

  var transcript: Data { played.data() }

  /// Whether another program has recorded the file.
  var isForeign: Bool { !archive.creator.hasPrefix("Martlet") }

  mutating func next(_ asked: HARKey, _ redaction: Redaction) throws(HTTPError) -> Step {
    try load(redaction)
    let key = matching.reduced(asked)
    if mode != .recordAll {
      // A fault that ends the request leaves the other faults for later requests.
      let laid = faults.indices.filter { faults[$0].count > 0 && faults[$0].path ?? asked.path == asked.path }
      for place in laid {
        switch faults[place].fault {
        case .status, .failure:
          faults[place].count -= 1
          return .fault(faults[place].fault)
        case .delay, .cut: break
        }
      }
      if let number = replayable[key]?.popLast() {
        used.insert(number)
        for place in laid { faults[place].count -= 1 }
        played.entries.append(archive.entries[number])
        return .replay(archive.entries[number], number: number + 1, laid.map { faults[$0].fault })
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
      let times = count == 1 ? "the recorded response was" : "all \(count) recorded responses were"
      return HTTPError(.unsupported, "\(what): \(times) used\(cure)")
    }
    let ranked = keys.enumerated().map { ($0.offset, Cassette.Matching.difference(key, $0.element)) }
    guard let (place, difference) = ranked.min(by: { $0.1.weight < $1.1.weight }) else {
      return HTTPError(.unsupported, "\(what): it has no entries\(cure)")
    }
    return HTTPError(.unsupported, "\(what); the nearest is entry \(place + 1), where \(difference.text())\(cure)")
  }

  /// Reads the file with the first request; entries recorded before are shared by all cassettes of the file.
  private mutating func load(_ redaction: Redaction) throws(HTTPError) {
    guard !isLoaded else { return }
    archive = try CassetteArchives.open(file, mode)
    keys = archive.entries.map { matching.reduced(HARKey($0, headers: matching.headers, redaction)) }
    // These entries are stored responses of another recording without their bodies.
    used = Set(
      archive.entries.indices.filter { archive.entries[$0].isFromCache && archive.entries[$0].response.body == nil })
    for number in keys.indices.reversed() where !used.contains(number) {
      replayable[keys[number], default: []].append(number)
    }
    isLoaded = true
  }

  // MARK: Recording

  mutating func record(_ entry: HAREntry, _ redaction: Redaction) throws(HTTPError) {
    played.entries.append(entry)
    let kept = try CassetteArchives.add(entry, to: file)
    archive.entries.append(kept)
    keys.append(matching.reduced(HARKey(kept, headers: matching.headers, redaction)))
    used.insert(archive.entries.count - 1)
  }

  func body(of entry: HAREntry, _ number: Int) throws(HTTPError) -> Data {
    guard let body = entry.response.body else { return Data() }
    func problem(_ text: String) -> HTTPError {
      HTTPError(.fileFailed, "entry \(number) of cassette '\(name)' \(text)")
    }
    if !body.isWhole { throw problem("has only the beginning of its body") }
    switch body.content {
    case .text(let text): return Data(text.utf8)
    case .bytes(let data): return data
    case .none:
      if body.size == 0 { return Data() }
      throw problem("has no body\(body.comment.map { ": \($0)" } ?? "")")
    case .file(let name):
      let folder = file.deletingLastPathComponent().path(percentEncoded: false)
      do throws(SharedFile.Problem) {
        return try SharedFile.contents(of: name, inFolder: folder, limit: HARFile.maximumBytes)
      } catch {
        // A file from another author could refer to any file.
        switch error {
        case .outside: throw problem("names a file outside of its folder for its body: '\(name)'")
        case .link: throw problem("names a file behind a symbolic link for its body: '\(name)'")
        case .unreadable: throw problem("has a body in '\(name)', which cannot be read")
        }
      }
    }
  }
}
