import Martlet

/// The result of one test, encoded like the suite's own results.
enum Outcome: Sendable, Hashable, Codable {
  case passed
  case failed(Failure)

  init(from decoder: any Decoder) throws {
    let value = try JSON(from: decoder)
    self = value == .bool(true) ? .passed : .failed(Failure(value[0].description, value[1].description))
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .passed: try JSON.bool(true).encode(to: encoder)
    case .failed(let failure): try JSON.array([.string(failure.name), .string(failure.message)]).encode(to: encoder)
    }
  }
}

/// The reason why a test did not pass.
struct Failure: Error, Hashable, CustomStringConvertible {
  /// `Setup` and `Assertion` are the suite's names; other names are those of errors.
  let name: String
  let message: String

  init(_ name: String, _ message: String) {
    self.name = name
    self.message = message
  }

  var description: String { "\(name): \(message)" }

  /// Throws unless the condition holds.
  static func unless(_ condition: Bool, setup isSetup: Bool, _ message: @autoclosure () -> String) throws(Failure) {
    if !condition { throw Failure(isSetup ? "Setup" : "Assertion", message()) }
  }
}
