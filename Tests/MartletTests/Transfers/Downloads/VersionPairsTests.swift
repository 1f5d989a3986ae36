import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Random servers whose file changes, and which ignore, sometimes honor or contradict `If-Range`.
@Suite(.hangLimit) struct VersionPairsTests {
  /// A server whose file changes after some request.
  ///
  /// It never sends bytes of one version with the strong validator of the other, because no client could detect that.
  struct Server: Sendable {
    enum Validator: CaseIterable { case tag, tagAndDate, date, weakTagAndDate, none }
    enum Total: CaseIterable { case right, unknown, other }
    enum Span: CaseIterable { case asked, shorter, longer, shifted, whole }

    let versions: [Data]
    let changesAfter: Int
    let validator: Validator
    /// The probability that the server evaluates a condition.
    let honors: Double
    let repeatsTag: Bool
    let repeatsDate: Bool
    let total: Total
    let span: Span
    /// The probability that a body is truncated.
    let cuts: Double

    init(_ random: inout SeededGenerator, versions: [Data], cuts: Double) {
      self.versions = versions
      self.cuts = cuts
      changesAfter = Int.random(in: 1...3, using: &random)
      validator = Validator.allCases.randomElement(using: &random) ?? .tag
      honors = [0, 0, 0.5, 1].randomElement(using: &random) ?? 0
      repeatsTag = Bool.random(using: &random)
      total =
        Double.random(in: 0..<1, using: &random) < 0.6 ? .right : Total.allCases.randomElement(using: &random) ?? .right
      span =
        Double.random(in: 0..<1, using: &random) < 0.7 ? .asked : Span.allCases.randomElement(using: &random) ?? .asked
      // Without a date, only the size reveals a change, so the versions must not appear to have the same size.
      let hasDateOnly = validator == .date || validator == .weakTagAndDate
      let isSizeEnough = versions[0].count != versions[1].count && total != .other
      repeatsDate = hasDateOnly && !isSizeEnough || Bool.random(using: &random)
    }

    func answer(_ request: HTTPRequest, number: Int, _ random: inout SeededGenerator) -> StubResponse {
      let version = number > changesAfter ? 1 : 0
      let data = versions[version]
      let (tag, date) = ("\"v\(version)\"", "Sun, 06 Nov 1994 08:49:3\(version) GMT")
      let strength: HTTPHeaders =
        switch validator {
        case .tag: ["ETag": tag]
        case .tagAndDate: ["ETag": tag, "Last-Modified": date]
        case .date: ["Last-Modified": date]
        case .weakTagAndDate: ["ETag": "W/" + tag, "Last-Modified": date]
        case .none: [:]
        }
      let common: HTTPHeaders = ["Date": "Mon, 07 Nov 1994 08:49:37 GMT", "Cache-Control": "max-age=9999999999"]
      let condition = request.headers["If-Range"]
      let isSame = condition == nil || [strength["ETag"], strength["Last-Modified"]].contains(condition)
      let isHonored = Double.random(in: 0..<1, using: &random) < honors
      guard let asked = ByteRange(request.headers[all: "Range"]), isSame || !isHonored else {
        return cut(.ok, common.replacing(with: strength), data, data.count, &random)
      }
      guard var range = asked.bytes(of: Int64(data.count)) else {
        return .status(
          .rangeNotSatisfiable,
          headers: repeated(strength, condition).replacing(with: ["Content-Range": "bytes */\(data.count)"]))
      }
      let last = Int64(data.count - 1)
      switch span {
      case .asked: break
      case .shorter: range = range.lowerBound...max(range.lowerBound, range.upperBound - 1)
      case .longer: range = range.lowerBound...min(last, range.upperBound + 1)
      case .shifted: range = min(last, range.lowerBound + 1)...max(min(last, range.lowerBound + 1), range.upperBound)
      case .whole: range = 0...last
      }
      let size =
        switch total {
        // No later response could contradict a wrong size in the first range.
        case .other where condition == nil: "\(data.count)"
        case .right: "\(data.count)"
        case .unknown: "*"
        case .other: "\(max(versions[1 - version].count, Int(range.upperBound) + 1))"
        }
      let fields = common.replacing(with: repeated(strength, condition)).replacing(
        with: ["Content-Range": "bytes \(range.lowerBound)-\(range.upperBound)/\(size)"])
      let body = data[Int(range.lowerBound)...Int(range.upperBound)]
      return cut(.partialContent, fields, body, body.count, &random)
    }

    /// The validators of a range; all of them in response to an unconditional request (RFC 9110 §15.3.7).
    private func repeated(_ strength: HTTPHeaders, _ condition: String?) -> HTTPHeaders {
      var fields = strength
      guard condition != nil else { return fields }
      if !repeatsTag { fields.remove("ETag") }
      if !repeatsDate { fields.remove("Last-Modified") }
      return fields
    }

    private func cut(
      _ status: HTTPStatus, _ fields: HTTPHeaders, _ body: Data, _ count: Int, _ random: inout SeededGenerator
    ) -> StubResponse {
      let fields = fields.replacing(with: ["Content-Length": "\(count)"])
      guard Double.random(in: 0..<1, using: &random) < cuts else { return .status(status, headers: fields, body: body) }
      return .status(status, headers: fields, body: body.prefix(Int.random(in: 0..<count, using: &random)))
    }
  }

  private static func versions(_ count: Int) -> [Data] {
    (0..<2).map { version in
      [UInt32](UInt32(version) << 30..<(UInt32(version) << 30 + UInt32(count / 4))).withUnsafeBytes { Data($0) }
    }
  }

  /// Returns a server for two versions, which may differ in size, and its transport.
  private static func pair(
    _ random: inout SeededGenerator, of versions: [Data], cuts: Double
  ) -> (server: Server, transport: StubTransport) {
    var pair = versions
    if Bool.random(using: &random) {
      let most = versions[1].count
      pair[1] = versions[1].prefix(most - Int.random(in: 1...(most / 4), using: &random))
      if Bool.random(using: &random) { pair = pair.reversed() }
    }
    let server = Server(&random, versions: pair, cuts: cuts)
    let state = Shared((number: 0, random: random))
    return (
      server,
      StubTransport { request in
        state.withLock { state in
          state.number += 1
          return server.answer(request, number: state.number, &state.random)
        }
      }
    )
  }

  private static let settings: ClientSetting = [
    .retry(.off), .accepts(.any), .now(Date(timeIntervalSince1970: 784_198_177)),
  ]

  @Test func `a cache never mixes two versions`() async throws {
    var combined = 0
    for seed in 0..<UInt64(Stress.count(200, full: 1_000)) {
      var random = SeededGenerator(seed: seed)
      let (server, transport) = Self.pair(&random, of: Self.versions(400), cuts: 0)
      let client = HTTPClient(transport, .cache(.memory()), Self.settings)
      for round in 0..<6 {
        var headers = HTTPHeaders()
        // The first request is always for a range, which later requests can complete.
        if round == 0 || Double.random(in: 0..<1, using: &random) < 0.4 {
          let start = round == 0 ? 0 : [0, 100, 200].randomElement(using: &random) ?? 0
          headers["Range"] = "bytes=\(start)-\(start + 99)"
        }
        let response = try await client.get("https://a.test/a", headers: headers)
        if response.source == .revalidated { combined += 1 }

        let range = response.headers["Content-Range"].flatMap { ContentRange($0)?.range }
        let isRight = server.versions.contains { version in
          guard let range else { return response.status.rawValue == 416 || response.body == version }
          let (first, last) = (Int(range.lowerBound), Int(range.upperBound))
          return last < version.count && response.body == version[first...last]
        }
        #expect(isRight, "seed \(seed): \(server), \(response.status) \(response.headers)")
      }
    }
    #expect(combined > 0)
  }

  @Test(arguments: [false, true]) func `a download never mixes two versions`(isSegmented: Bool) async throws {
    let folder = try TemporaryFolder()
    let versions = Self.versions(isSegmented ? 6 << 20 : 400)
    var (resumed, whole) = (0, 0)
    let rounds = isSegmented ? Stress.count(40, full: 400) : Stress.count(200, full: 1_000)
    for seed in 0..<UInt64(rounds) {
      var random = SeededGenerator(seed: seed &+ 1 << 32)
      let (server, transport) = Self.pair(&random, of: versions, cuts: 0.5)
      let hasCache = !isSegmented && Bool.random(using: &random)
      let client = HTTPClient(transport, .cache(hasCache ? .memory() : .off), Self.settings)
      let file = folder.url.appending(path: "\(seed)")
      var options = DownloadOptions()
      options.segments = isSegmented ? 3 : 1

      for _ in 0..<8 {
        guard let done = try? await client.download("https://a.test/a", to: file, options: options) else { continue }
        let data = try Data(contentsOf: file)
        // The comparison is outside the expectation, which would describe megabytes.
        let isRight = server.versions.contains(data)
        #expect(isRight, "seed \(seed): \(server), \(data.count) bytes")
        if done.resumedAt > 0 { resumed += 1 }
        whole += 1
        break
      }
      for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
    }
    #expect(resumed > 0 && whole > rounds / 2, "\(resumed), \(whole) of \(rounds)")
  }
}
