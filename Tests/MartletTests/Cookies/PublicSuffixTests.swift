import Foundation
import TestSupport
import Testing

@testable import Martlet

/// Compares the compiled list with its source and with the official test data.
@Suite struct PublicSuffixTests {
  private static func text(_ name: String) throws -> String {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let lists = folder.appending(path: "../../../Sources/Martlet/Cookies/PublicSuffix").standardizedFileURL
    return try String(contentsOf: lists.appending(path: name), encoding: .utf8)
  }

  private static func host(_ name: String) throws -> String { try URLHost.parse(Array(name.utf8)[...]) }

  @Test func `agrees with the list's own test data`() throws {
    var count = 0
    for line in try Self.text("test_psl.txt").split(separator: "\n") where line.hasPrefix("checkPublicSuffix(") {
      let parts = line.dropFirst(18).prefix { $0 != ")" }.split(separator: ",").map {
        $0.trimmingCharacters(in: CharacterSet(charactersIn: " '"))
      }
      // Hosts cannot begin with a dot.
      guard parts[0] != "null", !parts[0].hasPrefix(".") else { continue }
      count += 1

      let name = try Self.host(parts[0])
      let registrable = PublicSuffix.registrable(name)

      #expect(PublicSuffix.isSuffix(name) == (parts[1] == "null"), "\(line)")
      #expect(registrable == (parts[1] == "null" ? name : try Self.host(parts[1])), "\(line)")
    }
    #expect(count > 70)
  }

  @Test func `contains every rule of the list, including internationalized ones`() async throws {
    var count = 0
    var wrong: [String] = []
    for line in try Self.text("public_suffix_list.dat").split(separator: "\n") {
      guard let rule = line.split(separator: " ").first.map(String.init), !rule.hasPrefix("//") else { continue }
      count += 1
      if count.isMultiple(of: 500) { await Task.yield() }
      let isRight: Bool
      if rule.hasPrefix("!") {
        let name = try Self.host(String(rule.dropFirst()))
        isRight = !PublicSuffix.isSuffix(name) && PublicSuffix.registrable("a.\(name)") == name
      } else if rule.hasPrefix("*.") {
        let name = try Self.host(String(rule.dropFirst(2)))
        isRight = PublicSuffix.isSuffix("zz.\(name)") && PublicSuffix.registrable("b.a.zz.\(name)") == "a.zz.\(name)"
      } else {
        isRight = PublicSuffix.isSuffix(try Self.host(rule))
      }
      if !isRight { wrong.append(rule) }
    }

    #expect(wrong.isEmpty)
    #expect(count > 9_000)
  }

  @Test(arguments: [
    ("com", true), ("co.uk", true), ("co.uk.", true), ("github.io", true), ("nosuchtld", true), ("localhost", true),
    ("example.com", false), ("comm.example", false), ("om", true), ("aco.uk", false), ("o.uk", false), ("", true),
    (".", true), ("www.ck", false), ("x.ck", true), ("ck", true), ("a.x.ck", false), ("kawasaki.jp", false),
    ("x.kawasaki.jp", true), ("city.kawasaki.jp", false), ("xn--55qx5d.cn", true), ("xn--p1ai", true),
    ("zzz.zzzzz", false), ("aaa", true), ("zw", true), ("0.aaa", false),
  ]) func `matches public suffixes, but no similar names`(name: String, isSuffix: Bool) {
    #expect(PublicSuffix.isSuffix(name) == isSuffix)
  }

  @Test func `returns addresses unchanged, and finds the registrable domain of long names`() {
    let long = Array(repeating: "a", count: 120).joined(separator: ".") + ".co.uk"

    #expect(PublicSuffix.registrable("127.0.0.1") == "127.0.0.1")
    #expect(PublicSuffix.registrable("[::1]") == "[::1]")
    #expect(PublicSuffix.registrable(long) == "a.co.uk")
  }

  @Test func `handles damaged names without crashing`() async {
    var random = SeededGenerator(seed: 53)
    for number in 0..<Stress.count(1_000, full: 20_000) {
      if number.isMultiple(of: 250) { await Task.yield() }
      let name = random.damagedText(of: ["www.example.co.uk", "a.b.kobe.jp", "....", "x.ck", "xn--55qx5d.cn."])
      _ = PublicSuffix.isSuffix(name)
      let registrable = Array(PublicSuffix.registrable(name).utf8)
      #expect(name.utf8.suffix(registrable.count).elementsEqual(registrable) || name.utf8.last == UInt8(ascii: "."))
    }
  }
}
