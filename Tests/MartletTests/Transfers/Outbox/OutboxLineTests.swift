import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

@Suite struct OutboxLineTests {
  private static let date = Date(timeIntervalSince1970: 1_700_000_000.25)
  private static let headers = HTTPHeaders([
    .init(name: "A", value: "b"), .init(name: "A", value: "ä\n\t"), .init(name: "Empty", value: ""),
  ])

  private static func lines() throws -> [OutboxLine] {
    let death = OutboxEntry.DeadLetterInfo(date: date, failure: .unreadable("nobody wants it"))
    var revived = OutboxEntry(id: UUID(), key: nil, host: "h", bodyLength: nil, submittedAt: date)
    (revived.revivedAt, revived.attempts, revived.death) = (date, 3, death)
    return try [
      .sample(nil, key: "k", headers: headers, at: date), .sample(Data([0, 1, 255]), headers: headers),
      .sample(Data(), key: "", headers: headers), .sample(nil, headers: headers, bodyLength: 1 << 40),
      OutboxLine(.submitted(revived)), OutboxLine(.attempted(UUID(), 7)), OutboxLine(.gone(UUID())),
      OutboxLine(.deadLettered(UUID(), death)), OutboxLine(.revived(UUID(), at: date)), OutboxLine(.began(version: 9)),
    ]
  }

  @Test func `survives a round trip`() throws {
    for line in try Self.lines() {
      let read = try #require(line.reread())
      #expect(read.change == line.change && read.request == line.request && read.bytes == line.bytes)
      #expect(line.bytes.indices.filter { line.bytes[$0] == 0x0A } == [0, line.bytes.count - 1])
    }
  }

  @Test func `parses truncated and damaged lines safely`() throws {
    var random = SeededGenerator(seed: 6)
    for line in try Self.lines() {
      let bytes = line.bytes.dropFirst().dropLast()
      for count in 0..<bytes.count { #expect(OutboxLine(bytes.prefix(count)) == nil) }
      for _ in 0..<500 {
        var damaged = Data(bytes)
        for _ in 0..<3 {
          damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        var table = OutboxTable(.concurrent(1))
        // Neither the damaged bytes nor, with a corrected checksum, their text may be trusted.
        for line in [OutboxLine(damaged), OutboxLine.checked(damaged)] {
          if let change = line?.change?.placed(at: 0..<1) { table.apply(change) }
          _ = line?.request
        }
      }
    }
  }

  @Test func `bounds the numbers of a forged entry`() throws {
    for length in [Int64.min, -1, .max] {
      var table = OutboxTable(.concurrent(2))
      for _ in 0..<3 {
        let change = try #require(try OutboxLine.sample(nil, bodyLength: length).reread()?.change)
        table.apply(change.placed(at: 0..<1))
      }
      #expect(table.bytes >= 3 && table.bytes < .max)
    }
  }

  @Test func `recreates the submitted request`() throws {
    let line = try OutboxLine.sample(nil, url: "https://api.test/a?b=c", headers: Self.headers, bodyLength: 9)
    guard case .submitted(let entry)? = line.change, let contents = line.reread()?.request else {
      return _ = Issue.record("no submission")
    }
    let request = contents.request(entry, in: "/box")
    #expect(request.method == .post && request.url?.absoluteString == "https://api.test/a?b=c")
    #expect(request.headers == Self.headers)
    #expect(request.body == .file(URL(filePath: "/box/\(entry.id.uuidString).body"), contentType: nil))
  }
}

extension OutboxLine {
  /// Parses a line after correcting its checksum.
  fileprivate static func checked(_ line: Data) -> OutboxLine? {
    guard let space = line.firstIndex(of: 0x20) else { return nil }
    let text = Data(line[(space + 1)...])
    let sum = text.withUnsafeBytes { RecordChecksum.of($0) }
    return OutboxLine(Data("\(String(sum, radix: 16)) ".utf8) + text)
  }
}

@Suite struct OutboxVerdictTests {
  private static func verdict(_ status: Int, _ headers: HTTPHeaders = [:]) -> OutboxVerdict {
    OutboxVerdict(HTTPStatus(status), headers, Outbox.Options(), now: Date(timeIntervalSince1970: 5))
  }

  @Test func `counts a 2xx status as a delivery`() {
    for status in [200, 201, 202, 204, 208, 299] { #expect(Self.verdict(status) == .delivered(HTTPStatus(status))) }
  }

  @Test func `retries transient statuses and gives up on the others`() {
    for status in 300...599 {
      let isLater = [408, 409, 425, 429].contains(status) || status >= 500 && status != 501 && status != 505
      let expected: OutboxVerdict =
        isLater
        ? .later(.status(HTTPStatus(rawValue: status)), isCounted: true, asked: nil)
        : .refused(HTTPStatus(status))
      #expect(Self.verdict(status) == expected)
    }
  }

  @Test func `obeys Retry-After`() {
    let verdict = Self.verdict(503, ["Retry-After": "17"])
    #expect(verdict == .later(.status(.serviceUnavailable), isCounted: true, asked: .seconds(17)))
  }

  @Test func `does not count an attempt that fails before a connection`() {
    func isCounted(_ error: any Error) -> Bool? {
      if case .later(_, let isCounted, _) = OutboxVerdict(error) { isCounted } else { nil }
    }
    #expect(isCounted(HTTPError(.cannotConnect, "x")) == false)
    #expect(isCounted(HTTPError(.fileFailed, "too many open files")) == false)
    #expect(isCounted(HTTPError(.timedOut, "x", phase: .connecting)) == false)
    #expect(isCounted(HTTPError(.timedOut, "x", phase: .waiting)) == true)
    #expect(isCounted(HTTPError(.connectionLost, "x", phase: .receiving)) == true)
    #expect(isCounted(HTTPError(.tls, "x", phase: .connecting)) == false)
    #expect(isCounted(HTTPError(.tls, "x", phase: .receiving)) == true)
    struct Own: Error {}
    #expect(isCounted(Own()) == true)
    #expect(OutboxVerdict(CancellationError()) == .stopped)
    #expect(OutboxVerdict(HTTPError(.clientClosed, "x")) == .stopped)
    #expect(OutboxVerdict(HTTPError(.invalidRequest, "x")) == .dead(.error(.invalidRequest, "x")))
  }

  @Test(arguments: [
    Outbox.Failure.status(.gone), .error(.tls, "no trust: x  y"), .error(.timedOut, ""), .redirected(.get),
    .unreadable("the file of its body is gone"), .unreadable(""), .expired, .cancelled,
  ])
  func `a failure survives a round trip`(_ failure: Outbox.Failure) {
    #expect(Outbox.Failure(text: failure.text) == failure)
  }

  @Test func `keeps the text of an unknown failure`() {
    #expect(Outbox.Failure(text: "status x") == .unreadable("status x"))
    #expect(Outbox.Failure(text: "") == .unreadable(""))
  }
}
