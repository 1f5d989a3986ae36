import MartletBase

extension HTTPError {
  /// The details of an API error in the standard format (RFC 9457).
  public struct ProblemDetails: Sendable, Hashable {
    /// The URI of the problem type as sent, possibly relative; `about:blank` if the server sends none.
    public var type: String
    /// A short summary of the type, or `nil`.
    public var title: String?
    /// The status code in the problem details, or `nil`.
    public var status: Int?
    /// An explanation of this occurrence, or `nil`.
    public var detail: String?
    /// The URI of this occurrence as sent, possibly relative, or `nil`.
    public var instance: String?
    /// All members, including the API's extension members.
    public var members: [String: JSONValue]

    /// Creates problem details from the members of an object, ignoring members of the wrong type (RFC 9457 §3.1).
    ///
    /// - Parameter members: The members.
    public init(members: [String: JSONValue]) {
      self.members = members
      type = members["type"]?.string ?? "about:blank"
      title = members["title"]?.string
      status = members["status"]?.int
      detail = members["detail"]?.string
      instance = members["instance"]?.string
    }
  }

  /// The problem details of the response, or `nil` if it has none.
  ///
  /// Parsed from a body of type `application/problem+json` (RFC 9457). The texts come from the server: escape them
  /// before you display them.
  public var problemDetails: ProblemDetails? {
    guard let response, response.contentType?.essence == "application/problem+json" else { return nil }
    return (try? JSONParser.value(of: response.body))?.object.map { ProblemDetails(members: $0) }
  }
}
