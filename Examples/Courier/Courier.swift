import Foundation
import Martlet
import MartletOutbox

/// Posts each line of its input, however often it is killed: `Courier FOLDER URL < lines`.
///
/// A line is safe once its number is printed. Lines that one run cannot deliver, because the server or the network is
/// down, are delivered by the next run; `Courier FOLDER` only delivers them.
@main
struct Courier {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard (1...2).contains(arguments.count) else {
      complain("usage: Courier FOLDER [URL], such as Courier queue http://localhost:8080/events < events.txt")
      exit(2)
    }
    do {
      try await run(URL(filePath: arguments[0], directoryHint: .isDirectory), arguments.dropFirst().first)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  static func run(_ folder: URL, _ url: String?) async throws {
    let client = HTTPClient()
    // When asked to terminate, the client allows up to ten seconds for requests that are being sent.
    client.drainOnTermination()
    let outbox = try await client.outbox(at: folder)
    let reports = Task { for await event in outbox.events { report(event) } }
    if let url {
      while let line = readLine() {
        // All lines have the same key, so they arrive in order.
        let id = try await outbox.submit(.post(RequestTarget(url), body: .text(line)), key: url)
        print(id)
        fflush(nil)
      }
    }
    await outbox.waitUntilIdle()
    for letter in try await outbox.deadLetters() { complain("\(letter.id) could not be delivered: \(letter.failure)") }
    await outbox.close()
    await reports.value
  }

  private static func report(_ event: Outbox.Event) {
    switch event {
    case .failed(_, let failure, let next): complain("\(failure); next try in \(next)")
    case .problem(let error): complain("\(error)")
    default: break
    }
  }

  private static func complain(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
}
