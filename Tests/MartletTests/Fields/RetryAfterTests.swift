import Foundation
import Testing

@testable import Martlet

@Suite struct RetryAfterTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT.
  static let now = Date(timeIntervalSince1970: 784_111_777)

  @Test(arguments: [
    ("0", 0), ("7", 7), (" 7\t", 7), ("007", 7), ("2147483648", 1 << 31), ("2147483649", 1 << 31),
    ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:50:07 GMT", 30),
    ("Sunday, 06-Nov-94 08:50:07 GMT", 30), ("Sun Nov  6 08:50:07 1994", 30),
    ("Sat, 05 Nov 1994 08:49:37 GMT", 0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Sat, 01 Jan 0000 00:00:00 GMT", 0),
  ]) func `reads seconds and dates`(value: String, seconds: Int) {
    #expect((["Retry-After": value] as HTTPHeaders).retryAfter(now: Self.now) == .seconds(seconds))
  }

  @Test(arguments: ["", "-1", "+1", "1.5", "7s", "1e3", "0x10", "soon", "7, 8", "٧", "Sun, 06 Nov 1994", "\u{0}"])
  func `ignores a malformed value`(value: String) {
    #expect((["Retry-After": value] as HTTPHeaders).retryAfter(now: Self.now) == nil)
  }

  @Test func `has no delay if the field is missing`() { #expect(([:] as HTTPHeaders).retryAfter(now: Self.now) == nil) }

  @Test func `limits large values without overflow`() {
    for power in 0..<128 {
      let middle = UInt128(1) << UInt128(power)
      for value in [middle - 1, middle, middle + 1] {
        let expected = Duration.seconds(Int64(min(value, 1 << 31)))
        #expect((["Retry-After": "\(value)"] as HTTPHeaders).retryAfter(now: Self.now) == expected)
      }
    }
    let enormous = "1" + String(repeating: "0", count: 400)
    #expect((["Retry-After": enormous] as HTTPHeaders).retryAfter(now: Self.now) == .seconds(1 << 31))
  }

  @Test(arguments: [-1e300, -1e10, 0, 1e10, 1e300, .infinity, -.infinity, .nan])
  func `returns no negative delay for any clock value`(now: Double) {
    let date = "Fri, 31 Dec 9999 23:59:59 GMT"

    let delay = (["Retry-After": date] as HTTPHeaders).retryAfter(now: Date(timeIntervalSince1970: now))

    #expect(delay.map { $0 >= .zero } ?? true)
  }
}
