import Testing

@testable import Martlet

@Suite struct ParsedTargetsTests {
  @Test func `parses a repeated target only once`() throws {
    let targets = ParsedTargets(base: "https://a.test/api")

    let first = try targets.url(of: "/users", adding: [:])

    #expect(first.string == "https://a.test/api/users")
    #expect(try targets.url(of: "/users", adding: [:]) === first)
    #expect(try targets.url(of: "/users", adding: ["q": "1"]).string == "https://a.test/api/users?q=1")
    #expect(try targets.url(of: "/other", adding: [:]).string == "https://a.test/api/other")
  }

  @Test func `returns correct URLs for hundreds of targets`() throws {
    let targets = ParsedTargets(base: nil)
    for round in 0..<3 {
      for number in 0..<500 {
        let text = "http://a.test/\(number)"
        #expect(try targets.url(of: RequestTarget(text), adding: [:]).string == text, "round \(round)")
      }
    }
  }

  @Test func `distinguishes targets that are equal as text but have other octets`() throws {
    let targets = ParsedTargets(base: nil)
    for number in 0..<500 {
      let composed = try targets.url(of: RequestTarget("http://a.test/\u{E9}\(number)"), adding: [:])
      let decomposed = try targets.url(of: RequestTarget("http://a.test/e\u{301}\(number)"), adding: [:])

      #expect(composed.string == "http://a.test/%C3%A9\(number)")
      #expect(decomposed.string == "http://a.test/e%CC%81\(number)")

      // The kelvin sign and the letter K are equal as strings.
      let letter = try targets.url(of: RequestTarget("http://a.test/K\(number)"), adding: [:])
      let sign = try targets.url(of: RequestTarget("http://a.test/\u{212A}\(number)"), adding: [:])

      #expect(letter.string == "http://a.test/K\(number)")
      #expect(sign.string == "http://a.test/%E2%84%AA\(number)")
    }
  }

  @Test func `does not cache credentials or long targets`() throws {
    let targets = ParsedTargets(base: nil)
    for text in ["http://user:secret@a.test/", "http://a.test/" + String(repeating: "x", count: 600)] {
      let first = try targets.url(of: RequestTarget(text), adding: [:])
      #expect(try targets.url(of: RequestTarget(text), adding: [:]) !== first)
    }
  }

  @Test func `throws for an invalid target every time`() {
    let targets = ParsedTargets(base: nil)
    for _ in 0..<2 { #expect(throws: InvalidInput.self) { try targets.url(of: "no scheme", adding: [:]) } }
  }
}

@Suite struct BoxedTests {
  @Test func `changing a copy leaves the original unchanged`() {
    let first = Boxed([1])
    var second = first
    second.value.append(2)
    #expect(first.value == [1])
    #expect(second.value == [1, 2])
  }
}
