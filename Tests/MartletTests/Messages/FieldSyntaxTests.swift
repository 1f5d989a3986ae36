import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite struct FieldSyntaxTests {
  /// Returns a single octet as text; `nil` from 0x80 on, because one such octet is not valid UTF-8.
  private static func text(with octet: UInt8) -> String? {
    octet < 0x80 ? String(decoding: [octet], as: UTF8.self) : nil
  }

  @Test(arguments: 0...255 as ClosedRange<UInt8>)
  func `classifies the octets of tokens and field values`(octet: UInt8) {
    let isTokenOctet = octet < 0x80 && "!#$%&'*+-.^_`|~0123456789".utf8.contains(octet) || isLetter(octet)
    let isValueOctet = octet == 0x09 || 0x20...0x7E ~= octet || octet >= 0x80

    #expect(FieldSyntax.isTokenOctet(octet) == isTokenOctet)
    #expect(FieldSyntax.isValueOctet(octet) == isValueOctet)
    if let text = Self.text(with: octet) {
      #expect(FieldSyntax.isToken("a\(text)b") == isTokenOctet)
      #expect(FieldSyntax.isFieldValue("a\(text)b") == isValueOctet)
      #expect(FieldSyntax.firstIllegalOctet(inValue: "a\(text)b") == (isValueOctet ? nil : octet))
    }
  }

  private func isLetter(_ octet: UInt8) -> Bool {
    0x41...0x5A ~= octet || 0x61...0x7A ~= octet
  }

  @Test func `non-ASCII text is valid in a field value but not in a token`() {
    #expect(FieldSyntax.isFieldValue("é日😀"))
    #expect(!FieldSyntax.isToken("é"))
  }

  @Test(arguments: ["a\r\nb", "\r\n", "a\r\n", "\r\nb", "é\r\n\u{301}", "a\n\u{301}", "a\r\u{200D}", "a\0", "\u{7F}"])
  func `rejects line ends and control characters, even in grapheme clusters`(text: String) {
    #expect(!FieldSyntax.isFieldValue(text))
    #expect(!FieldSyntax.isToken(text))
    #expect(FieldSyntax.firstIllegalOctet(inValue: text) != nil)
  }

  @Test func `a field value may be empty, a token may not`() {
    #expect(FieldSyntax.isFieldValue(""))
    #expect(FieldSyntax.isFieldValue(" \t a \t"))
    #expect(!FieldSyntax.isToken(""))
    #expect(FieldSyntax.isToken("x-y"[...]))
  }

  @Test(arguments: [
    (#""abc" rest"#, "abc", " rest"), (#""""#, "", ""), (#""a\"b\\c"x"#, #"a"b\c"#, "x"), ("\"a\tb\"", "a\tb", ""),
    (#""é\é""#, "éé", ""),
  ])
  func `parses a quoted string and stops after it`(text: String, value: String, rest: String) {
    var octets = text[...].utf8

    #expect(FieldSyntax.readQuotedString(from: &octets) == value)
    #expect(String(Substring(octets)) == rest)
  }

  @Test(arguments: ["", "abc", #"""#, #""abc"#, #""abc\""#, #""abc\"#, #" "abc""#, "\"a\nb\"", "\"a\\\nb\"", "\"\0\""])
  func `consumes nothing without a valid quoted string`(text: String) {
    var octets = text[...].utf8

    #expect(FieldSyntax.readQuotedString(from: &octets) == nil)
    #expect(String(Substring(octets)) == text)
  }

  @Test(arguments: ["", "a", "a b", #"""#, #"\"#, #"\"\\""#, "é"])
  func `a quoted string parses to the original text`(text: String) {
    var octets = FieldSyntax.quoted(text)[...].utf8

    #expect(FieldSyntax.readQuotedString(from: &octets) == text)
    #expect(octets.isEmpty)
  }

  @Test(arguments: [
    ("", ""), (" ", ""), (" \t", ""), ("a", "a"), ("\t a b ", "a b"), ("\na ", "\na"), ("\u{A0}a", "\u{A0}a"),
  ])
  func `trims only spaces and tabs`(text: String, trimmed: String) {
    #expect(FieldSyntax.trimmed(text) == trimmed)
  }

  @Test(arguments: ["", " ", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "１", "1_0", "a", "1\0", "٣"])
  func `accepts only ASCII digits in numbers`(text: String) {
    #expect(FieldSyntax.parseDigits(text) == nil)
    #expect(FieldSyntax.parseSaturated(text) == nil)
    #expect(FieldSyntax.deltaSeconds(text) == nil)
  }

  @Test func `parses numbers around every power of two without overflow`() {
    for exponent in 0...128 {
      for number in Decimals.around(powerOfTwo: exponent) {
        let expected = UInt64(number)

        #expect(FieldSyntax.parseDigits(number) == expected)
        #expect(FieldSyntax.parseDigits(Array(number.utf8)) == expected)
        #expect(FieldSyntax.parseDigits("000" + number) == expected)
        #expect(FieldSyntax.parseSaturated(number) == expected ?? .max)
        #expect(FieldSyntax.deltaSeconds(number) == min(Int(clamping: expected ?? .max), 1 << 31))
      }
    }
  }

  @Test(arguments: ["9", "1", "18446744073709551616"])
  func `saturates for numbers with hundreds of digits`(digit: String) {
    let number = String(repeating: digit, count: 400)

    #expect(FieldSyntax.parseDigits(number) == nil)
    #expect(FieldSyntax.parseSaturated(number) == .max)
    #expect(FieldSyntax.parseSaturated(number + "x") == nil)
    #expect(FieldSyntax.deltaSeconds(number) == 2_147_483_648)
    #expect(FieldSyntax.deltaSeconds(String(repeating: "0", count: 400) + "7") == 7)
  }

  @Test func `lowercases only ASCII letters`() {
    #expect(FieldSyntax.lowercased("AZaz@[`{É\u{212A}") == "azaz@[`{É\u{212A}")
    #expect(FieldSyntax.isSameName("Content-Type", "cONTENT-tYPE"))
    #expect(!FieldSyntax.isSameName("a", "aa"))
    #expect(!FieldSyntax.isSameName("@", "`"))
    #expect(!FieldSyntax.isSameName("[", "{"))
  }

  @Test func `each member of a random list parses as a single member`() {
    var random = SeededGenerator(seed: 5)
    let samples = [#"a, "b,c" , d"#, #"W/"1", "2\",3",,"#]

    for _ in 0..<Stress.count(4_000, full: 20_000) {
      for member in FieldSyntax.listMembers(of: random.damagedText(of: samples)) {
        #expect(!member.isEmpty)
        #expect(FieldSyntax.listMembers(of: member).map { Array($0.utf8) } == [Array(member.utf8)])
      }
    }
  }
}

/// Decimal digits of numbers that are too large for any integer type.
private enum Decimals {
  static func around(powerOfTwo exponent: Int) -> [String] {
    var digits: [UInt8] = [1]
    for _ in 0..<exponent { add(to: &digits) { $0 * 2 } }
    var more = digits
    var carry: UInt8 = 1
    for index in more.indices where carry > 0 {
      more[index] += carry
      carry = more[index] / 10
      more[index] %= 10
    }
    if carry > 0 { more.append(carry) }
    var less = digits
    for index in less.indices {
      if less[index] > 0 {
        less[index] -= 1
        break
      }
      less[index] = 9
    }
    if less.count > 1 && less.last == 0 { less.removeLast() }
    return [less, digits, more].map { $0.reversed().map(String.init).joined() }
  }

  private static func add(to digits: inout [UInt8], _ change: (UInt8) -> UInt8) {
    var carry: UInt8 = 0
    for index in digits.indices {
      let sum = change(digits[index]) + carry
      digits[index] = sum % 10
      carry = sum / 10
    }
    if carry > 0 { digits.append(carry) }
  }
}
