import Foundation
import Martlet

/// `martlet cache`: inspects the directory of a cache.
enum CacheCommand: Equatable, Sendable {
  /// Prints a line for each stored response.
  case list(directory: String)
  /// Removes the responses for some URLs, or all of them.
  case remove(directory: String, urls: [String])
  /// Prints the number and the size of the responses.
  case count(directory: String)

  /// Reads the words after `cache`.
  static func parse(_ words: [String]) throws(UsageError) -> CacheCommand {
    let actions = ["ls", "rm", "stat"]
    guard let action = words.first else {
      throw UsageError("'martlet cache' needs ls, rm or stat; see martlet help cache")
    }
    guard actions.contains(action) else { throw problem(action, actions, of: .cache) }
    guard words.count > 1 else {
      throw UsageError("'martlet cache \(action)' needs the cache's folder; see martlet help cache")
    }
    let (directory, rest) = (words[1], Array(words.dropFirst(2)))
    switch action {
    case "rm" where rest == ["--all"]: return .remove(directory: directory, urls: [])
    case "rm" where !rest.isEmpty && !rest.contains("--all"): return .remove(directory: directory, urls: rest)
    case "rm": throw UsageError("'martlet cache rm' needs either URLs or --all; see martlet help cache")
    default: break
    }
    if rest == ["--all"] { throw UsageError("--all is for 'martlet cache rm', not for 'martlet cache \(action)'") }
    if let word = rest.first {
      throw UsageError("'martlet cache \(action)' takes one folder, but got '\(word)' after it")
    }
    return action == "ls" ? .list(directory: directory) : .count(directory: directory)
  }

  /// The error for an unknown action of a command.
  static func problem(_ action: String, _ actions: [String], of command: CommandName) -> UsageError {
    let guess = Suggestion.nearest(to: action, in: actions).map { "did you mean \($0)?" }
    let advice = guess ?? "see martlet help \(command.rawValue)"
    return UsageError("'\(action)' is not an action of 'martlet \(command.rawValue)'; \(advice)")
  }

  private var directory: String {
    switch self {
    case .list(let directory), .remove(let directory, _), .count(let directory): directory
    }
  }

  /// Runs the command.
  func run(_ output: Terminal, _ errors: Terminal) async -> ExitCode {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
      errors.complain("'\(directory)' is not a directory")
      return .usage
    }
    // There is no limit, because opening the cache must not remove anything.
    let cache = ResponseCache.disk(URL(filePath: directory), bytes: .max)
    do {
      switch self {
      case .list:
        for response in try await cache.responses.sorted(by: { $0.url.absoluteString < $1.url.absoluteString }) {
          try output.write(Self.line(response) + "\n")
        }
      case .remove(_, let urls):
        if urls.isEmpty { try await cache.removeAll() }
        for url in urls { try await cache.remove(url) }
      case .count:
        let usage = try await cache.usage
        try output.write("\(usage.records) records, \(usage.bytes) bytes\n")
      }
      return .success
    } catch let error as WriteError {
      return error.isBrokenPipe ? .brokenPipe : .failure
    } catch {
      errors.complain("\(error)")
      return .failure
    }
  }

  /// The line of a response: status, size, expiration and URL.
  private static func line(_ response: ResponseCache.StoredResponse) -> String {
    let expires = response.expires.map { $0.formatted(.iso8601) } ?? "-"
    let size = "\(response.bodyBytes)"
    let padding = String(repeating: " ", count: max(1, 12 - size.count))
    return Visible.text("\(response.status.rawValue)\(padding)\(size)  \(expires)  \(response.url.absoluteString)")
  }
}
