import Foundation
import Martlet
import MartletWebSocket
import TestSupport
import Testing

@testable import MartletTool

/// The command line of `martlet ws`, and the messages of its input.
@Suite(.hangLimit) struct WebSocketCommandTests {
  private func command(_ words: String...) throws -> WebSocketCommand {
    guard case .webSocket(let command) = try Arguments.parse(["ws"] + words) else {
      throw UsageError("not a WebSocket")
    }
    return command
  }

  // MARK: The command line

  @Test(arguments: [
    (["ws://a.test/x?y=1"], "http://a.test/x?y=1"), (["WSS://a.test"], "https://a.test"),
    ([":8080/x"], "http://localhost:8080/x"),
    (["http://a.test"], "http://a.test"), (["a.test"], "https://a.test"),
    (["/x", "--base", "wss://a.test/v1"], "https://a.test/v1/x"), (["/x", "--base", "a.test"], "https://a.test/x"),
  ])
  func `accepts the schemes of HTTP and of WebSockets`(words: [String], url: String) throws {
    guard case .webSocket(let command) = try Arguments.parse(["ws"] + words) else { return }
    #expect(command.command.url == url)
  }

  @Test func `reads its options`() throws {
    let command = try command(
      "ws://a.test", "X-Shop:7", "q==1", "--subprotocol", "b", "--subprotocol", "a", "--origin", "https://a.test:81",
      "--compress", "--ping", "2.5", "--close", "4001:see: you", "--count", "3", "--max-message", "2k", "--wait", "0",
      "--binary")

    #expect(command.command.headers["X-Shop"] == "7" && command.isBinary && command.count == 3)
    #expect(command.close == .init(code: WebSocketCloseCode(rawValue: 4001), reason: "see: you"))
    #expect(command.wait == .zero)
    let options = command.options
    #expect(options.subprotocols == ["b", "a"] && options.origin == "https://a.test:81")
    #expect(options.compression == .deflate && options.keepAlive == .pings(every: .milliseconds(2500)))
    #expect(options.maximumMessageBytes == 2048)
  }

  @Test func `leaves the library's defaults without options`() throws {
    let (options, defaults) = (try command("ws://a.test").options, WebSocketOptions())

    #expect(options.subprotocols.isEmpty && options.origin == nil && options.compression == .off)
    #expect(options.keepAlive == .off && options.maximumMessageBytes == defaults.maximumMessageBytes)
  }

  @Test(arguments: [
    ([], "the URL is missing; see martlet help ws"), (["ftp://a.test"], "use http, https, ws or wss"),
    (["ws:/a.test"], "write ws://a.test"), (["wsss://a.test"], "did you mean wss://?"),
    (["/x"], "add --base URL"), (["POST", "ws://a.test"], "a WebSocket begins with a GET request, not POST"),
    (["ws://a.test", "a=b"], "write the messages to standard input"),
    (["ws://a.test", "@file"], "write the messages to standard input"),
    (["ws://a.test", "-d", "x"], "'-d' is an option"),
    (["ws://a.test", "--http", "2"], "'--http' is an option"), (["ws://a.test", "-X", "GET"], "'-X' is an option"),
    (["ws://a.test", "--subprotocol", "a,b"], "is not a token"),
    (["ws://a.test", "--subprotocol=a", "--subprotocol=a"], "the subprotocol a occurs twice"),
    (["ws://a.test", "--origin", "a.test"], "such as https://example.org"),
    (["ws://a.test", "--origin", "https://a.test/"], "such as https://example.org"),
    (["ws://a.test", "--origin", "wss://a.test"], "the page's origin"),
    (["ws://a.test", "--ping", "0"], "--ping needs"),
    (["ws://a.test", "--close", "x"], "such as 1000, or 3000 to 4999, not 'x'"),
    (["ws://a.test", "--close", "1005"], "not '1005 (no status received)'"),
    (["ws://a.test", "--close", "70000"], "not '70000'"), (["ws://a.test", "--count", "0"], "--count needs"),
    (["ws://a.test", "--close", "1000:\(String(repeating: "ü", count: 62))"], "has 124 bytes; at most 123"),
    (["ws://a.test", "--max-message", "0"], "such as 64k or 2M"), (["ws://a.test", "--wait", "-1"], "--wait needs"),
    (["ws://a.test", "--count", "many"], "--count needs"), (["ws://a.test", "--wait", "nan"], "--wait needs"),
  ])
  func `invalid words name the cure`(words: [String], cure: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(["ws"] + words) }

    #expect(error?.description.contains(cure) == true, "\(error as Any)")
  }

  @Test(
    arguments: [
      (1000, 0), (1001, 0), (1005, 0), (1002, 102), (1008, 108), (1011, 111), (1014, 114), (3000, 7), (4001, 7),
      (4999, 7),
    ] as [(UInt16, Int32)])
  func `maps close codes to exit codes`(code: UInt16, exit: Int32) {
    #expect(ExitCode.closed(WebSocketCloseCode(rawValue: code)).rawValue == exit)
  }

  // MARK: The input

  /// Returns the messages of a pipe with these blocks, each written when the previous one has been read.
  private func messages(
    _ unit: MessageInput.Unit, _ blocks: String..., limit: Int = 1000
  ) async throws -> [WebSocket.Message] {
    let pipe = Pipe()
    var input = MessageInput(unit, limit: limit, StandardInput(descriptor: pipe.fileHandleForReading.fileDescriptor))
    let writer = Task.detached {
      for block in blocks {
        try pipe.fileHandleForWriting.write(contentsOf: Data(block.utf8))
        try await Task.sleep(for: .milliseconds(20))
      }
      try pipe.fileHandleForWriting.close()
    }
    var messages: [WebSocket.Message] = []
    while let message = try await input.next() { messages.append(message) }
    try await writer.value
    #expect(input.count == messages.count)
    return messages
  }

  @Test func `each line is a text message, across blocks and without its line end`() async throws {
    #expect(try await messages(.lines, "a\nb", "c\r", "\n\nd\re") == ["a", "bc", "", "d\re"].map { .text($0) })
    #expect(try await messages(.lines, "ü\n") == [.text("ü")])
    #expect(try await messages(.lines, "\n") == [.text("")])
    #expect(try await messages(.lines).isEmpty)
  }

  @Test func `a line of a terminal, a block or a file is a binary message`() async throws {
    func bytes(_ text: String) -> WebSocket.Message { .binary(Data(text.utf8)) }

    #expect(try await messages(.binaryLines, "a\nb") == [bytes("a"), bytes("b")])
    #expect(try await messages(.blocks, "a\nb") == [bytes("a\nb")])
    #expect(try await messages(.blocks, "abcde", limit: 2) == [bytes("ab"), bytes("cd"), bytes("e")])
    #expect(try await messages(.file, "a\n", "b\n") == [bytes("a\nb\n")])
    #expect(try await messages(.file).isEmpty)
  }

  @Test(arguments: [
    (MessageInput.Unit.lines, "abc\r\nabcd\n", "line 2 of standard input has more than 3 bytes"),
    (.lines, "abcdef", "line 1 of standard input has more than 3 bytes"), (.lines, "abcd", "--max-message"),
    (.file, "abcd", "standard input has more than 3 bytes; --max-message allows more"),
  ])
  func `a message above the limit is an error`(unit: MessageInput.Unit, text: String, message: String) async {
    let error = await #expect(throws: UsageError.self) { try await messages(unit, text, limit: 3) }

    #expect(error?.description.contains(message) == true && error?.code == .failure, "\(error as Any)")
  }

  @Test func `a line that is not UTF-8 is an error with its number`() async throws {
    let pipe = Pipe()
    var input = MessageInput(.lines, limit: 9, StandardInput(descriptor: pipe.fileHandleForReading.fileDescriptor))
    try pipe.fileHandleForWriting.write(contentsOf: Data([0x61, 0x0A, 0xFF, 0x0A]))

    #expect(try await input.next() == .text("a"))
    let error = await #expect(throws: UsageError.self) { try await input.next() }
    #expect(error?.description == "line 2 of standard input is not UTF-8 text; --binary sends bytes")
  }
}
