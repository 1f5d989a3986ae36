import Foundation
import Martlet

/// Keeps a copy of a resource up to date until `SIGTERM`: `KeepCopy URL FILE [SECONDS]`.
///
/// A signal does not interrupt a request: its response is written first. The exit status is then 0.
@main
struct KeepCopy {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    // The range keeps out NaN and infinity, on which `Duration` traps, and a pause of 0.
    guard (2...3).contains(arguments.count),
      let seconds = Double(arguments.count == 2 ? "60" : arguments[2]), (0.001...1e6).contains(seconds)
    else {
      complain("usage: KeepCopy URL FILE [SECONDS], such as KeepCopy https://example.com/roots.pem roots.pem 60")
      exit(2)
    }
    let client = HTTPClient()
    let work = Task {
      await update(URL(filePath: arguments[1]), from: RequestTarget(arguments[0]), every: .seconds(seconds), client)
    }
    // Requests end within this time, so configure the service manager to wait longer.
    await client.waitForTermination(timeout: .seconds(20))
    // The drained client refuses the next request, which ends the loop.
    work.cancel()
    print("\(await work.value) versions")
  }

  /// Updates the file until the client is drained, and returns the number of written versions.
  static func update(
    _ file: URL, from target: RequestTarget, every pause: Duration, _ client: HTTPClient
  ) async -> Int {
    var current = try? Data(contentsOf: file)
    var count = 0
    while !Task.isCancelled {
      do {
        // The request contains the validators of the stored response, so an unchanged resource costs only a 304.
        let response = try await client.get(target, options: .cache(.alwaysRevalidate))
        if response.body != current {
          try response.body.write(to: file, options: .atomic)
          current = response.body
          count += 1
        }
      } catch is CancellationError {
        break
      } catch let error as HTTPError where error.kind == .clientClosed {
        break
      } catch {
        complain("\(error)")
      }
      try? await Task.sleep(for: pause)
    }
    return count
  }

  private static func complain(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
}
