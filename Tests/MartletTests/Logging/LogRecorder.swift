import Foundation
import Martlet
import TestSupport

/// A sink that records its lines.
struct LogRecorder: Sendable {
  private let log: Log<String>
  let sink: LogSink

  init() {
    let log = Log<String>()
    self.log = log
    sink = LogSink { log.add($0) }
  }

  /// The lines so far, unchanged.
  var lines: [String] {
    get async {
      await sink.flush()
      return log.elements
    }
  }

  /// Waits until a condition on the lines holds.
  func wait(until isTrue: ([String]) -> Bool) async { await log.wait(until: isTrue) }

  /// The lines with `N` for call numbers and `T` for times.
  var golden: [String] {
    get async {
      await lines.map { line in
        line.replacing(/^\d+-/, with: "N-").replacing(/\d+(\.\d+)? m?s(?=$|,)/, with: "T")
      }
    }
  }
}
