import Foundation

/// Ends the program at once when the user interrupts it, after a last action.
struct Signals {
  private let sources: [any DispatchSourceSignal]

  /// - Parameter lastAction: Called on a thread of its own before the program exits.
  init(_ lastAction: @escaping @Sendable () -> Void) {
    sources = [(SIGINT, ExitCode.interrupted), (SIGTERM, .terminated)].map { number, code in
      // The source only sees what does not kill.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
      source.setEventHandler {
        lastAction()
        _exit(code.rawValue)
      }
      source.resume()
      return source
    }
  }

  /// Stops watching.
  func ignore() {
    for source in sources { source.cancel() }
  }
}
