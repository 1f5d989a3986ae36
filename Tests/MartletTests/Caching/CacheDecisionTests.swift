import Foundation
import Testing

@testable import Martlet

/// RFC 9111 §4 as tables: the request, the stored responses and the expected decision.
@Suite struct CacheDecisionTests {
  private static let start = FreshnessTests.start

  private func decide(
    _ entries: [CacheEntry], _ headers: HTTPHeaders = [:], _ policy: CachePolicy = .standard, after: TimeInterval = 0,
    method: HTTPMethod = .get
  ) -> CacheDecision {
    CacheDecision.make(
      CacheDecision.Question(method: method, headers: headers, policy: policy, now: Self.start + after), entries)
  }

  private func entry(_ headers: HTTPHeaders) -> CacheEntry { FreshnessTests.entry(headers) }
  private var fresh: CacheEntry { entry(["Cache-Control": "max-age=60", "ETag": "\"a\""]) }

  @Test func `uses fresh responses and revalidates stale ones by default`() {
    #expect(decide([]) == .fetch(nil, .nothing))
    #expect(decide([fresh]) == .use(0, .fresh))
    #expect(decide([fresh], after: 61) == .revalidate(0, .stale))
    #expect(decide([entry(["Cache-Control": "max-age=60"])], after: 61) == .fetch(0, .stale))
  }

  @Test(
    arguments: [
      ("max-age=30", .use(0, .fresh)), ("max-age=5", .revalidate(0, .tooOld)), ("max-age=0", .revalidate(0, .tooOld)),
      ("no-cache", .revalidate(0, .requestForbids)), ("no-store", .fetch(nil, .requestForbids)),
      ("min-fresh=40", .use(0, .fresh)), ("min-fresh=55", .revalidate(0, .notFreshEnough)),
      ("only-if-cached", .use(0, .fresh)), ("x-unknown=1", .use(0, .fresh)),
    ] as [(String, CacheDecision)]) func `obeys the Cache-Control of the request for a fresh response`(
      asked: String, decision: CacheDecision
    )
  {
    #expect(decide([fresh], ["Cache-Control": asked], after: 10) == decision)
  }

  @Test(
    arguments: [
      ("max-stale", .use(0, .staleAllowed)), ("max-stale=60", .use(0, .staleAllowed)),
      ("max-stale=10", .revalidate(0, .stale)), ("only-if-cached", .fail(.notStored)),
      ("max-stale=60, only-if-cached", .use(0, .staleAllowed)), ("max-stale=60, max-age=30", .revalidate(0, .tooOld)),
    ] as [(String, CacheDecision)]) func `obeys the Cache-Control of the request for a stale response`(
      asked: String, decision: CacheDecision
    )
  {
    #expect(decide([fresh], ["Cache-Control": asked], after: 100) == decision)
  }

  @Test(
    arguments: [
      ("max-age=60, no-cache", 0, .revalidate(0, .responseForbids)),
      ("max-age=60, no-cache=\"set-cookie\"", 0, .use(0, .fresh)), ("max-age=60, must-revalidate", 0, .use(0, .fresh)),
      ("max-age=60, immutable", 0, .use(0, .fresh)), ("max-age=60, immutable", 61, .revalidate(0, .stale)),
      ("max-age=60, private", 0, .use(0, .fresh)),
      ("max-age=60, stale-while-revalidate=30", 80, .useAndRefresh(0, .staleWhileRevalidate)),
      ("max-age=60, stale-while-revalidate=30", 91, .revalidate(0, .stale)),
      ("max-age=60, stale-while-revalidate=30, must-revalidate", 80, .revalidate(0, .stale)),
      ("proxy-revalidate, max-age=60", 0, .use(0, .fresh)), ("s-maxage=60", 0, .revalidate(0, .stale)),
    ] as [(String, TimeInterval, CacheDecision)])
  func `obeys the Cache-Control of the response`(control: String, after: TimeInterval, decision: CacheDecision) {
    #expect(decide([entry(["Cache-Control": control, "ETag": "\"a\""])], after: after) == decision)
  }

  @Test func `max-stale does not override must-revalidate`() {
    let entry = entry(["Cache-Control": "max-age=60, must-revalidate", "ETag": "\"a\""])

    #expect(decide([entry], ["Cache-Control": "max-stale"], after: 100) == .revalidate(0, .stale))
  }

  @Test func `Pragma counts only without Cache-Control`() {
    #expect(decide([fresh], ["Pragma": "no-cache"]) == .revalidate(0, .requestForbids))
    #expect(decide([fresh], ["Pragma": "no-cache", "Cache-Control": "max-age=9"]) == .use(0, .fresh))
    #expect(decide([fresh], ["Pragma": "other"]) == .use(0, .fresh))
  }

  @Test(
    arguments: [
      (.neverRead, .fetch(nil, .neverRead)), ([], .revalidate(0, .stale)),
      (.revalidateWhenStale, .revalidate(0, .stale)),
      (.alwaysRevalidate, .revalidate(0, .alwaysRevalidate)), (.preferCached, .use(0, .preferred)),
      (.onlyCached, .use(0, .preferred)), ([.preferCached, .staleWhileRevalidate], .useAndRefresh(0, .preferred)),
      (.fallbackOnError, .revalidate(0, .stale)),
    ] as [(CachePolicy, CacheDecision)]) func `obeys the cache policy for a stale response`(
      policy: CachePolicy, decision: CacheDecision
    )
  {
    #expect(decide([fresh], [:], policy, after: 100) == decision)
  }

  @Test func `onlyCached and only-if-cached fail if nothing is stored`() {
    #expect(decide([], [:], .onlyCached) == .fail(.notStored))
    #expect(decide([], ["Cache-Control": "only-if-cached"]) == .fail(.notStored))
  }

  @Test func `ignoreServerDirectives overrides no-cache`() {
    let entry = entry(["Cache-Control": "no-cache, max-age=60", "ETag": "\"a\""])

    #expect(decide([entry], [:], [.ignoreServerDirectives]) == .use(0, .fresh))
  }

  @Test func `forwards the caller's preconditions unless a fresh response can answer them`() {
    #expect(decide([fresh], ["If-None-Match": "\"b\""]) == .use(0, .fresh))
    #expect(decide([fresh], ["If-None-Match": "\"b\""], after: 100) == .fetch(0, .stale))
    #expect(decide([fresh], ["If-Match": "\"b\""]) == .fetch(nil, .ownCondition))
    #expect(decide([fresh], ["If-Range": "\"b\"", "Range": "bytes=0-1"]) == .fetch(nil, .ownCondition))
  }

  @Test func `serves a range from the cache only if If-Range has the stored strong ETag`() {
    let entry = FreshnessTests.entry(["Cache-Control": "max-age=60", "ETag": "\"a\"", "Content-Length": "10"])
    func decide(_ condition: String, _ range: String? = "bytes=0-1", _ tag: String = "\"a\"") -> CacheDecision {
      var entry = entry
      entry.headers["ETag"] = tag
      entry.bodyLength = 10
      var headers: HTTPHeaders = ["If-Range": condition]
      headers["Range"] = range
      return self.decide([entry], headers)
    }

    #expect(decide("\"a\"") == .use(0, .fresh))
    #expect(decide("\"b\"") == .fetch(nil, .ownCondition))
    #expect(decide("W/\"a\"", "bytes=0-1", "W/\"a\"") == .fetch(nil, .ownCondition), "weak tags say nothing of bytes")
    #expect(decide("\"a\"", nil) == .fetch(nil, .ownCondition))
    #expect(decide("\"a\"", "bytes=0-99,3-4") == .fetch(0, .otherBytes))
  }

  @Test func `uses the newest of several matching variants`() {
    func variant(_ date: TimeInterval) -> CacheEntry {
      entry(["Cache-Control": "max-age=600", "Date": FreshnessTests.date(date)])
    }
    #expect(decide([variant(-20), variant(-5), variant(-10)]) == .use(1, .fresh))
  }

  @Test func `does not use a variant selected by different field values`() {
    var entry = entry(["Cache-Control": "max-age=600", "Vary": "Foo"])
    entry.selectors = ["foo": "1"]

    #expect(decide([entry], ["Foo": "1"]) == .use(0, .fresh))
    #expect(decide([entry], ["Foo": "2"]) == .fetch(nil, .noVariant))
    #expect(decide([entry]) == .fetch(nil, .noVariant))
  }

  @Test(
    arguments: [
      ("bytes=0-9", .use(0, .fresh)), ("bytes=5-", .use(0, .fresh)), ("bytes=-3", .use(0, .fresh)),
      ("bytes=100-", .fetch(0, .otherBytes)), ("bytes=0-1,3-4", .fetch(0, .otherBytes)),
      ("lines=1-2", .fetch(0, .otherBytes)),
      ("bytes=9-5", .fetch(0, .otherBytes)), ("bytes=99999999999999999999-", .fetch(0, .otherBytes)),
    ] as [(String, CacheDecision)]) func `serves a valid range from a complete response`(
      range: String, decision: CacheDecision
    )
  {
    var whole = fresh
    whole.bodyLength = 10
    #expect(decide([whole], ["Range": range]) == decision)
  }

  @Test(
    arguments: [
      ("bytes=2-4", .use(0, .fresh)), ("bytes=0-4", .use(0, .fresh)), ("bytes=0-5", .fetch(0, .otherBytes)),
      ("bytes=-3", .fetch(0, .otherBytes)), (nil, .complete(0, .incomplete)),
    ] as [(String?, CacheDecision)]) func `serves a range from a partial response only if the part contains it`(
      range: String?, decision: CacheDecision
    )
  {
    var part = fresh
    (part.status, part.bodyLength) = (206, 5)
    part.headers["Content-Range"] = "bytes 0-4/10"
    #expect(decide([part], range.map { ["Range": $0] } ?? [:]) == decision)
  }

  @Test(
    arguments: [
      (.standard, "max-age=1", false), (.standard, "max-age=1, stale-if-error=60", true),
      (.standard, "max-age=1, stale-if-error=10", false),
      (.standard, "max-age=1, stale-if-error=60, must-revalidate", false),
      (.standard, "no-cache, stale-if-error=60", false), ([.standard, .fallbackOnError], "max-age=1", true),
      ([.standard, .fallbackOnError], "max-age=1, must-revalidate", true),
    ] as [(CachePolicy, String, Bool)])
  func `stale-if-error and fallbackOnError allow a stale response after an error`(
    policy: CachePolicy, control: String, mayStandIn: Bool
  ) {
    let question = CacheDecision.Question(method: .get, headers: [:], policy: policy, now: Self.start + 30)

    #expect(CacheDecision.mayStandIn(entry(["Cache-Control": control]), question) == mayStandIn)
  }
}
