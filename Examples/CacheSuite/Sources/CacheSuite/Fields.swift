import Foundation
import Martlet

/// A response's header fields as in the Fetch standard: one value per name.
struct Fields: Sendable {
  private let headers: HTTPHeaders

  init(_ headers: HTTPHeaders) { self.headers = headers }

  subscript(_ name: String) -> String? {
    let values = headers[all: name]
    return values.isEmpty ? nil : values.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: ", ")
  }

  func number(_ name: String) -> Int? { self[name].flatMap(Self.leadingNumber) }

  /// Returns the number at the beginning of a text.
  static func leadingNumber(_ text: String) -> Int? {
    let trimmed = text.drop { $0 == " " }
    let sign = trimmed.prefix { $0 == "-" }.count == 1 ? "-" : ""
    return Int(sign + trimmed.dropFirst(sign.count).prefix { $0.isASCII && $0.isNumber })
  }

  /// Expands the value of a field in the suite: seconds relative to the server's time to a date, a path to a location.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - value: The value in the test.
  ///   - response: The response with the server's time and path.
  ///   - step: The request that the field belongs to.
  /// - Returns: The value to compare with or to send.
  static func expanded(_ name: String, _ value: JSON, by response: Fields, in step: Step) -> JSON {
    let name = name.lowercased()
    switch name {
    case "date", "expires", "last-modified", "if-modified-since", "if-unmodified-since":
      guard let seconds = value.int, let now = response.number("Server-Now") else { return value }
      let isOld = step["rfc850date"]?.list.contains(.string(name)) == true
      return .string(date(Date(timeIntervalSince1970: Double(now / 1000 + seconds)), isOld: isOld))
    case "location", "content-location":
      guard step.isTrue("magic_locations") else { return value }
      let base = response["Server-Base-Url"] ?? ""
      return .string(value.string.map { $0.isEmpty ? base : "\(base)/\($0)" } ?? base)
    default:
      return value
    }
  }

  private static func date(_ date: Date, isOld: Bool) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = isOld ? "EEEE, dd-MMM-yy HH:mm:ss 'GMT'" : "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: date)
  }
}
