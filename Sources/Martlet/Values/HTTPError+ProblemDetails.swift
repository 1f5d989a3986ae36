import Foundation

extension HTTPError {
  /// What an API says of an error, in the standard format (RFC 9457).
  public struct ProblemDetails: Sendable, Hashable, Decodable {
    /// The URI of the type of problem; `about:blank` if the server names none.
    public var type = "about:blank"
    /// A short summary of the type, or `nil`.
    public var title: String?
    /// The status code that the server meant, or `nil`.
    public var status: Int?
    /// An explanation of this occurrence, or `nil`.
    public var detail: String?
    /// The URI of this occurrence, or `nil`.
    public var instance: String?
    /// All members, with those that the API adds.
    public var members: [String: JSONValue] = [:]

    /// Decodes problem details; a member of the wrong type is ignored, as the standard asks for (RFC 9457 §3.1).
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError` for what is no JSON object.
    public init(from decoder: any Decoder) throws {
      members = try decoder.singleValueContainer().decode([String: JSONValue].self)
      func text(_ name: String) -> String? { members[name]?.string }
      type = text("type") ?? type
      title = text("title")
      status = members["status"]?.int
      detail = text("detail")
      instance = text("instance")
    }
  }

  /// The problem details of the response, or `nil` if it has none.
  ///
  /// Read from a body of the type `application/problem+json` (RFC 9457). The texts are the server's: escape them
  /// before they are shown.
  public var problemDetails: ProblemDetails? {
    guard let response, response.contentType?.essence == "application/problem+json" else { return nil }
    return try? JSONDecoder().decode(ProblemDetails.self, from: response.body)
  }
}
