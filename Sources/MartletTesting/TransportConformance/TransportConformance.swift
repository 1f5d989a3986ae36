public import Martlet

/// The requirements for every transport, as a list of cases.
///
/// The cases work with any test library. Each case starts its own ``MockServer``, sends through an `HTTPClient` with
/// the transport, and checks what the server and the client received. A case ends within ``timeLimit``.
///
/// ```swift
/// @Test(arguments: TransportConformance.cases)
/// func `conforms`(_ conformance: TransportConformance.Case) async throws {
///   try await conformance.run { MyTransport() }
/// }
/// ```
public struct TransportConformance: Sendable {
  typealias Bench = ConformanceBench

  /// One requirement for a transport.
  public struct Case: Sendable, CustomStringConvertible {
    /// The unique name: a sentence without its subject, the transport.
    public let name: String

    /// Runs the case with the transport that a closure creates.
    ///
    /// The closure is called once. Throws ``ConformanceFailure`` if the transport violates the requirement,
    /// ``MockServerError`` if no server can be started, and `CancellationError` if its task is cancelled.
    public let run: @Sendable (_ makeTransport: @Sendable () -> any Transport) async throws -> Void

    /// Whether the case requires a transport that sends body streams.
    ///
    /// A transport that does not throws `unsupported` for them.
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

    /// A case in which a `GET` gets a response with this text.
    static func reads(
      _ name: String, _ text: String, from response: MockResponse, status: HTTPStatus? = nil
    ) -> Case {
      Case(name) { bench in
        let received = try await bench.answer(response)
        if let status { try bench.expect("the status", received.status, is: status) }
        try bench.expect("the body", received.text, is: text)
      }
    }

    /// A case in which a `GET` of each response ends with one of these kinds of errors.
    static func fails(_ name: String, _ kinds: HTTPError.Kind..., from responses: [MockResponse]) -> Case {
      Case(name) { bench in
        for response in responses { try bench.expectError(kinds, in: await bench.outcome(of: response)) }
      }
    }
  }

  /// The time limit of a case; a hanging transport fails after it.
  public static let timeLimit = Duration.seconds(30)

  /// All cases, in order.
  public static let cases: [Case] = [
    bodyCases, headCases, headerFieldCases, requestCases, uploadCases, bodyStreamCases, streamingCases,
    connectFailureCases, cutCases, framingCases, limitCases, connectionCases, abstinenceCases,
  ].flatMap { $0 }

  /// All cases except the excluded ones.
  ///
  /// - Parameter excluded: The reason for each exclusion, by the name of its case; for readers only. An unknown name
  ///   stops the program: an exclusion must not outlive its case.
  /// - Returns: The other cases, in order.
  public static func cases(excluding excluded: [String: String]) -> [Case] {
    let unknown = Set(excluded.keys).subtracting(cases.map(\.name)).sorted()
    precondition(unknown.isEmpty, "No conformance case has one of the names \(unknown).")
    return cases.filter { excluded[$0.name] == nil }
  }
}
