import Foundation

extension HTTPError {
  /// What an API says of an error, in the standard format (RFC 9457).
  public struct ProblemDetails: Sendable, Hashable {
    /// The URI of the type of problem, as sent, so perhaps relative; `about:blank` if the server names none.
    public var type: String
    /// A short summary of the type, or `nil`.
    public var title: String?
    /// The status code that the server meant, or `nil`.
    public var status: Int?
    /// An explanation of this occurrence, or `nil`.
    public var detail: String?
    /// The URI of this occurrence, as sent, so perhaps relative, or `nil`.
    public var instance: String?
    /// All members, with those that the API adds.
    public var members: [String: JSONValue]

    /// Reads the members of an object; those of the wrong type are ignored, as the standard asks for (RFC 9457 §3.1).
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
  /// Read from a body of the type `application/problem+json` (RFC 9457). The texts are the server's: escape them
  /// before they are shown.
  public var problemDetails: ProblemDetails? {
    guard let response, response.contentType?.essence == "application/problem+json" else { return nil }
    return (try? JSONParser.value(of: response.body))?.object.map { ProblemDetails(members: $0) }
  }
}
