import Foundation
import Martlet
import MartletTesting
import TestSupport

/// Holds callers until it is opened, and records their names in order and how many were held at the same time.
final class Crowd: Sendable {
  private let gate = Gate()
  private let state = Shared((names: [String](), present: 0, most: 0))

  /// The names of the callers, in order of arrival.
  var names: [String] { state.value.names }
  /// The maximum number of callers at the same time.
  var most: Int { state.value.most }

  /// A stub that holds each request under the name of its path.
  var transport: StubTransport {
    StubTransport { request in
      await self.pass(request.url?.path ?? "")
      return .text("x")
    }
  }

  func pass(_ name: String = "") async {
    state.withLock {
      $0.names.append(name)
      $0.present += 1
      $0.most = max($0.most, $0.present)
    }
    await gate.pass()
    state.withLock { $0.present -= 1 }
  }

  /// Releases all callers, now and later.
  func open() { gate.open() }

  /// Waits until this many callers have arrived.
  func waitForArrivals(_ count: Int) async { await state.wait { $0.names.count >= count } }
}
