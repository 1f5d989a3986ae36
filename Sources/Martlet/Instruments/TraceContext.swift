/// The trace of a task, which its requests propagate (W3C Trace Context).
///
/// ```swift
/// let trace = TraceContext(traceparent: incoming["traceparent"] ?? "", tracestate: incoming["tracestate"])
/// let report = try await TraceContext.$current.withValue(trace) {
///   try await client.get("/report").text
/// }
/// ```
///
/// If a request begins in a task with a context, its exchanges contain the `traceparent` and `tracestate` fields, even
/// after a redirect to another origin, unless they already contain a `traceparent`. An ``Instrument`` that creates
/// spans adds the `traceparent` of its span, a child of ``InstrumentEvent/Call/trace``. The fields do not affect the
/// cache. An `Outbox` does not propagate a trace.
public struct TraceContext: Sendable, Hashable {
  /// The context of the current task.
  @TaskLocal public static var current: TraceContext?

  /// The version, trace, parent and flags: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
  public let traceparent: String
  /// The vendors' state, or `nil`.
  public let tracestate: String?

  /// Creates a context from the fields of a request; `nil` if `traceparent` is not valid.
  ///
  /// - Parameters:
  ///   - traceparent: The value of `traceparent`.
  ///   - tracestate: The value of `tracestate`; omitted if it is not valid in a header field, or longer than 512 bytes.
  public init?(traceparent: String, tracestate: String? = nil) {
    let parts = traceparent.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count >= 4, parts.count == 4 || parts[0].elementsEqual("00".utf8) == false,
      parts.prefix(4).map(\.count) == [2, 32, 16, 2], traceparent.utf8.count <= 512,
      parts.prefix(4).allSatisfy({ $0.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 } }),
      !parts[0].elementsEqual("ff".utf8), parts[1].contains(where: { $0 != 0x30 }),
      parts[2].contains(where: { $0 != 0x30 }), traceparent.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { return nil }
    self.traceparent = traceparent
    let isUsable = tracestate.map { $0.utf8.count <= 512 && $0.utf8.allSatisfy { 0x20...0x7E ~= $0 } } ?? false
    self.tracestate = isUsable ? tracestate : nil
  }

  /// Adds the fields to an exchange, unless it already contains a `traceparent`.
  func pass(to headers: inout HTTPHeaders) {
    guard !headers.contains("traceparent") else { return }
    headers["traceparent"] = traceparent
    if let tracestate { headers["tracestate"] = tracestate }
  }
}
