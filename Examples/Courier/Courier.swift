import Foundation
import Martlet
import MartletOutbox

/// Posts each line of its input, however often it is killed: `Courier FOLDER URL < lines`.
///
/// A line is safe when its number is printed. What one run does not get delivered, because the server or the network is
/// down, the next one delivers; `Courier FOLDER` alone does only that.
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
    // Told to end, it gives up to ten seconds to what is being sent.
    client.drainOnTermination()
    let outbox = try await client.outbox(at: folder)
    let reports = Task { for await event in outbox.events { report(event) } }
    if let url {
      while let line = readLine() {
        // One key: the lines arrive in their order.
        let id = try await outbox.submit(.post(RequestTarget(url), body: .text(line)), key: url)
        print(id)
        fflush(nil)
      }
    }
    await outbox.waitUntilIdle()
    for letter in try await outbox.deadLetters() { complain("\(letter.id) was given up: \(letter.failure)") }
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
