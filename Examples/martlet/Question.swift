import MartletBase
import Foundation
import Martlet

/// The question for a password, asked on the controlling terminal even if the streams are redirected.
struct Question {
  private let user: String
  private let challenge: AuthenticationChallenge

  /// - Returns: `nil` if the server requests a scheme that the user does not want.
  init?(_ user: String, _ challenge: AuthenticationChallenge, only scheme: AuthenticationScheme?) {
    if let scheme, scheme != challenge.scheme { return nil }
    self.user = user
    self.challenge = challenge
  }

  /// The text of the question: the server, the user, and whether others could read the password.
  var text: String {
    var text = challenge.previousFailures > 0 ? "martlet: that was refused\n" : ""
    let realm = challenge.realm.map { " (\"\(Visible.line($0))\")" } ?? ""
    text +=
      "martlet: \(challenge.isProxy ? "the proxy " : "")\(Visible.line(challenge.host))\(realm) asks for a password"
    if challenge.isSentInClear { text += " over an unencrypted connection" }
    return "\(text)\nPassword of \(Visible.line(user)): "
  }

  /// Asks for the password; an empty line cancels.
  ///
  /// - Throws: ``UsageError`` if there is no terminal.
  func answer() async throws -> Credential? {
    let text = text
    // This blocks, so it must not run on a thread of Swift's concurrency pool, which the request's limits need.
    let password = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "martlet.question").async {
        continuation.resume(with: Result { try HiddenLine.ask(text) })
      }
    }
    return password.isEmpty ? nil : .user(user, password: password)
  }
}

/// Reads a line without echo.
enum HiddenLine {
  /// The maximum length of a password, in bytes.
  private static let maximumBytes = 4096

  private static let noTerminal = "the server requires a password, but no terminal can prompt for it; use NAME:PASSWORD"

  private struct Changed: Sendable {
    let descriptor: Int32
    var attributes: termios
  }

  /// The terminal whose echo is off, and its previous settings.
  private static let changed = Locked<Changed?>(nil)

  /// Turns the echo on again if it is off.
  static func restore() {
    changed.withLock { changed in
      guard var before = changed else { return }
      tcsetattr(before.descriptor, TCSANOW, &before.attributes)
      changed = nil
    }
  }

  /// Asks on the terminal and waits for a line.
  static func ask(_ question: String) throws -> String {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { throw UsageError(noTerminal) }
    defer { close(terminal) }
    var attributes = termios()
    guard tcgetattr(terminal, &attributes) == 0 else {
      throw UsageError(noTerminal)
    }
    let before = Changed(descriptor: terminal, attributes: attributes)
    changed.withLock { $0 = before }
    defer { restore() }
    attributes.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(terminal, TCSANOW, &attributes)
    try Descriptor.writeAll(Data(question.utf8), to: terminal)
    defer { try? Descriptor.writeAll(Data("\n".utf8), to: terminal) }
    return try line(from: terminal)
  }

  private static func line(from terminal: Int32) throws -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count < maximumBytes {
      let count = read(terminal, &byte, 1)
      if count < 0 && errno == EINTR { continue }
      guard count > 0, byte != UInt8(ascii: "\n") else { break }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
