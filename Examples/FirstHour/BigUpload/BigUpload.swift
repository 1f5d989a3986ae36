// BigUpload URL [FILE]
// Uploads a file with some fields as a multipart form. Without FILE, creates a temporary file of 300 MB.
import Foundation
import Martlet

@main enum BigUpload {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard let first = arguments.first, let url = URL(string: first) else {
      note("usage: BigUpload URL [FILE]\n")
      exit(64)
    }
    let file: URL
    if arguments.count > 1 {
      file = URL(filePath: arguments[1])
    } else {
      file = try makeFile(byteCount: 300_000_000)
    }
    let code = await upload(file, to: url)
    if arguments.count == 1 { try? FileManager.default.removeItem(at: file) }
    exit(code)
  }

  /// Returns the exit code.
  static func upload(_ file: URL, to url: URL) async -> Int32 {
    let client = HTTPClient {
      $0.retry = .backoff(attempts: 5)
      // The default total limit of 120 s is too short for this body; silence still ends it.
      $0.timeout.idle = .seconds(60)
      $0.timeout.total = .seconds(3600)
    }
    let body = HTTPBody.multipart {
      $0.add("Holiday", for: "album")
      $0.add("Uploaded by BigUpload", for: "comment")
      $0.add(.json(["year": 2025, "public": false]), for: "meta")
      $0.add(file: file, for: "file")
    }

    do {
      let response = try await client.post(
        RequestTarget(url),
        // The key makes the POST idempotent, so it may be retried.
        headers: ["Idempotency-Key": UUID().uuidString],
        body: body,
        options: .onProgress { progress in
          let percent = Int((progress.fractionSent ?? 0) * 100)
          let speed = Double(progress.bytesPerSecond.sent) / 1_000_000
          let left = progress.timeLeft.map { ", \($0.components.seconds) s left" } ?? ""
          let rate = speed.formatted(.number.precision(.fractionLength(1)))
          note("\r\(percent) %, \(progress.sent) bytes, \(rate) MB/s\(left)   ")
        })
      note("\n")
      print("\(response.status) on attempt \(response.attempts.count), in \(response.timing.total)")
      print(response.text)
      return 0
    } catch let error as HTTPError where error.kind == .fileFailed {
      note("\n\(error.message)\n")
      return 66
    } catch let error as HTTPError where error.status == .contentTooLarge {
      note("\nthe server does not take files of this size\n")
      return 1
    } catch let error as HTTPError where error.isTransient {
      note("\ntry again later: \(error)\n")
      return 75
    } catch {
      note("\n\(error)\n")
      return 1
    }
  }

  /// Creates a sparse file, which takes no disk space.
  static func makeFile(byteCount: UInt64) throws -> URL {
    let file = FileManager.default.temporaryDirectory.appending(path: "BigUpload-\(UUID().uuidString).bin")
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: byteCount)
    try handle.close()
    return file
  }

  static func note(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
  }
}
