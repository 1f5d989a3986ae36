#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// The output that a person sees: `script` from util-linux runs the tool on a pseudo terminal.
  @Suite(.needs(.script), .needs(.pseudoTerminals), .hangLimit) struct ToolTerminalTests {
    private func shown(_ arguments: String..., environment: [String: String] = [:]) async throws -> String {
      let words = [try ToolProcess.martlet().path] + arguments
      let line = words.map { "'\($0)'" }.joined(separator: " ")
      let process = try TestProgram.script.start(
        ["-qec", line, "/dev/null"],
        environment: ["TERM": "xterm", "NO_COLOR": ""].merging(environment) { $1 })
      return try await process.end().text.replacingOccurrences(of: "\r\n", with: "\n")
    }

    @Test func `prints the status, header fields and indented JSON`() async throws {
      let server = try MockServer(.json(#"{"z":1,"a":"b"}"#))

      let text = try await shown(server.url("/"), environment: ["NO_COLOR": "1"])

      #expect(text.contains("200 OK\n") && text.contains("Content-Type: application/json\n"))
      #expect(text.hasSuffix("\n\n{\n  \"z\": 1,\n  \"a\": \"b\"\n}\n"))
      #expect(!text.contains("\u{1B}"))
    }

    @Test func `colors its output and escapes control sequences from the server`() async throws {
      let server = try MockServer(.ok("a\u{1B}[31mb", headers: ["X-Evil": "\u{9B}2J"]))

      let text = try await shown(server.url("/"))

      #expect(text.contains("\u{1B}[32m200 OK\u{1B}[0m"))
      #expect(text.contains("a\\u{1b}[31mb\n"))
      #expect(!text.contains("\u{1B}[31m") && !text.contains("\u{9B}"))
    }

    @Test func `prints the timing table, in color unless NO_COLOR is set`() async throws {
      let server = try MockServer(.ok("a"))

      let colored = try await shown(server.url("/"), "--timing")
      let plain = try await shown(server.url("/"), "--timing", environment: ["NO_COLOR": "1"])

      #expect(colored.contains("a\n\u{1B}[36mqueued\u{1B}[0m       "))
      #expect(plain.contains("a\nqueued       ") && plain.hasSuffix("\nconnection   new\n"), "\(plain)")
      #expect(!plain.contains("\u{1B}"))
    }

    @Test func `uses no colors on a dumb terminal`() async throws {
      let server = try MockServer(.json("[true]"))

      #expect(try await !shown(server.url("/"), environment: ["TERM": "dumb"]).contains("\u{1B}"))
    }

    @Test func `prints an event stream as it arrives`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
      let server = try MockServer(.steps([.text(head + "id: 1\ndata: {\"a\":1}\n\n"), .hang]))
      defer { server.stop() }

      let text = try await shown(server.url("/"), "-m", "1", environment: ["NO_COLOR": "1"])

      #expect(text.contains("\n\nid: 1\ndata: {\"a\":1}\n\n"), "\(text)")
    }

    @Test func `prints a note instead of binary data`() async throws {
      let server = try MockServer(.data(Data([0, 1, 2]), headers: ["Content-Type": "image/png"]))

      #expect(try await shown(server.url("/")).contains("(3 bytes of image/png, not shown: use -o file or a pipe)"))
    }
  }
#endif
