import Foundation
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

@Suite struct OutboxTableTests {
  private let date = Date(timeIntervalSince1970: 5)
  private var place: Int64 = 0

  private mutating func entry(_ key: String? = nil, host: String = "a") -> OutboxEntry {
    place += 100
    return OutboxEntry(
      id: UUID(), key: key, host: host, bodyLength: nil, span: (place - 100)..<place, turn: place,
      submittedAt: date)
  }

  private static func table(_ total: Int = 100, perHost: Int = 100) -> OutboxTable {
    OutboxTable(.concurrent(total, perHost: perHost))
  }

  @Test mutating func `starts requests with the same key one at a time, and others at once`() {
    var table = Self.table()
    let (one, two, three) = (entry("k"), entry("k"), entry())
    for entry in [one, two, three] { table.apply(.submitted(entry)) }

    #expect(table.start(now: .zero).map(\.id) == [one.id, three.id])
    #expect(table.start(now: .zero).isEmpty)
    // The request is retried before its successor is sent.
    table.stop(one)
    #expect(table.start(now: .zero).map(\.id) == [one.id])
    table.stop(one)
    table.apply(.gone(one.id))
    #expect(table.start(now: .zero).map(\.id) == [two.id])
  }

  @Test mutating func `a dead letter unblocks its successor, and follows it when revived`() {
    var table = Self.table()
    let (one, two) = (entry("k"), entry("k"))
    for entry in [one, two] { table.apply(.submitted(entry)) }
    table.apply(.deadLettered(one.id, .init(date: date, failure: .expired)))
    #expect(table.dead == 1 && table.pending == 1)
    table.apply(.revived(one.id, at: date, turn: 1000))

    #expect(table.dead == 0 && table.pending == 2)
    #expect(table.start(now: .zero).map(\.id) == [two.id])
    table.stop(two)
    table.apply(.gone(two.id))
    #expect(table.start(now: .zero).map(\.id) == [one.id])
  }

  @Test mutating func `removing a request keeps the order of the others`() {
    var table = Self.table()
    let all = (0..<4).map { _ in entry("k") }
    for entry in all { table.apply(.submitted(entry)) }
    table.apply(.gone(all[1].id))
    var order: [UUID] = []
    while let next = table.start(now: .zero).first {
      order.append(next.id)
      table.stop(next)
      table.apply(.gone(next.id))
    }
    #expect(order == [all[0].id, all[2].id, all[3].id])
    #expect(table.bytes == 0 && table.lineBytes == 0 && table.entries.isEmpty)
  }

  @Test mutating func `shares the limit evenly between hosts`() {
    var table = Self.table(4, perHost: 3)
    for _ in 0..<5 { table.apply(.submitted(entry(host: "a"))) }
    for _ in 0..<5 { table.apply(.submitted(entry(host: "b"))) }
    let started = table.start(now: .zero)
    #expect(started.count == 4 && started.count { $0.host == "a" } == 2)
    for entry in started {
      table.stop(entry)
      table.apply(.gone(entry.id))
    }
    #expect(table.start(now: .zero).count { $0.host == "b" } == 2)
  }

  @Test mutating func `a failing host backs off exponentially, then one request probes it`() {
    var table = Self.table(perHost: 10)
    for _ in 0..<3 { table.apply(.submitted(entry())) }
    table.apply(.submitted(entry(host: "b")))
    let options = Outbox.Options()
    var now = Duration.zero
    var pauses: [Duration] = []
    var started = table.start(now: now)
    #expect(started.count == 4)
    // Concurrent failures count as one.
    for entry in started where entry.host == "a" {
      _ = table.hasFailed("a", now: now, asked: nil, options, random: 0)
      table.stop(entry)
    }
    for _ in 0..<12 {
      let next = table.nextTurn(after: now)
      #expect(table.start(now: now).isEmpty)
      pauses.append((next ?? now) - now)
      now = next ?? now
      started = table.start(now: now)
      #expect(started.count == 1)
      _ = table.hasFailed("a", now: now, asked: nil, options, random: 0)
      for entry in started { table.stop(entry) }
    }
    #expect(pauses.map { Int($0 / .seconds(1)) } == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
    now = table.nextTurn(after: now) ?? now
    for entry in table.start(now: now) {
      table.hasAnswered("a", now: now)
      table.stop(entry)
      table.apply(.gone(entry.id))
    }
    #expect(table.start(now: now).count == 2)
  }

  @Test mutating func `jitter takes at most half of a delay, and Retry-After is obeyed up to a day`() {
    var table = Self.table()
    let options = Outbox.Options()
    #expect(table.hasFailed("a", now: .zero, asked: nil, options, random: 0.999) >= .milliseconds(500))
    #expect(table.hasFailed("b", now: .zero, asked: .seconds(60), options, random: 0.5) == .seconds(60))
    #expect(table.hasFailed("c", now: .zero, asked: .seconds(1 << 31), options, random: 0.5) == .seconds(86_400))
    table.forgetPauses()
    #expect(table.hasFailed("b", now: .zero, asked: nil, options, random: 0) == .seconds(1))
  }

  @Test mutating func `a late response does not end the delay that another failure caused`() {
    var table = Self.table(perHost: 2)
    let (one, two) = (entry(), entry())
    for entry in [one, two, self.entry()] { table.apply(.submitted(entry)) }
    #expect(table.start(now: .zero).count == 2)
    _ = table.hasFailed("a", now: .zero, asked: .seconds(60), Outbox.Options(), random: 0)
    table.stop(one, isFirst: false)
    table.hasAnswered("a", now: .milliseconds(1))
    table.stop(two)
    table.apply(.gone(two.id))

    #expect(table.start(now: .seconds(59)).isEmpty)
    // The refused request does not probe the host either.
    #expect(table.start(now: .seconds(60)).map(\.id).contains(one.id) == false)
  }

  @Test mutating func `a request removed while it is sent blocks its successor until it ends`() {
    var table = Self.table()
    let (one, two) = (entry("k"), entry("k"))
    for entry in [one, two] { table.apply(.submitted(entry)) }
    #expect(table.start(now: .zero).map(\.id) == [one.id])
    table.apply(.gone(one.id))
    #expect(table.start(now: .zero).isEmpty)
    table.stop(one)
    #expect(table.start(now: .zero).map(\.id) == [two.id])
  }

  @Test mutating func `replaying the journal sends nothing twice`() {
    var table = Self.table()
    let (one, two) = (entry("k"), entry("k"))
    for entry in [one, two] { table.apply(.submitted(entry)) }
    _ = table.start(now: .zero)
    table.forget()
    for entry in [one, two] { table.apply(.submitted(entry)) }
    #expect(table.start(now: .zero).isEmpty && table.pending == 2)
    table.stop(one)
    #expect(table.start(now: .zero).map(\.id) == [one.id])
  }

  @Test mutating func `starts thousands of requests with one key one by one, in order`() {
    var table = Self.table(1)
    let all = (0..<(isSanitized ? 2_000 : 20_000)).map { _ in entry("k") }
    for entry in all { table.apply(.submitted(entry)) }
    var isInOrder = true
    for entry in all {
      isInOrder = isInOrder && table.start(now: .zero).map(\.id) == [entry.id]
      table.stop(entry)
      table.apply(.gone(entry.id))
    }
    #expect(isInOrder && table.entries.isEmpty && table.bytes == 0)
  }

  @Test mutating func `random events drain the table and never start two requests with the same key at once`() {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<200 {
      var table = Self.table(3, perHost: 2)
      var known: [UUID: OutboxEntry] = [:]
      var last: [String: Int64] = [:]
      for _ in 0..<120 {
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
          let key = Bool.random(using: &random) ? ["x", "y"].randomElement(using: &random) : nil
          let entry = entry(key, host: ["a", "b"].randomElement(using: &random) ?? "a")
          known[entry.id] = entry
          table.apply(.submitted(entry))
        case 2:
          for entry in table.start(now: .seconds(1000)) {
            let sameKey = table.sending.filter { known[$0]?.key == entry.key }
            #expect(entry.key == nil || sameKey.count == 1)
            if let key = entry.key {
              #expect(entry.span.lowerBound >= last[key] ?? 0)
              last[key] = entry.span.lowerBound
            }
          }
        case 3:
          guard let id = table.sending.min(by: { $0.uuidString < $1.uuidString }), let entry = known[id] else {
            continue
          }
          if Bool.random(using: &random) {
            _ = table.hasFailed(entry.host, now: .zero, asked: nil, Outbox.Options(), random: 0)
          }
          table.stop(entry)
        default:
          guard let id = table.sending.min(by: { $0.uuidString < $1.uuidString }), let entry = known[id] else {
            continue
          }
          table.stop(entry)
          table.apply(.gone(id))
        }
      }
      var rounds = 0
      while table.pending > 0, rounds < 1000 {
        rounds += 1
        table.forgetPauses()
        _ = table.start(now: .zero)
        for id in table.sending {
          guard let entry = known[id] else { continue }
          table.stop(entry)
          table.apply(.gone(id))
        }
      }
      #expect(table.pending == 0 && table.bytes == 0)
    }
  }
}
