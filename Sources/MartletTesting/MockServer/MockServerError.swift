import Foundation

/// A failed system call that kept a mock server from starting.
///
/// The usual causes are too many open files and a sandbox without loopback sockets.
public struct MockServerError: Error, CustomStringConvertible, Sendable {
  /// The name of the system call, such as `bind`.
  public let operation: String
  /// The `errno` of the system call.
  public let code: Int32

  /// One line with the call, the number and its meaning.
  public var description: String { "\(operation) failed: \(String(cString: strerror(code))) (errno \(code))" }
}
