import Foundation
import Testing

@testable import Martlet

/// Clients that trust different servers share a jar, with separate cookies (decision 0035).
@Suite struct CookiePartitionTests {
  private var bench = CookieTableTests.Bench()
  private let own = "own roots"

  private mutating func receive(_ line: String, _ url: String = "https://x.test/", in partition: String?) throws -> Bool
  {
    bench.now += 1
    let url = try AbsoluteURL.parse(url)
    let parsed = try #require(SetCookie(line, now: bench.now))
    return bench.table.receive(parsed, from: url, in: partition, now: bench.now) == nil
  }

  private mutating func sent(in partition: String?) throws -> String {
    let url = try AbsoluteURL.parse("https://x.test/")
    return Cookie.field(bench.table.select(for: url, .same, in: partition, now: bench.now)) ?? ""
  }

  @Test mutating func `each partition has its own cookies, even with equal names`() throws {
    _ = try receive("a=1", in: own)
    _ = try receive("a=2", in: "")
    _ = try receive("b=3; Domain=x.test", in: "")

    #expect(try sent(in: own) == "a=1" && sent(in: "") == "a=2; b=3" && sent(in: "other").isEmpty)
    #expect(bench.table.count == 3)
    _ = try receive("a=; Max-Age=0", in: "")
    #expect(try sent(in: own) == "a=1" && sent(in: "") == "b=3")
  }

  @Test mutating func `a cookie set by the program is sent in all partitions until a response replaces it`() throws {
    _ = try receive("a=program", in: nil)
    #expect(try sent(in: own) == "a=program" && sent(in: "") == "a=program")

    _ = try receive("a=1", in: own)
    #expect(try sent(in: own) == "a=1" && sent(in: "").isEmpty)

    _ = try receive("a=2", in: "")
    _ = try receive("a=program", in: nil)
    #expect(try sent(in: own) == "a=program" && sent(in: "") == "a=program")
    #expect(bench.table.count == 1)

    _ = try receive("a=; Max-Age=0", in: own)
    #expect(bench.table.count == 0)
  }

  @Test func `a cookie that replaces one set by the program keeps its position`() throws {
    var table = CookieTable()
    let url = try AbsoluteURL.parse("https://x.test/")
    let now = CookieTableTests.start
    for name in ["a", "b", "c"] {
      let line = try #require(SetCookie("\(name)=program", now: now))
      #expect(table.receive(line, from: url, in: nil, now: now) == nil)
    }

    let line = try #require(SetCookie("c=server", now: now))
    #expect(table.receive(line, from: url, in: "", now: now) == nil)

    #expect(
      Cookie.field(table.select(for: url, .same, in: "", now: now)) == "a=program; b=program; c=server")
  }

  @Test mutating func `a Secure cookie does not block cookies of another partition`() throws {
    _ = try receive("a=1; Secure", in: "")

    #expect(try receive("a=2", "http://x.test/", in: own))
    #expect(try !receive("a=2", "http://x.test/", in: ""))
    #expect(try !receive("a=2", "http://x.test/", in: nil))
  }

  @Test mutating func `too many cookies of one partition do not evict those of another`() throws {
    _ = try receive("a=1", in: "")
    for number in 0..<60 { _ = try receive("c\(number)=1", in: own) }

    #expect(try sent(in: "") == "a=1")
    #expect(bench.table.count == 51)
  }

  @Test mutating func `a partitioned cookie from another process replaces one set by the program`() throws {
    var table = CookieTable(journal: .everything)
    let cookie = try #require(try CookieRulesTests.cookie("a=program", from: "https://x.test/"))
    table.put(cookie, now: bench.now)
    _ = table.takeChanges()
    var other = cookie
    other.partition = own

    table.adopt([other], now: bench.now)

    #expect(table.all(bench.now).map(\.partition) == [own])
    #expect(!table.hasChanges)
  }

  @Test func `a cookie that the program copies to another jar is sent in all partitions`() async throws {
    let (first, second) = (CookieJar(now: { CookieTableTests.start }), CookieJar(now: { CookieTableTests.start }))
    let url = try AbsoluteURL.parse("https://x.test/")
    let line = try #require(SetCookie("a=1", now: CookieTableTests.start))
    let (refusal, hasChanges) = first.shelf.withTable { [own] table in
      (table.receive(line, from: url, in: own, now: CookieTableTests.start), table.hasChanges)
    }
    #expect(refusal == nil && !hasChanges)

    for cookie in await first.all { await second.set(cookie) }

    #expect(first.shelf.cookies(for: url, .same, in: "", now: CookieTableTests.start).isEmpty)
    #expect(second.shelf.cookies(for: url, .same, in: "", now: CookieTableTests.start).map(\.name) == ["a"])
    #expect(await first.cookies(for: "https://x.test/").map(\.name) == ["a"])
    for cookie in await first.all { #expect(await first.remove(cookie)) }
    #expect(first.shelf.isEmpty)
  }
}
