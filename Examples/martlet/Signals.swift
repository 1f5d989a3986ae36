import Foundation

/// Ends the program when the user interrupts it, after a last action.
///
/// A signal that the parent ignores, as `nohup` does, remains ignored.
struct Signals {
  private let sources: [any DispatchSourceSignal]

  /// - Parameter lastAction: An action that runs on a separate thread before the program exits.
  init(_ lastAction: @escaping @Sendable () -> Void) {
    let codes = [(SIGHUP, ExitCode.hungUp), (SIGINT, .interrupted), (SIGTERM, .terminated)]
    sources = codes.filter { !Self.isIgnored($0.0) }.map { number, code in
      // The default action would end the process before the source handles the signal.
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

  /// Stops handling signals.
  func ignore() {
    for source in sources { source.cancel() }
  }

  /// Lets SIGQUIT end the program; Swift's runtime handles the first one to print a backtrace.
  static func letQuit() {
    if !isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    let before = signal(number, SIG_IGN)
    let isIgnored = unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    if !isIgnored { signal(number, before) }
    return isIgnored
  }
}
