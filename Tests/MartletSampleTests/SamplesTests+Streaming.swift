import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Samples from the article on streaming.
extension SamplesTests {
  nonisolated struct Sale: Decodable, Sendable { var price: Int }

  struct Word: Decodable, Sendable { var text: String }

  private static func events(_ texts: String...) -> StubTransport {
    StubTransport(
      script: texts.map { .text($0, headers: ["Content-Type": "text/event-stream"]) } + [.status(.noContent)])
  }

  @Test func `counts lines`() async throws {
    let client = Self.client(.text("fine\nan error\r\nerror"))

    let count = try await client.stream(.get("/log")) { response in
      var count = 0
      for try await line in response.lines where line.contains("error") { count += 1 }
      return count
    }

    #expect(count == 2)
  }

  @Test func `streams a response without a closure`() async throws {
    let box = try TemporaryFolder()
    let file = try FileHandle(forWritingTo: try box.write("", to: "export"))
    let client = Self.client(.text("0123456789"))

    let response = try await client.stream("/export")
    for try await piece in response.body { try file.write(contentsOf: piece) }

    try file.close()
    await client.waitUntilEmpty()
    #expect(try box.contents("export") == Data("0123456789".utf8))
    #expect(client.activity.current.totals.succeeded == 1)
  }

  @Test func `adds up JSON Lines`() async throws {
    let client = Self.client(.text("{\"price\":1}\n{\"price\":2}\n"))

    let total = try await client.stream(.get("/sales.ndjson")) { response in
      var total = 0
      for try await sale in response.jsonLines(as: Sale.self) { total += sale.price }
      return total
    }

    #expect(total == 3)
  }

  @Test func `receives server-sent events`() async throws {
    let transport = Self.events("id: 1\ndata: a\n\n", "id: 2\ndata: b\n\n")
    let client = Self.client(transport)

    for try await event in client.serverSentEvents(.get("/prices")) {
      print(event.id, event.type, event.data)
    }

    #expect(transport.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "2"])
  }

  @Test func `resumes an event stream after the last event`() async throws {
    let transport = Self.events("id: 1872\ndata: a\n\n")
    let client = Self.client(transport)

    var last = "1871"
    for try await event in client.serverSentEvents("/news", options: .lastEventID(last)) {
      last = event.id
    }

    #expect(last == "1872")
    #expect(transport.requests.map { $0.headers["Last-Event-ID"] } == ["1871", "1872"])
  }

  @Test func `posts a question and reads the streamed answer`() async throws {
    let transport = Self.events("data: {\"text\":\"a\"}\n\ndata: [DONE]\n\n")
    let client = Self.client(transport)

    let question = HTTPRequest.post("/chat", body: .json(["question": "Why?"]))
    for try await event in client.serverSentEvents(question, options: .timeout(idle: .seconds(300))) {
      if event.data == "[DONE]" { break }
      print(try event.json(Word.self).text)
    }

    #expect(transport.requests.count == 1)
  }
}
