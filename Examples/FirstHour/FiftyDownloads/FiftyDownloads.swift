// FiftyDownloads FOLDER [URL …]
// Downloads the given URLs, or those on standard input (one per line), four at a time. Run it again to resume.
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
    lines.removeAll { $0.isEmpty }
    let (jobs, invalid) = plan(lines, folder: folder)
    for line in invalid { print("failed: \(line): not an http or https URL") }

    let client = HTTPClient {
      $0.retry = .backoff(attempts: 6)
      $0.timeout.idle = .seconds(60)
    }
    let queue = RequestQueue(client: client, limits: .concurrent(4), progress: .accurate)
    let downloads = jobs.map { job in
      (job: job, handle: queue.download(.get(RequestTarget(job.url)), to: job.file))
    }
    let meter = Task {
      for await progress in queue.progress {
        note("\r\(Int(progress.fraction * 100)) %\(progress.isEstimate ? " (estimated)" : "")   ")
      }
    }
    await queue.finish()
    // The progress ends with the queue.
    await meter.value
    note("\n")

    var failed = 0
    for (job, handle) in downloads {
      do {
        let done = try await handle.value
        print("\(done.url.lastPathComponent): \(done.byteCount) bytes")
      } catch {
        failed += 1
        print("failed: \(job.url): \(error)")
      }
    }
    let present = lines.count - jobs.count - invalid.count
    print("\(jobs.count - failed) downloaded, \(present) present, \(failed) failed, \(invalid.count) invalid")
    if failed + invalid.count > 0 { exit(1) }
  }

  /// Returns the remaining downloads.
  ///
  /// The same list assigns the same file to each URL in every run, because a download resumes only with the same URL
  /// and file.
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
