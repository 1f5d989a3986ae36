#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletTool

  /// `martlet download`.
  @Suite(.hangLimit) struct ToolDownloadTests {
    @Test func `resumes an interrupted download`() async throws {
      let bytes = FileServer.bytes(2_000_000)
      let server = try FileServer(.init(bytes: bytes, rate: 20_000))
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let file = folder.path("a.bin")

      let first = try ToolProcess(try ToolProcess.martlet(), ["download", server.url, "-o", file])
      #expect(await becomes { server.sent > 20_000 })
      first.send(SIGINT)
      let interrupted = try await first.end()
      #expect(
        interrupted.status == 130 && interrupted.errors.contains("the same command resumes"), "\(interrupted.errors)")
      #expect(folder.names == ["a.bin.part", "a.bin.part.json"])

      server.change { $0.rate = nil }
      let second = try await ToolProcess.martlet("download", server.url, "-o", file)
      #expect(second.status == 0 && second.text == "\(file)\n" && second.errors.isEmpty, "\(second.errors)")
      #expect(try folder.contents("a.bin") == bytes)
      #expect(folder.names == ["a.bin"])
      #expect(server.ranges.last??.hasPrefix("bytes=") == true)
    }

    @Test func `verifies checksums, downloads several URLs into a folder, and reports failures`() async throws {
      let bytes = FileServer.bytes(100_000)
      let server = try FileServer(.init(bytes: bytes))
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let wrong = String(repeating: "0", count: 64)

      let sum = try await ToolProcess.martlet("download", server.url, "--sha256=\(wrong)", "-o", folder.path("a"))
      #expect(sum.status == 3 && sum.errors.contains("checksumMismatch"), "\(sum.errors)")
      _ = try await ToolProcess.martlet(
        "download", server.url, "--no-resume", "--segments", "2", "-o\(folder.path("a"))")
      #expect(folder.names == ["a"])

      let url = "http://127.0.0.1:\(server.port)"
      let many = try await ToolProcess.martlet("download", "\(url)/b.bin", "\(url)/c.bin", "-o", folder.path("."))
      #expect(many.status == 0 && many.text.split(separator: "\n").count == 2, "\(many.errors)")
      #expect(folder.names == ["a", "b.bin", "c.bin"])

      server.change { $0.head = { _, _ in .init(status: 404, fields: ["Content-Length": "0"], body: 0..<0) } }
      let missing = try await ToolProcess.martlet("download", server.url, "-o", folder.path("d"))
      #expect(missing.status == 4 && missing.errors.contains("404"), "\(missing.errors)")
      #expect(folder.names == ["a", "b.bin", "c.bin"])
    }

    @Test(
      arguments: [
        [], ["-o"], ["http://a.test", "--segments", "17"], ["http://a.test", "--sha256", "xyz"],
        ["http://a.test", "http://b.test", "-o", "no-such-folder"], ["http://a.test", "--unknown"],
        ["http://a.test", "-o", "/no/such/folder/a"], ["http://a.test", "-o", "-"], ["http://a.test", "-X", "POST"],
      ])
    func `rejects invalid arguments before sending a request`(arguments: [String]) async throws {
      let result = try await ToolProcess(try ToolProcess.martlet(), ["download", "--timeout", "1"] + arguments).end()
      #expect([1, 2].contains(result.status) && !result.errors.isEmpty, "\(arguments): \(result.errors)")
      #expect(!result.errors.contains("a.test: "), "\(result.errors)")
    }

    @Test func `the progress bar shows the size, the rate and the remaining time`() {
      let half = ProgressBar.text(50_000_000, of: 100_000_000, 10_000_000, in: .seconds(2))
      #expect(half == "50 % [##########          ]  50.0 MB of 100.0 MB  5.0 MB/s  0:10")
      #expect(ProgressBar.text(999, of: nil, 0, in: .zero) == "999 B")
      #expect(ProgressBar.text(0, of: 10, 0, in: .zero, files: (1, 3)).hasPrefix("1 of 3  0 % ["))
      #expect(ProgressBar.text(1, of: 1_000_001, 1, in: .seconds(1)).hasSuffix("1 B/s  99:59:59"))
      #expect(ProgressBar.text(9, of: 8, 9, in: .seconds(3)).contains("100 %"))
    }

    @Test func `uploads a file unchanged, as a form part, and gzipped`() async throws {
      let server = try MockServer { .ok("\($0.bodyLength)") }
      let folder = try TemporaryFolder()
      try folder.write(String(repeating: "text ", count: 40_000), to: "a.txt")
      let file = folder.path("a.txt")

      let plain = try await ToolProcess.martlet("upload", file, server.url("/a"))
      let form = try await ToolProcess.martlet("upload", file, server.url("/b"), "--field", "photo")
      let coded = try await ToolProcess.martlet("upload", file, server.url("/c"), "--gzip")
      let posted = try await ToolProcess.martlet("upload", file, server.url("/e"), "-X", "POST")
      let output = try await ToolProcess.martlet("upload", file, server.url("/f"), "-o", folder.path("b"))
      let missing = try await ToolProcess.martlet("upload", folder.path("none"), server.url("/d"))
      let usage = try await ToolProcess.martlet("upload", file)

      #expect(plain.status == 0 && plain.text == "200000", "\(plain.errors)")
      #expect(form.status == 0 && (Int(form.text) ?? 0) > 200_000, "\(form.errors)")
      #expect(coded.status == 0 && (Int(coded.text) ?? .max) < 20_000, "\(coded.errors)")
      #expect(posted.status == 0 && posted.text == "200000", "\(posted.errors)")
      #expect(output.status == 2 && output.errors.contains("-o"), "\(output.errors)")
      #expect(server.requests.map(\.method) == ["PUT", "POST", "PUT", "POST"])
      #expect(server.requests.first?.header("Content-Type")?.hasPrefix("text/plain") == true)
      #expect(missing.status == 1 && missing.errors.contains("does not exist"), "\(missing.errors)")
      #expect(usage.status == 2 && usage.errors.contains("martlet help upload"))
    }
  }
#endif
