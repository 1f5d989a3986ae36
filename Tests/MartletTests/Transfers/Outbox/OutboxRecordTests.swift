import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct OutboxRecordTests {
  private static func request(_ body: OutboxRequest.Body, key: String? = "k") -> OutboxRequest {
    OutboxRequest(
      id: UUID(), key: key, method: "POST", url: "https://api.test/a?b=c",
      fields: [.init(name: "A", value: "b"), .init(name: "A", value: "ä"), .init(name: "Empty", value: "")], body: body,
      submittedAt: Date(timeIntervalSince1970: 1_700_000_000.25))
  }

  private static let records: [OutboxRecord] = [
    .submitted(request(.none)), .submitted(request(.bytes(Data([0, 1, 255])), key: nil)),
    .submitted(request(.bytes(Data()), key: "")), .submitted(request(.file(1 << 40))), .attempted(UUID(), 7),
    .delivered(UUID()), .died(UUID(), at: Date(timeIntervalSince1970: 5), .unreadable("nobody wants it")),
    .revived(UUID(), at: Date(timeIntervalSince1970: 6)), .removed(UUID()),
  ]

  @Test func `survives a round trip`() {
    for record in Self.records { #expect(OutboxRecord(record.bytes) == record) }
  }

  @Test func `parses truncated and damaged records safely`() {
    var random = SeededGenerator(seed: 6)
    for record in Self.records {
      let bytes = record.bytes
      for count in 0..<bytes.count {
        if case .submitted(let request) = record, case .bytes = request.body { continue }
        #expect(OutboxRecord(Array(bytes.prefix(count))) == nil)
      }
      for _ in 0..<2000 {
        var damaged = bytes
        for _ in 0..<3 {
          damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        var table = OutboxTable(.concurrent(1))
        if let read = OutboxRecord(damaged) { table.apply(OutboxChange(read, 0..<1)) }
      }
    }
  }

  @Test func `recreates the submitted request`() throws {
    let stored = Self.request(.file(9))
    let request = stored.request(in: "/box")
    #expect(request.method == .post && request.url?.absoluteString == "https://api.test/a?b=c")
    #expect(request.headers.map(\.value) == ["b", "ä", ""])
    #expect(request.body == .file(URL(filePath: "/box/\(stored.id.uuidString).body"), contentType: nil))
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
    #expect(isCounted(HTTPError(.file, "too many open files")) == false)
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
