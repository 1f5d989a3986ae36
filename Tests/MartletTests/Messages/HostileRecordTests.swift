import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

/// Numbers in Martlet's own files may be damaged or changed by other programs: reading returns a value or a Martlet
/// error.
@Suite(.hangLimit) struct HostileRecordTests {
  private static let numbers =
    HostileNumberUseTests.numbers + ["-9223372036854775808", "1e308", "-1e308", "1.5", "1e400"]
  private static let doubles = [
    0, -0.0, 1e308, -1e308, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, 9.3e18, -9.3e18,
  ]
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  /// Replaces the value of a member in a JSON file.
  private static func replace(_ name: String, by text: String, in file: URL) throws {
    let old = try String(contentsOf: file, encoding: .utf8)
    let member = try NSRegularExpression(pattern: "\"\(name)\" ?: ?(\\[[^a-z]*\\]|[-0-9.eE+]+)")
    let range = NSRange(old.startIndex..., in: old)
    #expect(member.numberOfMatches(in: old, range: range) > 0, "\(name) in \(old)")
    let new = member.stringByReplacingMatches(in: old, range: range, withTemplate: "\"\(name)\":\(text)")
    try Data(new.utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
  }

  @Test(arguments: numbers, [1, 3]) func `hostile numbers in a part record cause at most an HTTPError`(
    number: String, segments: Int
  ) async throws {
    for (name, text) in [
      ("length", number), ("written", "[[0,\(number)]]"), ("written", "[[\(number),9223372036854775807]]"),
      ("synced", "[[1,2],[\(number),\(number)]]"), ("version", number),
    ] {
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a")
      let part = try await PartFile.open(file.path + ".part", url: "https://a.test/a", resume: .automatic)
      try part.start { $0.describe(["ETag": "\"1\""], length: 77, isResumable: true) }
      _ = try part.write(Data("ok".utf8), at: 0)
      try part.save()
      part.close()
      try Self.replace(name, by: text, in: URL(filePath: PartFile.recordPath(of: file.path + ".part")))
      let transport = StubTransport { request in
        guard let range = request.headers["Range"] else { return .status(.ok, body: Data("whole".utf8)) }
        let start = range.dropFirst("bytes=".count).prefix { $0 != "-" }
        return .status(
          .partialContent, headers: ["ETag": "\"1\"", "Content-Range": "bytes \(start)-\(start)/77"],
          body: Data("x".utf8))
      }
      var options = DownloadOptions()
      options.segments = segments

      let result = await Task { [options] in
        try await HTTPClient.stubbed(transport) { $0.retry = .off }
          .download("https://a.test/a", to: file, options: options)
      }.result

      if case .failure(let error) = result { #expect(error is HTTPError, "\(name) \(text): \(error)") }
      folder.remove()
    }
  }

  @Test(arguments: numbers) func `a cookie jar works despite hostile dates in its file`(number: String) async throws {
    for name in ["expires", "created", "lastAccess"] {
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "jar")
      let jar = CookieJar(file: file, now: { Self.now })
      await jar.set(line: "a=b; Max-Age=1000", from: "https://a.test/")
      try Self.replace(name, by: number, in: file)
      let next = CookieJar(file: file, now: { Self.now })

      let client = HTTPClient.stubbed(StubTransport { _ in .text("ok", headers: ["Set-Cookie": "c=d; Max-Age=9"]) }) {
        $0.cookies = .jar(next)
      }
      #expect(try await client.get("https://a.test/").text == "ok")
      _ = await (next.netscape, next.all)

      #expect(await CookieJar(file: file, now: { Self.now }).all.contains { $0.name == "c" }, "\(name) \(number)")
      folder.remove()
    }
  }

  @Test(arguments: numbers) func `a hostile token expiry causes at most an authentication error`(number: String)
    async throws
  {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "credentials")
    let space = ProtectionSpace(scheme: "https", host: "a.test", port: 443)
    try await Authenticators.FileCredentialStore(file).set(.token("t", expires: Self.now), for: space)
    try Self.replace("expires", by: number, in: file)
    let client = HTTPClient.stubbed(StubTransport { _ in .text("ok") }) {
      $0.credentialStore = .file(file)
      $0.authenticators[.origin("https://a.test")] = .oauth2(.token("old")) { _ in .token("new") }
    }

    let result = await Task { try await client.get("https://a.test/").text }.result

    switch result {
    case .success(let text): #expect(text == "ok")
    case .failure(let error): #expect((error as? HTTPError)?.kind == .authenticationFailed, "\(error)")
    }
    folder.remove()
  }

  @Test(arguments: numbers) func `an HSTS file with hostile expiry times survives a round trip`(number: String) throws {
    let data = Data("# martlet hsts 1\n\(number) + a.test\n0 - b.test\n".utf8)
    let found = try #require(HSTSFile.parse(data))
    var table = HSTSTable()

    table.adopt(found, now: 1_700_000_000)
    table.receive(StrictTransportSecurity(maxAge: 1000), from: "a.test", now: 1_700_000_000)
    table.apply(["a.test": HSTSTable.Entry(expires: .max, includesSubdomains: true)], now: .max)
    table.receive(StrictTransportSecurity(maxAge: 1000), from: "a.test", now: .max)

    #expect(HSTSFile.parse(HSTSFile.text(table.entries)) == table.entries)
  }

  @Test func `hostile times never make the age of a stored response negative or NaN`() throws {
    for time in Self.doubles {
      for lifetime in Self.doubles {
        var record = CacheRecord.sample()
        record.entry?.requestTime = Date(timeIntervalSinceReferenceDate: time)
        record.entry?.responseTime = Date(timeIntervalSinceReferenceDate: lifetime)
        record.entry?.programLifetime = lifetime
        let data = try #require(CacheRecordCoding.encode(record, .sample("a")))
        let entry = try #require(CacheRecordCoding.decode(data)?.record.entry)

        let freshness = Freshness(entry, at: Self.now)

        #expect(!freshness.age.isNaN && freshness.age >= 0, "\(time) \(lifetime)")
      }
    }
  }

  @Test func `hostile times in a journal end in a delivery or a dead letter`() async throws {
    for time in Self.doubles {
      let folder = try OutboxFolder()
      let id = UUID()
      let lines = try [
        OutboxLine.sample(nil, id: id, at: Date(timeIntervalSince1970: time)), OutboxLine(.attempted(id, .max)),
        OutboxLine(.revived(id, at: Date(timeIntervalSince1970: time))),
      ]
      do { _ = try OutboxJournal(folder.url).append(lines, isSynced: false) }
      let client = HTTPClient.stubbed(StubTransport(script: [.status(503), .status(204)])) {
        $0.clock = TestClock(automaticLimit: .seconds(86_400))
      }

      let outbox = try await client.outbox(at: folder.url)
      await outbox.waitUntilIdle()

      #expect(try await outbox.status.delivered + outbox.deadLetters().count == 1, "\(time)")
      await outbox.close()
    }
  }
}
