public import MartletBase

extension Deadline {
  /// A header field that reports a request's remaining time to servers.
  ///
  /// A server that knows the remaining time can stop when it has passed. Set the field
  /// for servers that support it:
  ///
  /// ```swift
  /// let client = HTTPClient {
  ///   $0.baseURL = "https://orders.internal"
  ///   $0.deadlineHeader = .grpcTimeout(to: ["https://orders.internal"])
  /// }
  /// ```
  ///
  /// Only the named origins receive the field, even after a redirect; the base URL's origin covers the servers of a
  /// ``Cluster`` that is one service. Each attempt sends the time that remains when it
  /// begins to wait for its connection, until the deadline (``withDeadline(_:name:clock:_:)``) or the total limit
  /// (``TimeoutPolicy/total``), whichever comes first, less the ``margin``. A request without either has no such field,
  /// and a field that the program sets itself is kept.
  public struct Header: Sendable, Hashable {
    /// How the time is written.
    @nonexhaustive public enum Format: Sendable, Hashable {
      /// Up to eight digits and a unit, as in gRPC: `1500m` is 1.5 seconds.
      case grpc
      /// A number of milliseconds: `1500`.
      case milliseconds
      /// The deadline as an HTTP date (RFC 9110 §5.6.7), in whole seconds, rounded down.
      ///
      /// The clocks of client and server must agree.
      case date
    }

    /// The name of the field.
    public var name: String
    /// How the time is written.
    public var format: Format
    /// The origins that receive the field, such as `https://orders.internal:8443`.
    public var origins: [String] {
      didSet { parsed = Self.parse(origins) }
    }
    /// The time that is reserved for the response's transmission and for the client itself; 10 ms by default.
    ///
    /// If no more than this is left, the request fails before it is sent.
    public var margin = Duration.milliseconds(10)

    private var parsed: Set<Origin>

    private init(_ name: String, _ format: Format, _ origins: [String]) {
      self.name = name
      self.format = format
      self.origins = origins
      parsed = Self.parse(origins)
    }

    /// The field `grpc-timeout`, as gRPC defines it.
    ///
    /// - Parameter origins: The origins that receive the field.
    /// - Returns: The header.
    public static func grpcTimeout(to origins: [String]) -> Self {
      Self("grpc-timeout", .grpc, origins)
    }

    /// A field with a number of milliseconds.
    ///
    /// - Parameters:
    ///   - name: The name of the field, such as `X-Timeout-Ms`.
    ///   - origins: The origins that receive the field.
    /// - Returns: The header.
    public static func milliseconds(_ name: String, to origins: [String]) -> Self {
      Self(name, .milliseconds, origins)
    }

    /// A field with an HTTP date.
    ///
    /// - Parameters:
    ///   - name: The name of the field, such as `X-Deadline`.
    ///   - origins: The origins that receive the field.
    /// - Returns: The header.
    public static func date(_ name: String, to origins: [String]) -> Self {
      Self(name, .date, origins)
    }

    /// The deadline of a request that a server has received.
    ///
    /// ```swift
    /// let deadline = Deadline.Header.grpcTimeout(to: []).deadline(in: headers, name: "GET /cart")
    /// ```
    ///
    /// - Parameters:
    ///   - headers: The header fields of that request.
    ///   - name: The name of the work, for errors.
    ///   - now: The date, for the ``Format/date`` format.
    ///   - clock: The clock that the deadline is measured with.
    /// - Returns: The deadline; `nil` without the field, or if it is malformed. A date in the past is a deadline that
    ///   has passed. It is at most a year away.
    public func deadline(
      in headers: HTTPHeaders, name: String? = nil, now: Date = Date(), clock: any Clock<Duration> = ContinuousClock()
    ) -> Deadline? {
      guard let value = headers[self.name].map({ String(FieldSyntax.trimmed($0)) }),
        let time = time(of: value, now: now)
      else { return nil }
      return Deadline(time, name: name, clock: clock)
    }

    /// The duration that a value encodes.
    private func time(of value: String, now: Date) -> Duration? {
      switch format {
      case .grpc:
        guard let unit = Self.units.first(where: { value.utf8.last == $0.letter }) else { return nil }
        let digits = value.utf8.dropLast()
        guard (1...8).contains(digits.count), let count = FieldSyntax.parseDigits(digits) else { return nil }
        return unit.length * count
      case .milliseconds:
        guard (1...18).contains(value.utf8.count), let count = FieldSyntax.parseDigits(value) else { return nil }
        return .milliseconds(count)
      case .date:
        guard let date = HTTPDate(value, now: now)?.date else { return nil }
        let seconds = date.timeIntervalSince(now)
        return seconds.isFinite ? .seconds(min(max(seconds, 0), 1e9)) : nil
      }
    }

    private static let units: [(letter: UInt8, length: Duration)] = [
      (UInt8(ascii: "H"), .seconds(3600)), (UInt8(ascii: "M"), .seconds(60)), (UInt8(ascii: "S"), .seconds(1)),
      (UInt8(ascii: "m"), .milliseconds(1)), (UInt8(ascii: "u"), .microseconds(1)),
      (UInt8(ascii: "n"), .nanoseconds(1)),
    ]

    /// The value for the remaining time.
    func value(for remaining: Duration, now: Date) -> String {
      let milliseconds = max(remaining, .zero).inSeconds * 1000
      switch format {
      case .grpc:
        // Eight digits: milliseconds for a day, then seconds.
        return milliseconds < 1e8 ? "\(Int(milliseconds))m" : "\(Int(min(milliseconds / 1000, 99_999_999)))S"
      case .milliseconds: return "\(Int(min(milliseconds, 1e15)))"
      case .date:
        let seconds = (now.timeIntervalSince1970 + min(milliseconds / 1000, 1e9)).rounded(.down)
        return "\(HTTPDate(Date(timeIntervalSince1970: seconds)))"
      }
    }

    /// Whether the field is sent to an origin.
    func applies(to origin: Origin) -> Bool { parsed.contains(origin) }

    var problem: InvalidInput? {
      if let text = origins.last(where: { Self.origin($0) == nil }) {
        let text = InvalidInput.printable(text)
        return InvalidInput("'\(text)' in the deadline header is not an origin such as https://api.example")
      }
      do throws(InvalidInput) {
        var headers = HTTPHeaders()
        headers[name] = "1"
        try FieldRules.check(headers)
      } catch {
        return InvalidInput("the deadline header cannot be sent: \(error.message)")
      }
      guard margin >= .zero else { return InvalidInput("the deadline header's margin must not be negative") }
      return nil
    }

    private static func parse(_ origins: [String]) -> Set<Origin> { Set(origins.compactMap { origin($0) }) }

    private static func origin(_ text: String) -> Origin? {
      guard let url = try? AbsoluteURL.parse(text), url.user == nil else { return nil }
      return url.origin
    }
  }
}
