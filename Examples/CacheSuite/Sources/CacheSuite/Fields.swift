import Foundation
import Martlet

/// The header fields of a response as the Fetch standard shows them: one value for each name.
struct Fields: Sendable {
  private let headers: HTTPHeaders

  init(_ headers: HTTPHeaders) { self.headers = headers }

  subscript(_ name: String) -> String? {
    let values = headers[all: name]
    return values.isEmpty ? nil : values.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: ", ")
  }

  func number(_ name: String) -> Int? { self[name].flatMap(Self.leadingNumber) }

  /// The number that a text begins with, whatever follows.
  static func leadingNumber(_ text: String) -> Int? {
    let trimmed = text.drop { $0 == " " }
    let sign = trimmed.prefix { $0 == "-" }.count == 1 ? "-" : ""
    return Int(sign + trimmed.dropFirst(sign.count).prefix { $0.isASCII && $0.isNumber })
  }

  /// A field of the suite with what it stands for: seconds from the server's time for a date, a path for a location.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - value: The value in the test.
  ///   - response: The response that tells the server's time and path.
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
