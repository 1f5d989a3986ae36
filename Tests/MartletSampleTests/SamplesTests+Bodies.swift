import Foundation
import Martlet
import MartletTesting
import Synchronization
import TestSupport
import Testing

extension SamplesTests {
  private static func withFile<R>(_ name: String, _ work: (URL) async throws -> R) async throws -> R {
    try TemporaryFolder.requireRoom()
    let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: name)
    try Data("content\n".utf8).write(to: file)
    return try await work(file)
  }

  private static func text(_ request: HTTPRequest?) async throws -> String {
    String(decoding: try await request?.bodyData() ?? Data(), as: UTF8.self)
  }

  @Test func `sends a form with a file`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    try await Self.withFile("me.png") { photo in
      let body = HTTPBody.multipart {
        $0.add("Ben", for: "first_name")
        $0.add(file: photo, for: "photo")
        $0.add(.json(["width": 640]), for: "meta")
      }
      try await client.post("/people", body: body)

      let text = try await Self.text(transport.requests.first)
      #expect(text.contains("filename=\"me.png\"\r\nContent-Type: image/png\r\n\r\ncontent\n\r\n"))
      #expect(body.length == nil)
    }
  }

  @Test func `encodes a value as a form and as a query`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    struct Search: Encodable {
      var text: String
      var tags: [String]
      var since: Date?
    }

    let search = Search(text: "rust", tags: ["a", "b"], since: nil)
    try await client.post("/search", body: .form(encoding: search))
    let query = try Query(encoding: search, style: .init(arrays: .brackets))
    try await client.get("/search", query: query)  // tags[]=a&tags[]=b&text=rust

    #expect(try await Self.text(transport.requests.first) == "tags=a&tags=b&text=rust")
    #expect(transport.requests.last?.url?.query() == "tags%5B%5D=a&tags%5B%5D=b&text=rust")
  }

  @Test func `builds a multipart form`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    let answers = [("q1", "yes"), ("q2", "no")]
    let scan = Data([1, 2, 3])

    var form = MultipartForm()
    for (name, value) in answers { form.add(value, for: name) }
    form.add(scan, for: "scan", filename: "scan.png", type: "image/png")
    try await client.post("/survey", body: .multipart(form))

    let text = try await Self.text(transport.requests.first)
    #expect(text.contains("name=\"q1\"\r\n\r\nyes\r\n"))
    #expect(text.contains("filename=\"scan.png\"\r\nContent-Type: image/png"))
  }

  @Test func `concatenates bodies`() async throws {
    let transport = StubTransport { _ in .text("x") }
    try await Self.withFile("a.log") { log in
      let parts = HTTPBody.concatenating([.text("header\n"), .file(log), .text("end\n")], contentType: "text/plain")

      _ = try await Self.client(transport).post("/", body: parts)
      #expect(try await Self.text(transport.requests.first) == "header\ncontent\nend\n")
    }
  }

  /// A stand-in for a digest, which adds up the bytes.
  private nonisolated final class Digest: Sendable {
    private let sum = Mutex(0)

    var field: String { "sum=\(sum.withLock { $0 })" }

    func reading(_ pieces: AsyncStream<Data>) -> AsyncMapSequence<AsyncStream<Data>, Data> {
      pieces.map { piece in
        self.sum.withLock { $0 += piece.reduce(0) { $0 + Int($1) } }
        return piece
      }
    }
  }

  @Test func `sends a digest in a trailer`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    let pieces = AsyncStream<Data> { source in
      source.yield(Data([1, 2, 3]))
      source.finish()
    }

    let digest = Digest()
    let body = HTTPBody.stream(digest.reading(pieces)).withTrailers(["Content-Digest"]) {
      ["Content-Digest": digest.field]
    }
    try await client.put("/backup", body: body)

    #expect(try await transport.requests.first?.bodyTrailers() == ["Content-Digest": "sum=6"])
  }

  @Test func `spools a stream`() async throws {
    try TemporaryFolder.requireRoom()
    let transport = StubTransport(failing: 1, with: .connectionLost, then: .text("stored"))
    let client = Self.client(transport)
    let pieces = AsyncStream<Data> { source in
      source.yield(Data("piece".utf8))
      source.finish()
    }

    let body = HTTPBody.stream(pieces).spooled(upTo: 50 << 20)
    let receipt = try await client.put("/backup", body: body, options: .retry(.backoff()))

    #expect(receipt.text == "stored")
    #expect(receipt.attempts.count == 2)
    #expect(body.length == 5)
  }

  @Test func `compresses a body`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    try await Self.withFile("a.log") { log in
      try await client.post("/logs", body: HTTPBody.file(log, contentType: "text/plain").gzipped())

      #expect(transport.requests.first?.headers["Content-Encoding"] == "gzip")
      #expect(transport.requests.first?.headers["Content-Type"] == "text/plain")
    }
  }

  @Test func `compresses a body with Zstandard`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport)
    try await Self.withFile("a.log") { log in
      do {
        let body = HTTPBody.file(log, contentType: "text/plain").compressed(.zstd)
        try await client.post("/logs", body: body)
      } catch let error as HTTPError {
        // The system lacks libzstd.
        #expect(error.kind == .unsupported && transport.requests.isEmpty)
      }
    }
  }

  @Test func `sends Expect: 100-continue before an upload`() async throws {
    let client = Self.client(StubTransport { _ in .text("x") })
    try await Self.withFile("a.mp4") { video in
      let options = RequestOptions.expectsContinue(true)
      try await client.put("/video", body: .file(video), options: options)

      #expect(options.expectsContinue == true)
    }
  }
}
