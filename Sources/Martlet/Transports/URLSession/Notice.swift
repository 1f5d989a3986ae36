#if os(Linux)
  import Foundation
  import Synchronization

  /// Something that is said once, to whoever runs the program.
  final class Notice: Sendable {
    /// That the system's loader loads on Linux.
    static let systemLoader = Notice()

    private let isSaid = Atomic(false)
    private let write: @Sendable (String) -> Void

    init(_ write: @escaping @Sendable (String) -> Void = Notice.writeToStandardError) { self.write = write }

    /// Says it, unless that was done before.
    func say(_ text: @autoclosure () -> String) {
      guard !isSaid.exchange(true, ordering: .relaxed) else { return }
      write(text())
    }

    private static func writeToStandardError(_ line: String) {
      // A closed standard error is no reason to fail.
      try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
    }
  }
#endif
