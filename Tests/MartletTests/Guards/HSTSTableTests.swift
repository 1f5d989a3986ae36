import Foundation
import Testing

@testable import Martlet

@Suite struct HSTSTableTests {
  private static func table(_ values: (String, String)..., at now: Int64 = 1000) -> HSTSTable {
    var table = HSTSTable()
    for (name, value) in values { receive(value, from: name, at: now, &table) }
    return table
  }

  private static func receive(_ value: String, from name: String, at now: Int64, _ table: inout HSTSTable) {
    guard let policy = StrictTransportSecurity(value) else { return }
    table.receive(policy, from: name, now: now)
  }

  @Test func `covers a host until max-age, and its subdomains only with includeSubDomains`() {
    let table = Self.table(("a.example", "max-age=10"), ("b.example", "max-age=10; includeSubDomains"))

    #expect(table.covers("a.example", now: 1009))
    #expect(!table.covers("a.example", now: 1010))
    #expect(!table.covers("x.a.example", now: 1001))
    #expect(table.covers("b.example", now: 1001) && table.covers("y.x.b.example", now: 1001))
    #expect(!table.covers("xb.example", now: 1001) && !table.covers("example", now: 1001))
    #expect(!table.covers("b.example.other", now: 1001) && !table.covers("", now: 1001))
  }

  @Test func `a newer policy replaces the old one, and a max-age of zero removes it`() {
    var table = Self.table(("a.example", "max-age=10; includeSubDomains"), ("x.a.example", "max-age=5"))

    Self.receive("max-age=100", from: "a.example", at: 1001, &table)
    #expect(table.covers("a.example", now: 1100) && !table.covers("y.a.example", now: 1002))
    Self.receive("max-age=0", from: "a.example", at: 1002, &table)
    #expect(!table.covers("a.example", now: 1003) && table.covers("x.a.example", now: 1003))
    Self.receive("max-age=0", from: "never.example", at: 1002, &table)
    #expect(table.entries.keys.sorted() == ["x.a.example"])
    #expect(table.changes.keys.sorted() == ["a.example", "x.a.example"])
  }

  @Test func `a huge max-age does not overflow`() {
    let table = Self.table(("a.example", "max-age=99999999999999999999"), at: .max - 5)

    #expect(table.covers("a.example", now: .max - 1))
  }

  @Test func `limits the number of hosts, and evicts the least recently updated`() {
    var table = HSTSTable()
    for number in 0..<(HSTSTable.maximumHosts) {
      Self.receive("max-age=100", from: "\(number).example", at: 1000, &table)
    }
    Self.receive("max-age=100", from: "0.example", at: 1001, &table)
    Self.receive("max-age=100", from: "new.example", at: 1002, &table)

    #expect(table.entries.count == HSTSTable.maximumHosts)
    #expect(table.covers("0.example", now: 1003) && table.covers("new.example", now: 1003))
    #expect(!table.covers("1.example", now: 1003))
    // All expired entries are evicted first.
    Self.receive("max-age=100", from: "later.example", at: 1101, &table)
    #expect(table.entries.keys.sorted() == ["later.example", "new.example"])
  }

  @Test func `does not save insignificant changes of the expiry`() {
    var table = Self.table(("a.example", "max-age=1000"))
    #expect(table.takeChanges().count == 1)

    Self.receive("max-age=1000", from: "a.example", at: 1050, &table)
    #expect(table.changes.isEmpty)
    #expect(table.covers("a.example", now: 2049))
    Self.receive("max-age=1000", from: "a.example", at: 1051, &table)
    #expect(table.takeChanges().count == 1)
    Self.receive("max-age=1000; includeSubDomains", from: "a.example", at: 1051, &table)
    #expect(table.takeChanges().count == 1)
    Self.receive("max-age=10; includeSubDomains", from: "a.example", at: 1051, &table)
    #expect(table.takeChanges().count == 1)
    Self.receive("max-age=0", from: "a.example", at: 1051, &table)
    #expect(table.takeChanges() == ["a.example": nil])
  }

  @Test func `merges saved entries without overwriting its own unsaved changes`() {
    var table = Self.table(("mine.example", "max-age=10"), ("gone.example", "max-age=10"))
    _ = table.takeChanges()
    Self.receive("max-age=20", from: "mine.example", at: 1001, &table)

    let other = HSTSTable.Entry(expires: 5000, includesSubdomains: true)
    let ended = HSTSTable.Entry(expires: 900, includesSubdomains: true)
    table.adopt(["mine.example": other, "other.example": other, "ended.example": ended], now: 1001)

    #expect(table.entries["mine.example"]?.expires == 1021)
    #expect(table.entries.keys.sorted() == ["mine.example", "other.example"])
    #expect(table.covers("x.other.example", now: 1002))
    let unsaved = table.takeChanges()
    Self.receive("max-age=0", from: "mine.example", at: 1002, &table)
    table.restore(unsaved)
    #expect(table.changes == ["mine.example": nil])
  }

  @Test func `accepts host names, but no addresses`() {
    #expect(HSTSTable.name("a.example") == "a.example")
    #expect(HSTSTable.name("a.example.") == "a.example")
    #expect(HSTSTable.name("127.0.0.1") == nil)
    #expect(HSTSTable.name("[::1]") == nil)
  }

  // MARK: File

  @Test func `writes and reads the file format`() {
    let entries = [
      "a.example": HSTSTable.Entry(expires: 1_924_992_000, includesSubdomains: true),
      "b.example": HSTSTable.Entry(expires: 7, includesSubdomains: false),
    ]

    let data = HSTSFile.text(entries)

    #expect(
      String(decoding: data, as: UTF8.self) == "# martlet hsts 1\n1924992000 + a.example\n7 - b.example\n")
    #expect(HSTSFile.parse(data) == entries)
  }

  @Test func `skips malformed lines`() {
    let text = """
      # martlet hsts 1
      12 + good.example

      # 12 + a.example
      12 + A.example
      12 + a.example.
      12 + 127.0.0.1
      12 + [::1]
      12 + bücher.example
      12 + a b.example
      12 * a.example
      -12 + a.example
      1e3 + a.example
      99999999999999999999 + a.example
      12 +  a.example
      12 + a.example\r
      12 +
      + a.example
      18446744073709551615 - far.example
      12 + cut.exa
      """

    let entries = HSTSFile.parse(Data(text.utf8))

    #expect(entries?.keys.sorted() == ["cut.exa", "far.example", "good.example"])
    #expect(entries?["far.example"]?.expires == .max)
  }

  @Test(arguments: ["", "\n", "12 + a.example\n", "# martlet hsts 2\n12 + a.example\n", "{}"])
  func `rejects a file without a valid first line`(_ text: String) {
    #expect(HSTSFile.parse(Data(text.utf8)) == nil)
  }
}
