public import Martlet

/// What every transport has to do, as a list of cases that any test library can run.
///
/// Each case starts a ``MockServer`` of its own, sends through an `HTTPClient` with the transport, and checks what
/// the server saw and what the client got. A case ends within ``timeLimit``.
///
/// ```swift
/// @Test(arguments: TransportConformance.cases)
/// func `conforms`(_ conformance: TransportConformance.Case) async throws {
///   try await conformance.run { MyTransport() }
/// }
/// ```
public struct TransportConformance: Sendable {
  /// One thing a transport has to do.
  public struct Case: Sendable, CustomStringConvertible {
    /// A sentence without its subject, the transport; no two cases have the same.
    public let name: String

    /// Runs the case with a transport made by the closure, which is called once.
    ///
    /// It throws ``ConformanceFailure`` for what the transport does wrong, ``MockServerError`` if no server can be
    /// started, and `CancellationError` if its task is cancelled.
    public let run: @Sendable (_ makeTransport: @Sendable () -> any Transport) async throws -> Void

    /// Whether only a transport that sends body streams can pass; one that does not throws `unsupported` for them.
    public internal(set) var needsBodyStreams = false

    /// The name.
    public var description: String { name }

    init(_ name: String, _ body: @escaping @Sendable (ConformanceBench) async throws -> Void) {
      self.name = name
      run = { makeTransport in
        let bench = ConformanceBench(name: name, transport: makeTransport())
        try await bench.run(body)
      }
    }
  }

  /// The longest a case takes; a transport that hangs fails after it.
  public static let timeLimit = Duration.seconds(30)

  /// All cases, in order.
  public static let cases: [Case] = [
    bodyCases, headCases, headerFieldCases, requestCases, uploadCases, bodyStreamCases, streamingCases,
    connectFailureCases,
    cutCases, framingCases, limitCases, connectionCases, abstinenceCases,
  ].flatMap { $0 }

  /// The cases but for some.
  ///
  /// - Parameter excluded: For the name of each case left out the reason, which is there to be read. A name that no
  ///   case has stops the program: an exclusion must not outlive its case.
  /// - Returns: The other cases, in order.
  public static func cases(excluding excluded: [String: String]) -> [Case] {
    let unknown = Set(excluded.keys).subtracting(cases.map(\.name)).sorted()
    precondition(unknown.isEmpty, "No conformance case has one of the names \(unknown).")
    return cases.filter { excluded[$0.name] == nil }
  }
}
