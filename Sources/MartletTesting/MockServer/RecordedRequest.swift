import MartletBase
public import Foundation

/// A request as a ``MockServer`` received it.
///
/// Nothing is normalized: names keep their case, fields their order, and ``rawHead`` contains the exact bytes.
public struct RecordedRequest: Sendable {
  /// One header or trailer field.
  public struct Field: Sendable, Hashable {
    /// The name as it was sent.
    public var name: String
    /// The value without the whitespace around it (RFC 9112 §5).
    public var value: String

    /// Creates a field.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The method, such as `GET`.
  public let method: String
  /// The request target as in the request line (RFC 9112 §3.2).
  public let target: String
  /// The version, such as `HTTP/1.1`.
  public let httpVersion: String
  /// The header fields in the order of arrival.
  public let headers: [Field]
  /// The exact bytes of the head, including the empty line.
  public let rawHead: Data
  /// The index of the connection, from 0 in the order in which connections are accepted.
  public let connection: Int
  /// The number of earlier requests on the same connection.
  public let indexOnConnection: Int
  /// The time at which the head was complete.
  public let arrival: ContinuousClock.Instant

  /// The body, with a chunked transfer coding decoded.
  ///
  /// Empty until the body is complete or the connection ends, and never longer than
  /// ``MockServer/Options/maximumKeptBodyBytes``.
  public internal(set) var body = Data()
  /// The number of body bytes received, kept or not.
  public internal(set) var bodyLength = 0
  /// The trailer fields after a chunked body.
  public internal(set) var trailers: [Field] = []
  /// Whether the whole body has arrived.
  public internal(set) var isComplete = false

  /// The target up to `?`, without scheme or authority.
  public var path: String { String(originForm.prefix { $0 != "?" }) }

  /// The target after the first `?`, still percent-encoded, or `nil` without one.
  public var query: String? {
    let form = originForm
    return form.firstIndex(of: "?").map { String(form[form.index(after: $0)...]) }
  }

  /// The body as UTF-8 text, with replacement characters for invalid bytes.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// The value of the first field with this name, in any case.
  public func header(_ name: String) -> String? { headers.first { FieldSyntax.isSameName($0.name, name) }?.value }

  /// The values of all fields with this name, in order.
  ///
  /// The case of the name does not matter.
  public func headers(named name: String) -> [String] {
    headers.filter { FieldSyntax.isSameName($0.name, name) }.map(\.value)
  }

  private var originForm: Substring {
    guard !target.hasPrefix("/"), let scheme = target.range(of: "://") else { return target[...] }
    let rest = target[scheme.upperBound...]
    return rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
  }

  /// Whether the connection ends after this exchange (RFC 9112 §9.3).
  var asksToClose: Bool {
    let options = headers(named: "Connection").flatMap { $0.split(separator: ",") }
      .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
    if options.contains("close") { return true }
    return httpVersion == "HTTP/1.0" && !options.contains("keep-alive")
  }

  /// Whether the client waits for `100 Continue` (RFC 9110 §10.1.1).
  var expectsContinue: Bool { httpVersion != "HTTP/1.0" && header("Expect")?.lowercased() == "100-continue" }
}
