/// The trace that a task belongs to (W3C Trace Context), which its requests pass on.
///
/// ```swift
/// let trace = TraceContext(traceparent: incoming["traceparent"] ?? "", tracestate: incoming["tracestate"])
/// let report = try await TraceContext.$current.withValue(trace) {
///   try await client.get("/report").text
/// }
/// ```
///
/// The exchanges of a request that begins in a task with a context have its `traceparent` and `tracestate` fields, also
/// after a redirect to another origin, unless they have a `traceparent` already. An ``Instrument`` that makes spans adds
/// that of its span: a child of ``InstrumentEvent/Call/trace``. The fields do not affect the cache. An `Outbox` passes
/// on no trace.
public struct TraceContext: Sendable, Hashable {
  /// The context of the current task.
  @TaskLocal public static var current: TraceContext?

  /// The version, trace, parent and flags: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
  public let traceparent: String
  /// The state of the vendors, or `nil`.
  public let tracestate: String?

  /// Creates a context from the fields of a request; `nil` if `traceparent` is not valid.
  ///
  /// - Parameters:
  ///   - traceparent: The value of `traceparent`.
  ///   - tracestate: The value of `tracestate`; one that cannot be in a header field, or is longer than 512 bytes, is
  ///     left out.
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

  /// Adds the fields to an exchange that has no `traceparent` of its own.
  func pass(to headers: inout HTTPHeaders) {
    guard !headers.contains("traceparent") else { return }
    headers["traceparent"] = traceparent
    if let tracestate { headers["tracestate"] = tracestate }
  }
}
