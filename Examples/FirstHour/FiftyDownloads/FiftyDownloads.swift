// FiftyDownloads FOLDER [URL …]
// Downloads the URLs, or those on standard input (one a line), four at a time. Run it again to resume.
import Foundation
import Martlet

struct Job: Sendable {
  var url: URL
  var file: URL
}

@main enum FiftyDownloads {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard let path = arguments.first else {
      note("usage: FiftyDownloads FOLDER [URL …]\n")
      exit(64)
    }
    let folder = URL(filePath: path, directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

    var lines = Array(arguments.dropFirst())
    if lines.isEmpty {
      while let line = readLine() { lines.append(line.trimmingCharacters(in: .whitespaces)) }
    }
    let (jobs, invalid) = plan(lines.filter { !$0.isEmpty }, folder: folder)
    for line in invalid { print("failed: \(line): not a http URL") }

    let client = HTTPClient {
      $0.retry = .backoff(attempts: 6)
      $0.timeout.idle = .seconds(60)
    }
    let queue = RequestQueue(client: client, limits: .concurrent(4, perHost: 4), progress: .accurate)
    let downloads = jobs.map { job in
      (job: job, handle: queue.download(.get(RequestTarget(job.url)), to: job.file))
    }
    let meter = Task {
      for await progress in queue.progress {
        note("\r\(Int(progress.fraction * 100)) %\(progress.isEstimate ? " (estimated)" : "")   ")
      }
    }
    let summary = await queue.finish()
    meter.cancel()
    note("\n")

    for (job, handle) in downloads {
      do {
        let done = try await handle.value
        print("\(done.url.lastPathComponent): \(done.byteCount) bytes")
      } catch is CancellationError {
        print("cancelled: \(job.url)")
      } catch {
        print("failed: \(job.url): \(error)")
      }
    }
    print("\(summary.succeeded) succeeded, \(summary.failed) failed, \(invalid.count) invalid")
    if summary.succeeded != jobs.count || !invalid.isEmpty { exit(1) }
  }

  /// The downloads that are left.
  ///
  /// A URL has the same file in each run, so that a download resumes.
  static func plan(_ lines: [String], folder: URL) -> (jobs: [Job], invalid: [String]) {
    var jobs: [Job] = []
    var invalid: [String] = []
    var taken: Set<String> = []
    for line in lines {
      guard let url = URL(string: line), url.scheme == "https" || url.scheme == "http", url.host() != nil else {
        invalid.append(line)
        continue
      }
      let last = url.lastPathComponent.replacingOccurrences(of: "/", with: "_")
      let name = ["", "_", ".", ".."].contains(last) ? "index.html" : last
      var unique = name
      var number = 2
      while !taken.insert(unique).inserted {
        unique = "\(number)-\(name)"
        number += 1
      }
      let file = folder.appending(path: unique)
      if !FileManager.default.fileExists(atPath: file.path) { jobs.append(Job(url: url, file: file)) }
    }
    return (jobs, invalid)
  }

  static func note(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
  }
}
