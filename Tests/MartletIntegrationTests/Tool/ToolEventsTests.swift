#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// `martlet sse`, and the example `Chat`.
  @Suite(.hangLimit) struct ToolEventsTests {
    private static let headers: KeyValuePairs = ["Content-Type": "text/event-stream"]

    private static func waitForOutput(_ text: String, of program: ToolProcess) async {
      _ = await becomes(every: .milliseconds(2)) { program.outputSoFar == text || !program.isRunning }
      #expect(program.outputSoFar == text)
    }

    @Test func `prints events, reconnects, and exits after a 204`() async throws {
      let server = try MockServer(answering: { request in
        switch request.header("Last-Event-ID") {
        case nil: .ok("retry: 1\nid: 1\nevent: add\ndata: one\ndata: \u{1B}[31m\n\n", headers: Self.headers)
        case "1": .ok("id: 2\ndata: two\n\n", headers: Self.headers)
        default: .empty(204)
        }
      })
      defer { server.stop() }

      let result = try await ToolProcess.martlet("sse", server.url("/events"), "X-Shop:7")

      #expect(result.status == 0, "\(result.errors)")
      #expect(result.text == "event: add\nid: 1\ndata: one\ndata: \\u{1b}[31m\n\nid: 2\ndata: two\n\n")
      #expect(server.requests.count == 3 && server.requests.allSatisfy { $0.header("X-Shop") == "7" })
    }

    @Test func `reports a wrong content type and an error status, with their bodies`() async throws {
      let server = try MockServer(answering: { request in
        switch request.target {
        case "/page": .ok("<p>\u{1B}[31mü</p>", headers: ["Content-Type": "text/html; charset=utf-8"])
        case "/key": .status(401, body: "bad key")
        default: .status(404)
        }
      })
      defer { server.stop() }

      let page = try await ToolProcess.martlet("sse", server.url("/page"))
      let key = try await ToolProcess.martlet("sse", server.url("/key"))
      let none = try await ToolProcess.martlet("sse", server.url("/none"))

      #expect(page.status == 3 && page.errors.contains("text/html"), "\(page.status) \(page.errors)")
      #expect(page.errors.hasSuffix("\n<p>\\u{1b}[31mü</p>\n") && page.text.isEmpty, "\(page.errors)")
      #expect(key.status == 4 && key.errors.hasSuffix("\nbad key\n"), "\(key.errors)")
      #expect(none.status == 4 && none.errors.contains("404"), "\(none.errors)")
    }

    @Test func `exits on SIGINT`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
      let server = try MockServer(.steps([.text(head + "data: a\n\n"), .hang]))
      defer { server.stop() }
      let tool = try ToolProcess(try ToolProcess.martlet(), ["sse", server.url])

      await Self.waitForOutput("data: a\n\n", of: tool)
      tool.send(SIGINT)

      #expect(try await tool.end().status == 130)
    }

    @Test func `Chat prints the tokens of a response as they arrive`() async throws {
      let token = { (text: String) in "data: {\"choices\":[{\"delta\":{\"content\":\"\(text)\"}}]}\n\n" }
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
      let first = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n" + token("Because ")
      let server = try SteppedServer()

      let chat = try ToolProcess(
        try ToolProcess.built("Chat"), ["\(server.url)/v1/chat/completions", "tiny", "Why?"],
        environment: ["CHAT_KEY": "sesame"])
      let request = try await server.request()
      try await server.send(head + first)
      await Self.waitForOutput("Because ", of: chat)
      try await server.send(token("it is.") + "data: [DONE]\n\n")
      let result = try await chat.end()

      #expect(result.status == 0 && result.text == "Because it is.\n", "\(result.text) \(result.errors)")
      #expect(request.hasPrefix("POST ") && request.contains("\r\nAuthorization: Bearer sesame\r\n"))
    }

    @Test func `Chat requests a streamed response and exits after DONE`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
      // The connection stays open, so only the `[DONE]` event can end the program.
      let server = try MockServer(.steps([.text(head + "data: [DONE]\n\n"), .hang]))
      defer { server.stop() }

      let result = try await ToolProcess(
        try ToolProcess.built("Chat"), [server.url("/v1/chat/completions"), "tiny", "Why?"]
      ).end()

      #expect(result.status == 0, "\(result.errors)")
      let request = try #require(server.requests.first)
      #expect(request.method == "POST" && server.requests.count == 1)
      #expect(request.text.contains(#""content":"Why?""#) && request.text.contains(#""stream":true"#))
    }

    @Test func `Chat reports error statuses and usage errors`() async throws {
      let server = try MockServer(.status(401))
      defer { server.stop() }

      let refused = try await ToolProcess(try ToolProcess.built("Chat"), [server.url, "tiny", "Why?"]).end()
      let usage = try await ToolProcess(try ToolProcess.built("Chat"), []).end()

      #expect(refused.status == 1 && refused.errors.contains("401"), "\(refused.errors)")
      #expect(usage.status == 2 && usage.errors.contains("usage"))
    }
  }
#endif
