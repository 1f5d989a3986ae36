import Foundation
import Martlet
import MartletTesting
import TestSupport

/// Holds whoever enters until it is opened; knows who came, in order, and how many were there at a time.
final class Crowd: Sendable {
  private let gate = Gate()
  private let state = Shared((names: [String](), present: 0, most: 0))

  /// Who came, in order.
  var names: [String] { state.value.names }
  /// The most that were there at a time.
  var most: Int { state.value.most }

  /// A stub whose requests enter under their paths.
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

  /// Lets everybody through, now and later.
  func open() { gate.open() }

  /// Waits until so many have come.
  func waitForArrivals(_ count: Int) async { await state.wait { $0.names.count >= count } }
}
