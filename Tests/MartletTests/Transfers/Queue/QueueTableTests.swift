import TestSupport
import Testing

@testable import Martlet

@Suite struct QueueTableTests {
  private static func ids(_ count: Int) -> [RequestID] { (0..<count).map { RequestID(number: UInt64($0 + 1)) } }

  @Test func `starts by priority, then by age, within its limits`() throws {
    var table = QueueTable(.concurrent(3, perHost: 2))
    let ids = Self.ids(6)
    for (index, (host, priority)) in [("a", 0), ("a", 0), ("a", 5), ("b", 0), ("a", 9), ("b", -1)].enumerated() {
      try table.add(ids[index], host: host, priority: priority, after: [])
    }

    #expect(table.start() == ids[4])
    #expect(table.start() == ids[2])
    #expect(table.start() == ids[3], "the host a has two")
    #expect(table.start() == nil)
    #expect(table.end(ids[3], succeeded: true).isEmpty)
    #expect(table.start() == ids[5])
    #expect(table.end(ids[2], succeeded: false).isEmpty)
    #expect(table.start() == ids[0])
    #expect(table.start() == nil && table.runningCount == 3 && table.count == 4)
  }

  @Test func `starts a request only after all its dependencies have succeeded`() throws {
    var table = QueueTable(.concurrent(9))
    let ids = Self.ids(4)
    try table.add(ids[0], host: "a", priority: 0, after: [])
    try table.add(ids[1], host: "a", priority: 0, after: [])
    try table.add(ids[2], host: "a", priority: 9, after: [ids[0], ids[1], ids[0]])
    try table.add(ids[3], host: "a", priority: 9, after: [ids[2]])

    #expect(table.start() == ids[0] && table.start() == ids[1] && table.start() == nil)
    #expect(table.end(ids[0], succeeded: true).isEmpty && table.start() == nil)
    #expect(table.end(ids[1], succeeded: true).isEmpty && table.start() == ids[2])
    #expect(table.end(ids[2], succeeded: false) == [ids[3]] && table.start() == nil)
    let failed = #expect(throws: HTTPError.self) {
      try table.add(RequestID(number: 9), host: "a", priority: 0, after: [ids[2]])
    }
    #expect(failed?.message == QueueTable.failed(ids[2]).message)
    let unknown = #expect(throws: HTTPError.self) {
      try table.add(RequestID(number: 9), host: "a", priority: 0, after: [RequestID(number: 8)])
    }
    #expect(unknown?.message == QueueTable.unknown(RequestID(number: 8)).message)
    try table.add(RequestID(number: 9), host: "a", priority: 0, after: [ids[0]])
    #expect(table.start() == RequestID(number: 9))
  }

  @Test func `remembers a limited number of recent outcomes`() throws {
    var table = QueueTable(.concurrent(1))
    let most = QueueTable.maximumOutcomes
    let ids = Self.ids(2 * most + 5)
    for id in ids {
      try table.add(id, host: "a", priority: 0, after: [])
      #expect(table.start() == id)
      _ = table.end(id, succeeded: id != ids[ids.count - 2])
    }

    #expect(table.outcomeCount == most && table.count == 0)
    let next = RequestID(number: UInt64(ids.count + 1))
    let unknown = #expect(throws: HTTPError.self) {
      try table.add(next, host: "a", priority: 0, after: [ids[most + 4]])
    }
    #expect(unknown?.message == QueueTable.unknown(ids[most + 4]).message)
    let failed = #expect(throws: HTTPError.self) {
      try table.add(next, host: "a", priority: 0, after: [ids[ids.count - 2]])
    }
    #expect(failed?.message == QueueTable.failed(ids[ids.count - 2]).message)
    try table.add(next, host: "a", priority: 0, after: [ids[most + 5], ids[ids.count - 1]])
    #expect(table.start() == next)
  }

  @Test func `rejects direct and indirect dependency cycles`() throws {
    var table = QueueTable(.concurrent(9))
    let ids = Self.ids(100)
    for (index, id) in ids.enumerated() {
      try table.add(id, host: "a", priority: 0, after: index == 0 ? [] : [ids[index - 1]])
    }

    let indirect = #expect(throws: HTTPError.self) { _ = try table.add(ids[99], before: ids[0]) }
    #expect(indirect?.message == QueueTable.cycle(ids[99]).message)
    let direct = #expect(throws: HTTPError.self) { _ = try table.add(ids[5], before: ids[5]) }
    #expect(direct?.message == QueueTable.cycle(ids[5]).message)
    #expect(try table.add(ids[0], before: ids[99]))
    for id in ids {
      #expect(table.start() == id)
      #expect(table.start() == nil)
      #expect(table.end(id, succeeded: true).isEmpty)
    }
    #expect(table.count == 0 && table.runningCount == 0)
  }

  @Test func `loses no request and keeps every limit under random operations`() throws {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<200 {
      let (total, perHost) = (Int.random(in: 1...5, using: &generator), Int.random(in: 1...3, using: &generator))
      var table = QueueTable(.concurrent(total, perHost: perHost))
      let ids = Self.ids(40)
      var hosts: [RequestID: String] = [:]
      var before: [RequestID: Set<RequestID>] = [:]
      var (alive, running, succeeded) = (Set<RequestID>(), Set<RequestID>(), Set<RequestID>())
      func end(_ id: RequestID, _ isSuccess: Bool) {
        var rest = [(id, isSuccess)]
        while let (id, isSuccess) = rest.popLast() {
          guard alive.remove(id) != nil else { continue }
          running.remove(id)
          if isSuccess { succeeded.insert(id) }
          rest += table.end(id, succeeded: isSuccess).map { ($0, false) }
        }
      }
      for id in ids {
        let known = Array(alive.union(succeeded)).sorted()
        let after = (0..<Int.random(in: 0...2, using: &generator)).compactMap { _ in
          known.randomElement(using: &generator)
        }
        hosts[id] = ["a", "b", "c"].randomElement(using: &generator)
        before[id] = Set(after)
        try table.add(id, host: hosts[id] ?? "", priority: Int.random(in: 0...2, using: &generator), after: after)
        alive.insert(id)
        while let next = table.start() {
          #expect(before[next]?.isSubset(of: succeeded) == true && alive.contains(next))
          #expect(running.insert(next).inserted)
          #expect(running.count <= total)
          #expect(running.count { hosts[$0] == hosts[next] } <= perHost)
        }
        if Int.random(in: 0...2, using: &generator) == 0, let one = alive.sorted().randomElement(using: &generator) {
          end(one, running.contains(one) && Bool.random(using: &generator))
        }
      }
      for _ in 0..<200 where !alive.isEmpty {
        while let next = table.start() { #expect(running.insert(next).inserted) }
        #expect(!running.isEmpty, "nothing runs, and \(alive.count) wait")
        if let one = running.sorted().first { end(one, true) }
      }
      #expect(alive.isEmpty && table.count == 0 && table.runningCount == 0)
    }
  }
}
