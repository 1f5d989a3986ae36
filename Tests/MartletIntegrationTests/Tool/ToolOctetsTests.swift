#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// The tool with closed standard streams, and with arguments that are not UTF-8.
  @Suite(.needs(.shell), .hangLimit) struct ToolOctetsTests {
    private let folder: TemporaryFolder
    private let server: MockServer

    init() throws {
      folder = try TemporaryFolder()
      server = try MockServer(.ok("the body"))
    }

    /// Runs a shell line in which `$1` is the tool, `$2` the server's URL and `$3` the test's folder.
    private func shell(_ line: String, environment: [String: String] = [:]) async throws -> ToolProcess.Result {
      let words = ["-c", line, "sh", try ToolProcess.martlet().path, server.url("/"), folder.url.path]
      return try await TestProgram.shell.start(words, environment: environment).end()
    }

    @Test(arguments: [
      #"exec 2>&-; exec "$1" "$2" -v -o "$3/file""#, #"exec 1>&- 2>&-; exec "$1" "$2" -v -i -o "$3/file""#,
      #"exec 0<&- 1>&- 2>&-; exec "$1" "$2" -v -i --timing --explain -o "$3/file""#,
    ])
    func `a closed standard stream never becomes the file`(_ line: String) async throws {
      let result = try await shell(line, environment: ["MARTLET_LOG": "headers"])

      #expect(result.status == (line.contains("1>&-") ? 1 : 0), "\(result.errors)")
      let written = try? folder.contents("file")
      #expect(written == nil && result.status == 1 || written == Data("the body".utf8))
    }

    @Test func `a download with closed standard streams contains only the body`() async throws {
      _ = try await shell(#"exec 0<&- 1>&- 2>&-; exec "$1" download "$2" -o "$3/file""#)

      #expect(try folder.contents("file") == Data("the body".utf8))
    }

    @Test(arguments: [
      #"--body "$(printf 'caf\351')""#, #"--body "@$3/$(printf 'caf\351')""#, #"-u "$(printf 'caf\351:x')""#,
      #"-d "$(printf 'a=\377')""#, #""a=$(printf '\351')""#, #""X-A:$(printf '\351')""#,
      #"-o "$3/$(printf 'caf\351')""#, #"-b "$(printf 'a=\351')""#, #""$(printf 'download\351')""#,
    ])
    func `an argument that is not UTF-8 is an error`(_ argument: String) async throws {
      // The file to which a repaired name would refer.
      try folder.write("another file", to: "caf\u{FFFD}")

      let result = try await shell(#""$1" "$2" "# + argument)

      #expect(result.status == 2)
      #expect(result.errors.contains("is not UTF-8") && result.errors.contains(#"\x"#), "\(result.errors)")
      #expect(server.requests.isEmpty)
    }

    @Test func `a UTF-8 argument is sent unchanged`() async throws {
      let result = try await shell(#""$1" "$2" --body "$(printf 'caf\303\251')""#)

      #expect(result.status == 0, "\(result.errors)")
      #expect(server.requests.map(\.text) == ["café"])
    }
  }
#endif
