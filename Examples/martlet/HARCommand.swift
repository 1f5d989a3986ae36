import Foundation
import Martlet
import MartletHAR

/// `martlet har`: shows a HAR file in the terminal, or converts it to a page.
enum HARCommand: Equatable, Sendable {
  /// Prints a line for each entry.
  case show(file: String, explains: Bool)
  /// Writes one HTML page to a file or to standard output.
  case page(file: String, output: String?)

  /// Reads the words after `har`.
  static func parse(_ words: [String], output: String?, explains: Bool) throws(UsageError) -> HARCommand {
    guard let action = words.first else { throw UsageError("'martlet har' needs show or page; see martlet help har") }
    guard ["show", "page"].contains(action) else {
      throw CacheCommand.problem(action, ["show", "page"], of: .har)
    }
    guard words.count == 2 else { throw UsageError("'martlet har \(action)' needs one file; see martlet help har") }
    if action == "show" {
      if output != nil { throw UsageError("'martlet har show' has no -o; redirect its standard output") }
      return .show(file: words[1], explains: explains)
    }
    if explains { throw UsageError("--explain is an option of 'martlet har show', not of 'martlet har page'") }
    return .page(file: words[1], output: output == "-" ? nil : output)
  }

  private var file: String {
    switch self {
    case .show(let file, _), .page(let file, _): file
    }
  }

  /// Runs the command.
  func run(_ output: Terminal, _ errors: Terminal) -> ExitCode {
    do {
      let archive = try HARFile(at: URL(filePath: file))
      switch self {
      case .show(_, let explains):
        let waterfall = Waterfall(archive.entries)
        let lines = waterfall.lines(width: output.width, output.palette, explains: explains)
        try output.write(lines.map { $0 + "\n" }.joined())
      case .page(let file, let name):
        let title = URL(fileURLWithPath: file).lastPathComponent
        let page = HARPage(title: title, entries: archive.entries).html
        guard let name else {
          try output.write(page)
          break
        }
        // Only the owner can read the page, like the recording.
        guard FileManager.default.createFile(atPath: name, contents: page, attributes: [.posixPermissions: 0o600])
        else {
          errors.complain("'\(name)' cannot be written")
          return .failure
        }
      }
      return .success
    } catch let error as HTTPError {
      errors.complain(error.message)
      return .usage
    } catch let error as WriteError {
      return error.isBrokenPipe ? .brokenPipe : .failure
    } catch {
      errors.complain("\(error)")
      return .failure
    }
  }
}

extension Terminal {
  /// The number of columns; 100 if the output is not a terminal.
  var width: Int {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 100 }
    return Int(size.ws_col)
  }
}
