import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet
@testable import MartletHAR

/// Documents in many programs' syntaxes, truncated anywhere, in every output of a client.
@Suite(.hangLimit) struct SecretDocumentTests {
  /// Returns every output of a document that does not require a client.
  private static func outputs(_ document: SecretDocument) throws -> [String: String] {
    let data = Data(document.text.utf8)
    let body = HTTPBody.data(data, contentType: document.type)
    var outputs: [String: String] = [:]
    var request = HTTPRequest.post(
      "http://a.test/x", query: ["text": document.isText ? document.text : "x"], body: body)
    var response = StreamedResponse(
      status: .ok, headers: document.type.map { ["Content-Type": $0] } ?? [:], body: ResponseBody(data),
      request: request)
    if document.isText {
      outputs["text"] = Redaction.standard.text(document.text)
      outputs["strict text"] = Redaction.strict.text(document.text)
      let line = document.text.replacing("\n", with: " ")
      request.headers["X-Info"] = line
      response.headers["X-Info"] = line
      response.headers["WWW-Authenticate"] = "Basic realm=\(FieldSyntax.quoted(line))"
      if line.contains(#/^([A-Za-z+]+:)?//\S*$/#) { response.headers["Location"] = line }
      response.reasonPhrase = line
      outputs["error"] = {
        var error = HTTPError(.connectionLost, document.text, request: request)
        error.redact(.standard)
        return "\(error) \(error.redactedURL ?? "")"
      }()
      let decision = Explanation.Decision.responded(.basic, realm: line, .server)
      outputs["space"] = "\(ProtectionSpace(scheme: "https", host: "a.test", port: 443, realm: line, isProxy: false))"
      outputs["explanation"] = "\(Explanation.Entry(decision: decision, hop: 0, attempt: 1, time: .zero))"
    }
    outputs["log"] = BodyMask.masked(data, contentType: document.type, .standard).map { LogText.line($0) }
    outputs["URL"] = Redaction.standard.url(of: request)
    let entry = HAREntry(
      request, sent: data, response: response, received: data, startedAt: Date(timeIntervalSince1970: 0),
      redaction: .standard)
    var text: [UInt8] = []
    HAREntry.append([entry], to: &text)
    outputs["HAR and cassette"] = String(decoding: text, as: UTF8.self)
    outputs["curl"] = try? request.curlCommand()
    return outputs
  }

  @Test(arguments: [1, 2, 3, 4, 5]) func `no output shows a secret`(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var shownCount = 0
    let count = Stress.count(1_000, full: 5_000)
    for _ in 0..<count {
      let document = SecretDocument(using: &generator)
      let outputs = try Self.outputs(document)
      for (name, output) in outputs {
        #expect(!SecretDocument.leaks(output), "\(name) of \(document)")
      }
      if outputs["log"] != nil { shownCount += 1 }
      // Cassettes mask bodies that are already masked when they compare them.
      guard let masked = BodyMask.masked(Data(document.text.utf8), contentType: document.type, .standard) else {
        continue
      }
      #expect(BodyMask.masked(Data(masked), contentType: document.type, .standard) == masked, "\(document)")
    }
    // Most bodies are shown: only scripts, HTML and broken XML are not.
    #expect(shownCount > count / 2)
  }

  @Test(arguments: Stress.isOn ? [6, 7] : [6])
  func `no log, archive, event or error of a client shows a secret`(_ seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let archive = try HARRecorder(to: URL(filePath: folder.path("x.har")))
    let recorder = LogRecorder()
    let document = Locked(SecretDocument(using: &generator))
    let client = HTTPClient.stubbed(
      StubTransport { request in
        let document = document.withLock { $0 }
        let line = document.isText ? document.text.replacing("\n", with: " ") : "x"
        var headers: HTTPHeaders = ["X-Info": line, "WWW-Authenticate": "Basic realm=\(FieldSyntax.quoted(line))"]
        headers["Content-Type"] = document.type
        if request.url?.path() == "/fails" {
          return .failure(HTTPError(.connectionLost, document.isText ? document.text : "x", phase: .waiting))
        }
        return .status(request.url?.path() == "/401" ? 401 : 200, headers: headers, body: Data(document.text.utf8))
      }
    ) {
      $0.retry = .off
      $0.cache = .off
      $0.instruments = [archive]
      $0.middleware = [LoggingMiddleware([.bodies, .auth, .connection], to: recorder.sink)]
    }
    let count = Stress.count(100, full: 2_000)
    for _ in 0..<count {
      let next = SecretDocument(using: &generator)
      document.withLock { $0 = next }
      for path in ["/x", "/401", "/fails"] {
        let request = HTTPRequest.post(
          RequestTarget(path), query: ["q": next.isText ? next.text : "x"],
          body: .data(Data(next.text.utf8), contentType: next.type))
        let handle = client.start(request, options: .explains())
        if case .failure(let error) = await handle.outcome() { #expect(!SecretDocument.leaks("\(error)"), "\(next)") }
        #expect(!SecretDocument.leaks("\(handle.explanation)"), "\(next)")
      }
    }
    await client.drain()

    let lines = await recorder.lines.filter { SecretDocument.leaks($0) }
    #expect(lines.isEmpty, "\(lines.first ?? "")")
    let recorded = try String(decoding: folder.contents("x.har"), as: UTF8.self).split(separator: "\n")
    let leaking = recorded.filter { SecretDocument.leaks($0) }
    #expect(recorded.count > 2 * count && leaking.isEmpty, "\(leaking.first ?? "")")
  }
}
