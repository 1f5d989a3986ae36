import Foundation
import Testing

@testable import Martlet

/// Explanation codes are public API, because programs act on them.
@Suite(.hangLimit) struct ExplanationCodesTests {
  private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../../Sources/Martlet").standardized

  /// Returns the codes in the article's table; a code that ends in `*` is expanded to one code per reason.
  private static func listed() throws -> [String] {
    let article = try String(contentsOf: sources.appending(path: "Martlet.docc/Explaining.md"), encoding: .utf8)
    return article.split(separator: "\n").flatMap { line -> [String] in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count == 4 else { return [] }
      func words(_ cell: Substring) -> [String] { cell.matches(of: #/`([A-Za-z0-9.*]+)`/#).map { String($0.1) } }
      let codes = words(cells[1]).filter { $0.contains(".") }
      let reasons = words(cells[2])
      return codes.flatMap { code in
        code.hasSuffix(".*") ? reasons.map { "\(code.dropLast(1))\($0)" } : [code]
      }
    }
  }

  /// The sources that report decisions.
  private static func texts() throws -> [String] {
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    let texts = try (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
      .map { try String(contentsOf: $0, encoding: .utf8) }
      .filter { text in ["Explanation.", "decided(", "explain("].contains { text.range(of: $0) != nil } }
    #expect(texts.count > 30)
    return texts
  }

  /// Returns the string literals in these sources.
  private static func literals() throws -> Set<String> {
    let texts = try texts()
    // Some codes interpolate their first part, because it differs between servers and proxies.
    return Set(
      texts.flatMap { $0.split(separator: "\"") }.map {
        $0.hasPrefix(#"\(party.area)."#) ? "authentication.\($0.dropFirst(14))" : String($0)
      })
  }

  private static let areas: Set = [
    "request", "guards", "hsts", "redirect", "retry", "authentication", "cookies", "cache", "connection",
    "expectation", "contentCoding", "load", "hedging", "limit", "status", "upgrade",
    "cluster",
  ]

  @Test func `each code in the article occurs in the sources and has an area`() throws {
    let (listed, literals, typed) = (try Self.listed(), try Self.literals(), Set(Self.ofRules + Self.ofCache))
    #expect(listed.count > 130 && Set(listed).count == listed.count)
    for entry in listed {
      let parts = entry.split(separator: ".").map(String.init)
      #expect(Self.areas.contains(parts[0]) && 2...3 ~= parts.count, "\(entry)")
      let isWritten =
        literals.contains(entry)
        || parts.count == 3 && literals.contains("\(parts[0]).\(parts[1])") && literals.contains(parts[2])
      #expect(isWritten || typed.contains(entry), "\(entry)")
    }
  }

  @Test func `the article lists each code in the sources`() throws {
    let listed = Set(try Self.listed())
    let starts = Set(listed.map { $0.split(separator: ".").prefix(2).joined(separator: ".") })
    let found = try Self.literals().filter { text in
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      return 2...3 ~= parts.count && Self.areas.contains(String(parts[0]))
        && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLetter || $0.isNumber } }
    }
    #expect(found.count > 45)
    for entry in found { #expect(listed.contains(entry) || starts.contains(entry), "\(entry)") }
  }

  @Test func `the article lists each reason that is written inline`() throws {
    let reasons = Set(try Self.listed().compactMap { $0.split(separator: ".").dropFirst(2).first.map(String.init) })
    let written = try Self.texts().flatMap { text in
      text.matches(
        of:
          #/(?:Reason|throw \.init|return \.init|refused\("", \.init|notHedged\(\.init|ignored|= Self|= \.init)\(\s*"([A-Za-z]+)",/#
      )
      .map { String($0.1) }
    }
    #expect(written.count > 25)
    for reason in written { #expect(reasons.contains(reason), "\(reason)") }
  }

  @Test func `the article lists the reasons of the rules and the decisions of the cache`() throws {
    let (listed, typed) = (Set(try Self.listed()), Self.ofRules + Self.ofCache)
    #expect(Set(typed).count == typed.count)
    for code in typed { #expect(listed.contains(code), "\(code)") }
    #expect(Explanation.Decision.preemptive(.basic, .server).code == "authentication.preemptive")
    #expect(Explanation.Decision.preemptive(.basic, .proxy).code == "proxyAuthentication.preemptive")
  }

  /// The codes of the reasons that rules return.
  private static var ofRules: [String] {
    var codes: [String] = []
    func add(_ reason: some ExplainedReason, _ start: String) {
      #expect(!reason.wording.text.isEmpty)
      codes.append("\(start).\(reason.wording.code)")
    }
    let stops: [Explanation.RedirectReason] = [
      .off, .noLocation, .stopped, .differentLocations, .invalidLocation("x"), .tooLong(maximum: 1),
      .downgrade(to: "x"), .bodyNotReplayable, .tooMany(maximum: 1),
    ]
    for reason in stops { add(reason, "redirect.notFollowed") }
    let causes: [Explanation.Reason] = [
      .staleConnection, .timeout, .backoff, .retryAfter, .closure, .unprocessed, .otherServer, .needsHTTP11,
    ]
    for cause in causes { add(cause, "retry.repeated") }
    let refusals: [HTTPResponse.Attempt.RetryRefusal] = [
      .bodyNotReplayable, .notIdempotent(.post), .exceedsTotalLimit(delay: .zero, limit: .zero),
      .exceedsDeadline(delay: .zero, remaining: .zero), .budgetExhausted,
    ]
    for refusal in refusals { add(refusal, "retry.refused") }
    let withheld: [Explanation.CookieWithholding] = [
      .secureOnly, .hostOnly("a"), .path("/"), .sameSite, .partition, .fieldFull(maximum: 1),
    ]
    for reason in withheld { add(reason, "cookies.withheld") }
    let notStored: [CacheRules.Refusal] = [
      .neverWrite, .status, .requestForbids, .responseForbids, .variesByEverything, .notExplicitlyCacheable,
      .notReusable,
      .unknownPart, .failure, .lessThanStored,
    ]
    for refusal in notStored { add(refusal, "cache.notStored") }
    let loads: [Explanation.LoadReason] = [
      .circuitOpen(retryAfter: .zero), .queueFull(waiting: 1), .pause(.zero, maximum: .zero),
      .waitedTooLong(maximum: .zero), .tooLate(latency: .zero),
    ]
    for reason in loads { add(reason, "load.refused") }
    return codes
  }

  /// The codes of the cache's decisions.
  private static var ofCache: [String] {
    let decisions: [CacheDecision] =
      [.fresh, .preferred, .staleAllowed].map { .use(0, $0) }
      + [.staleWhileRevalidate, .preferred].map { .useAndRefresh(0, $0) }
      + [.complete(0, .incomplete), .fail(.notStored)]
      + [.requestForbids, .alwaysRevalidate, .responseForbids, .stale, .tooOld, .notFreshEnough].map {
        .revalidate(0, $0)
      }
      + [.nothing, .noVariant, .otherBytes, .incomplete, .neverRead, .requestForbids, .ownCondition].map {
        .fetch(nil, $0)
      }
      + [.alwaysRevalidate, .responseForbids, .stale, .tooOld, .notFreshEnough].map { .fetch(0, $0) }
    return decisions.map { decision in
      let explained = Explanation.Decision.cache(decision, nil)
      #expect(!explained.sentence.isEmpty)
      return explained.code.rawValue
    }
  }
}
