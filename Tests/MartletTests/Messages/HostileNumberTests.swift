import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

#if os(Linux)
  @testable import CurlEngine
#endif

/// A peer's numbers never overflow, at the limits of every integer type and far beyond.
@Suite struct HostileNumberTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  @Test func `delta-seconds saturate at 2³¹`() {
    for (text, value) in HostileNumber.all {
      let expected = Int(min(value ?? .max, 1 << 31))
      #expect(FieldSyntax.deltaSeconds(text) == expected, "\(text)")
      #expect(FieldSyntax.deltaSeconds("-" + text) == nil)
      #expect((["Retry-After": text] as HTTPHeaders).retryAfter(now: Self.now) == .seconds(expected), "\(text)")
    }
  }

  @Test func `caps Max-Age of a cookie at 400 days`() throws {
    for (text, value) in HostileNumber.all {
      let seconds = TimeInterval(min(value ?? .max, 400 * 86_400))
      let cookie = try #require(SetCookie("a=b; Max-Age=\(text)", now: Self.now))
      #expect(cookie.expires == (seconds == 0 ? .distantPast : Self.now.addingTimeInterval(seconds)), "\(text)")
      let ended = try #require(SetCookie("a=b; Max-Age=-\(text)", now: Self.now))
      #expect(ended.expires == .distantPast)
    }
  }

  @Test func `accepts only four-digit years in dates`() {
    for (text, _) in HostileNumber.all where text.count != 4 {
      #expect(HTTPDate("Sun, 06 Nov \(text) 08:49:37 GMT") == nil, "\(text)")
    }
  }

  @Test func `accepts only ports from 1 to 65535`() {
    for (text, value) in HostileNumber.all {
      let port = value.flatMap { 1...65_535 ~= $0 ? Int($0) : nil }
      #expect((try? AbsoluteURL.parse("http://h.test:\(text)/"))?.effectivePort == port, "\(text)")
      #expect((try? AbsoluteURL.parse("http://h.test:-\(text)/")) == nil)
    }
  }

  #if os(Linux)
    @Test func `accepts only three-digit statuses`() {
      for (text, value) in HostileNumber.all {
        var reader = ResponseHeadReader()
        let line = Array("HTTP/1.1 \(text) OK\r\n\r\n".utf8)
        let status = line[..<(line.count - 2)].withUnsafeBufferPointer { first -> Int? in
          guard (try? reader.read(first)) != nil else { return nil }
          return line[(line.count - 2)...].withUnsafeBufferPointer { second in
            if case .final(let head)? = try? reader.read(second) { head.status } else { nil }
          }
        }
        // Statuses below 200 are not final responses.
        #expect(status == value.flatMap { 200...999 ~= $0 ? Int($0) : nil }, "\(text)")
      }
    }

    @Test func `accepts a Content-Length of at most 63 bits`() throws {
      for (text, value) in HostileNumber.all {
        var reader = ResponseHeadReader()
        var head: ResponseHeadReader.Head?
        for line in ["HTTP/1.1 200 OK\r\n", "Content-Length: \(text)\r\n", "\r\n"] {
          let step = try Array(line.utf8).withUnsafeBufferPointer { try reader.read($0) }
          if case .final(let found) = step { head = found }
        }
        let found = try #require(head)
        if let expected = value.flatMap({ Int64(exactly: $0) }) {
          #expect(try found.bodyLength() == expected)
        } else {
          #expect(throws: ResponseHeadReader.Problem.self) { try found.bodyLength() }
        }
      }
    }
  #endif

  @Test func `accepts Content-Range numbers of at most 63 bits`() {
    for (text, value) in HostileNumber.all {
      let number = value.flatMap { Int64(exactly: $0) }
      #expect(ContentRange("bytes 0-0/\(text)")?.size == number.flatMap { $0 > 0 ? $0 : nil }, "\(text)")
      #expect(ContentRange("bytes */\(text)")?.size == number, "\(text)")
      let upTo = ContentRange("bytes 0-\(text)/*")
      // A range that ends at `Int64.max` is rejected, because its length would overflow.
      #expect(upTo?.range?.upperBound == number.flatMap { $0 < .max ? $0 : nil }, "\(text)")
      #expect(upTo?.length == upTo?.range.map { $0.upperBound + 1 })
      #expect(ContentRange("bytes \(text)-\(text)/*")?.length == (number.flatMap { $0 < .max ? 1 : nil }), "\(text)")
    }
  }
}
