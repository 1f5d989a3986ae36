#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import MartletTool

  /// Every number on the command line of the example programs.
  @Suite(.hangLimit) struct ExampleNumbersTests {
    private static let refused = ["nan", "inf", "1e-30", "-1", "1e30", "9223372036854775808", ""]
    private static let url = "http://127.0.0.1:1/"

    @Test(arguments: [
      ["--timeout"], ["--retry"], ["load", "--count"], ["load", "--at-a-time"], ["load", "--arrivals"],
      ["load", "--rate"], ["load", "--hedge"], ["load", "--breaker"], ["load", "--deadline"],
      ["download", "--segments"],
    ])
    func `martlet rejects an unusable number and names its option`(words: [String]) {
      let option = words.last ?? ""

      for number in Self.refused + (option == "--retry" ? [] : ["0"]) {
        let error = #expect(throws: UsageError.self) {
          try Arguments.parse(words.dropLast() + [Self.url, option, number])
        }
        #expect(error?.description.hasPrefix("\(option) needs a ") == true, "\(error?.description ?? "")")
      }
    }

    @Test(arguments: [
      ("KeepCopy", [url, "/dev/null/copy"]), ("Blocks", [url]), ("FetchTool", [url, "--timeout"]),
      ("FetchTool", [url, "--retry"]),
    ])
    func `each example program rejects an unusable number`(program: String, words: [String]) async throws {
      for number in Self.refused + (words.last == "--retry" ? [] : ["0"]) {
        let result = try await ToolProcess(try ToolProcess.built(program), words + [number]).end()

        #expect([2, 64].contains(result.status), "\(number): \(result.status) \(result.errors)")
        #expect(result.errors.hasPrefix("usage: "), "\(number): \(result.errors)")
      }
    }
  }
#endif
