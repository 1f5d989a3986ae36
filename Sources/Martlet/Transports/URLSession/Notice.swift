#if canImport(Darwin) || URLSession
  #if os(Linux)
    import Foundation
    import Synchronization

    /// A message that is written once, to standard error by default.
    final class Notice: Sendable {
      /// The notice that the system's loader is used on Linux.
      static let systemLoader = Notice()

      private let isSaid = Atomic(false)
      private let write: @Sendable (String) -> Void

      init(_ write: @escaping @Sendable (String) -> Void = Notice.writeToStandardError) { self.write = write }

      /// Writes the message, unless one was written before.
      func say(_ text: @autoclosure () -> String) {
        guard !isSaid.exchange(true, ordering: .relaxed) else { return }
        write(text())
      }

      private static func writeToStandardError(_ line: String) {
        // A closed standard error must not cause a failure.
        try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
      }
    }
  #endif
#endif
