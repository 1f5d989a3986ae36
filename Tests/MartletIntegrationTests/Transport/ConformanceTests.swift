import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

#if canImport(Darwin) || URLSession
  /// The reasons cases cannot pass with Foundation's loader on Linux, whatever is built on it.
  ///
  /// Cases that end the process are repeated in separate processes.
  private let systemLoaderExclusions: [String: String] = {
    #if canImport(FoundationNetworking)
      [
        "tolerates trailer fields":
          "crashes the process: trailers are treated as a head without a status line",
        "reports a connection that ends in the head": "crashes the process: a truncated head is treated as complete",
        "reports a connection that ends in the head after an interim response": "crashes the process: the same",
        "does not trust a Content-Length of 2⁶³ − 1": "crashes the process: the length overflows",
        "delivers a redirect to an invalid URL": "crashes the process before any delegate method is called",
        "refuses 100,000 header fields": "takes quadratic time, during which nothing else in the process loads",

        "keeps the case of header names": "names are capitalized",
        "keeps the order of header fields": "fields arrive as a dictionary",
        "keeps repeated header fields apart and in order": "joined with commas; one of two spellings is lost",
        "keeps header fields whose value contains only blanks": "the response fails: \"Failed writing header\"",
        "accepts a header field without a space after the colon": "the response fails: \"Failed writing header\"",
        "accepts a status line without the space before the reason phrase":
          "the response fails: \"Failed writing header\"",
        "reads header bytes that are not UTF-8 as Latin-1": "the response fails: \"Failed writing header\"",

        "connects to an IPv6 address": "literals are refused: the loader compares hosts with and without brackets",
        "refuses two different values of Content-Length": "the last one wins, and the first is not reported",
        "sends a POST without a body once when its connection dies": "libcurl sends it again without asking",
        "delivers a redirect without a Location": "the body is not handed over",
      ]
    #else
      [:]
    #endif
  }()

  @Suite(.hangLimit) struct ConformanceTests {
    /// The system's loader sends no body streams on any system.
    @Test(
      .needs(.documentedLoader),
      arguments: TransportConformance.cases(excluding: systemLoaderExclusions).filter { !$0.needsBodyStreams })
    func `URLSession with the system loader passes all cases that are not excluded`(
      _ conformance: TransportConformance.Case
    ) async throws {
      try TemporaryFolder.requireRoom()
      try await conformance.run { .urlSession(loader: .system) }
    }
  }
#endif

@Suite(.hangLimit) struct TransportConformanceTests {
  private static let caseCount = 113

  @Test func `contains all cases, each with a unique name`() {
    let names = TransportConformance.cases.map(\.name)

    #expect(names.count == Self.caseCount)
    #expect(Set(names).count == names.count)
  }

  @Test func `omits excluded cases`() {
    let rest = TransportConformance.cases(excluding: ["follows no redirect": "a test"]).map(\.name)

    #expect(rest.count == Self.caseCount - 1)
    #expect(!rest.contains("follows no redirect"))
  }

  @Test func `fails a transport that delivers a wrong body`() async throws {
    let broken: @Sendable () -> any Transport = { CorruptingTransport() }

    let failures = try await failures(of: broken, in: ["delivers an empty body", "delivers a body with a length"])

    #expect(failures.map(\.caseName) == ["delivers a body with a length"])
    #expect(failures.map(\.expected) == ["the body is \"hello\""])
    #expect(failures.map(\.actual) == ["\"olleh\""])
    #expect(failures.first?.description.contains("delivers a body with a length") == true)
  }

  @Test func `fails a transport that sends no request`() async throws {
    let broken: @Sendable () -> any Transport = { StubTransport { _ in .status(200) } }

    let failures = try await failures(of: broken, in: ["delivers an empty body"])

    #expect(failures.map(\.expected) == ["the number of requests is 1"])
  }

  /// A transport that always fails passes only the cases that require its kind of failure.
  @Test(arguments: [HTTPError.Kind.connectionLost, .protocolViolation, .cannotConnect, .timedOut])
  func `fails a transport that always fails`(kind: HTTPError.Kind) async throws {
    let broken: @Sendable () -> any Transport = { StubTransport { _ in .failure(HTTPError(kind, "stubbed")) } }

    let held: [HTTPError.Kind: String] = [
      .connectionLost: "reports a connection that ends at once", .protocolViolation: "refuses a non-HTTP response",
      .cannotConnect: "reports a refused connection",
    ]
    let names = held.values + ["delivers an empty body"]

    let failed = try await failures(of: broken, in: names).map(\.caseName)

    #expect(Set(failed) == Set(names).subtracting([held[kind] ?? ""]))
  }

  private func failures(
    of transport: @Sendable () -> any Transport, in names: [String]
  ) async throws -> [ConformanceFailure] {
    var failures: [ConformanceFailure] = []
    for conformance in TransportConformance.cases where names.contains(conformance.name) {
      do { try await conformance.run(transport) } catch let failure as ConformanceFailure { failures.append(failure) }
    }
    return failures
  }
}

/// Delivers every body in reverse.
private struct CorruptingTransport: Transport {
  var base = HTTPClient.Configuration().transport

  func prepared(for settings: TransportSettings) -> any Transport {
    CorruptingTransport(base: base.prepared(for: settings))
  }

  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    var response = try await base.send(request, context: context)
    response.body = ResponseBody(Data(try await response.body.collect(upTo: 1 << 20).reversed()))
    return response
  }
}
