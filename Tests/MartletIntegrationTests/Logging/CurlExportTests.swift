import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Exported commands, run by a shell with the real curl, send the same request as the client itself.
@Suite(.hangLimit) struct CurlExportTests {
  private static let methods = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT", "A'B", "!x", "$p`",
  ]
  private static let pieces = [
    "'", "\"", "\\", "$(id)", "`id`", "$HOME", "!", "!!", "*", "~", "#", ";", "&", "|", "<", ">", "(", ")", "{a,b}",
    "[1-3]", "%", "%s", "@", "@/etc/passwd", "-", "--", "=", " ", "  ", "a", "Z", "0", "é", "日本", "\u{202E}", ",", ":",
    "/", "?", "+", "\\n", "\\\\", "''", "'\\''", "^",
  ]

  private static func text(_ extra: [String], _ generator: inout SeededGenerator) -> String {
    let all = pieces + extra
    return (0..<Int.random(in: 0...8, using: &generator)).map { _ in all.randomElement(using: &generator) ?? "" }
      .joined()
  }

  private static func request(
    _ number: Int, _ server: MockServer, _ folder: TemporaryFolder, _ generator: inout SeededGenerator
  ) throws -> HTTPRequest {
    var request = HTTPRequest(
      HTTPMethod(methods.randomElement(using: &generator) ?? "GET"),
      "\(raw: server.url)/p/\("x" + text(["."], &generator))?n=\(number)")
    for _ in 0..<Int.random(in: 0...2, using: &generator) {
      request.query.append(text([], &generator), text(["\n", "\0", "\u{1B}"], &generator))
    }
    for index in 0..<Int.random(in: 0...4, using: &generator) {
      request.headers.append(
        text(["\t"], &generator), for: "X-\("abc$'`!".randomElement(using: &generator) ?? "a")\(index % 3)")
    }
    if Int.random(in: 0..<4, using: &generator) == 0 { request.headers["Accept"] = text([], &generator) }
    if request.method == .head { return request }
    let type = [nil, "text/plain", "application/json"].randomElement(using: &generator) ?? nil
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: break
    case 1:
      let bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      request.body = .data(Data(bytes), contentType: type)
    case 2:
      let name = "f\(number) \(text([], &generator).replacing("/", with: "_"))"
      try folder.write(text(["\n", "\0"], &generator), to: name)
      request.body = .file(URL(fileURLWithPath: folder.path(name)), contentType: type)
    default: request.body = .data(Data(text(["\n", "\r\n", "\0", "\u{1B}"], &generator).utf8), contentType: type)
    }
    return request
  }

  /// The parts that both requests must share; the other fields belong to curl or to the transport.
  private static func essence(_ request: RecordedRequest) -> [String] {
    let fields = request.headers
      .filter {
        let name = $0.name.lowercased()
        return name.hasPrefix("x-") || ["accept", "user-agent", "content-type", "content-length"].contains(name)
      }
      // A request without content may contain the length or omit it (RFC 9110 §8.6).
      .filter { $0.name.lowercased() != "content-length" || $0.value != "0" }
      .map { "\($0.name.lowercased()): \($0.value)" }
    return [request.method, request.target, request.body.base64EncodedString()] + fields.sorted()
  }

  #if os(Linux)
    @Test(.needs(.curl, .shell)) func `exported commands send the same as the client, for random requests`()
      async throws
    {
      let seed = ProcessInfo.processInfo.environment["MARTLET_SEED"].flatMap { UInt64($0) } ?? 20_252_611
      print("CurlExportTests: seed \(seed)")
      var generator = SeededGenerator(seed: seed)
      let server = try MockServer(.ok("x"))
      let folder = try TemporaryFolder()
      let client = Lane.curl.client { $0.redaction = .revealingSecrets }

      for number in 0..<(Stress.count(25, full: 500)) {
        let request = try Self.request(number, server, folder, &generator)
        let command = try client.curlCommand(for: request)
        server.forgetRequests()
        _ = try await client.send(request)
        let result = try await TestProgram.shell.start([
          "-c", "unset LD_LIBRARY_PATH; \(command) --silent --output /dev/null",
        ]).end()

        let seen = server.requests
        try #require(result.status == 0 && seen.count == 2, "\(number): \(command) \(result.errors)")
        #expect(Self.essence(seen[0]) == Self.essence(seen[1]), "\(number): \(command)")
      }
    }

    @Test(.needs(.curl, .shell)) func `an exported command sends the same credential and cookie as the client`()
      async throws
    {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client { $0.redaction = .revealingSecrets }
      await client.cookies.set(Cookie("sid", "a'b", domain: "127.0.0.1"))
      let request = HTTPRequest.get("http://ada:se'cret@127.0.0.1:\(server.port)/x")

      _ = try await client.send(request)
      let command = try client.curlCommand(for: request)
      let result = try await TestProgram.shell.start(["-c", "unset LD_LIBRARY_PATH; \(command)"]).end()

      #expect(result.text == "x")
      let sent = server.requests.map { [$0.header("Authorization"), $0.header("Cookie")] }
      #expect(sent.count == 2 && sent[0] == sent[1] && !sent[0].contains(nil))
    }
  #endif
}
