import Foundation

@testable import Martlet

/// Records whose bodies and heads contain their key and version, so a wrong record is detected.
enum ShelfWorkload {
  static let keyCount = 40

  static func key(_ number: Int) -> CacheKey { CacheKey(url: "https://x.test/\(number)", detail: "d") }

  static func size(_ number: Int, _ version: Int) -> Int {
    number % 10 == 0 ? 1_100_000 + version % 1000 : 200 + (number * 7919 + version * 104_729) % 40_000
  }

  static func body(_ number: Int, _ version: Int) -> Data {
    let size = size(number, version)
    var body = Data("\(number) \(version);".utf8)
    body.append(Data(repeating: UInt8(truncatingIfNeeded: number &* 31 &+ version), count: size - body.count))
    return body
  }

  static func record(_ number: Int, _ version: Int) -> CacheRecord {
    let entry = CacheEntry(
      status: 200, reasonPhrase: "OK",
      headers: ["Number": "\(number)", "Version": "\(version)", "Cache-Control": "max-age=60"], selectors: [:],
      requestTime: Date(), responseTime: Date(), bodyLength: Int64(size(number, version)))
    return CacheRecord(entry: entry, body: .data(body(number, version)))
  }

  /// Returns what is wrong with a record, or `nil` if it is complete and belongs to its key.
  static func fault(_ record: CacheRecord, _ number: Int) -> String? {
    guard let entry = record.entry, let version = entry.headers["Version"].flatMap({ Int($0) }) else {
      return "\(number): no entry"
    }
    guard entry.headers["Number"] == "\(number)" else {
      return "\(number): the head of \(entry.headers["Number"] ?? "none")"
    }
    let data: Data
    switch record.body {
    case .data(let all): data = all
    case .file(let file):
      do { data = try file.read(from: 0, count: Int(file.count)) } catch { return "\(number): \(error)" }
    }
    return data == body(number, version) ? nil : "\(number): not the body of version \(version)"
  }

  /// Stores, reads and removes records for a duration, and until it has stored and found a minimum number.
  ///
  /// - Returns: The numbers of records stored and found, and the first fault.
  static func hammer(_ shelf: DiskStorage, keys: Int, for duration: Duration, atLeast least: Int = 0) -> (
    Int, Int, String?
  ) {
    let end = ContinuousClock.now + duration
    var (stored, found) = (0, 0)
    var version = Int.random(in: 0..<1_000_000)
    do {
      while ContinuousClock.now < end || min(stored, found) < least {
        let number = Int.random(in: 0..<keys)
        switch Int.random(in: 0..<100) {
        case 0..<2: try shelf.remove(key(number))
        case 2..<40:
          version += 1
          try shelf.store(record(number, version), key(number))
          stored += 1
        default:
          guard let record = try shelf.record(key(number)) else { continue }
          found += 1
          if let fault = fault(record, number) { return (stored, found, fault) }
          // Stores a new head for the same body.
          if Int.random(in: 0..<20) == 0 { try shelf.store(record, key(number)) }
        }
      }
    } catch {
      return (stored, found, "\(error)")
    }
    return (stored, found, nil)
  }
}
