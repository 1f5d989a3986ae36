import Martlet
import MartletBase

/// Reads responses of an authorization server, which may be anything.
struct ServerResponse {
  /// The longest lifetime, about 31 years; longer ones are shortened to it.
  static let longestLifetime = 1_000_000_000
  /// The maximum number of characters of a token.
  static let longestToken = 128 << 10

  let members: [String: JSONValue]
  let place: String

  /// Reads the JSON object of a successful response, or throws the server's error.
  ///
  /// - Parameters:
  ///   - response: The response, of any status.
  ///   - place: The name of the endpoint, for errors.
  ///   - secrets: The secrets of the request, which the server may quote.
  /// - Throws: The server's error, or a description of a response that is not an object.
  init(_ response: HTTPResponse, from place: String, hiding secrets: [String]) throws(HTTPError) {
    self.place = place
    let status = response.status.rawValue
    if 300..<400 ~= status { throw Self.redirect(response, place) }
    let json = try? response.json(JSONValue.self, decoder: JSONDecoder())
    guard 200..<300 ~= status else {
      if let error = OAuthError(
        json?["error"].string, description: json?["error_description"].string, uri: json?["error_uri"].string,
        hiding: secrets)
      {
        throw error.failure(from: place, response)
      }
      var error = HTTPError(.status, "the \(place) responded with \(status), without an OAuth error")
      error.response = response
      throw error
    }
    guard let object = json?.object else {
      let type = response.headers["Content-Type"].map { Printable.text($0) } ?? "no type"
      throw HTTPError(.decoding, "the \(place) responded with \(status) and \(type) instead of a JSON object")
    }
    // Some servers report errors with 200.
    if let error = OAuthError(
      object["error"]?.string, description: object["error_description"]?.string, uri: object["error_uri"]?.string,
      hiding: secrets)
    {
      throw error.failure(from: place)
    }
    members = object
  }

  private static func redirect(_ response: HTTPResponse, _ place: String) -> HTTPError {
    let target = response.headers["Location"].flatMap { try? AbsoluteURL.parse($0).origin.description }
    let name = target.map { " to \($0)" } ?? ""
    return HTTPError(
      .redirectRefused, "the \(place) redirects\(name); credentials are not sent there: set its URL directly")
  }

  func malformed(_ name: String, _ rule: String) -> HTTPError {
    HTTPError(.decoding, "the \(place)'s \(name) \(rule)")
  }

  /// A member that is a text; `nil` if it is absent or null.
  func text(_ name: String) throws(HTTPError) -> String? {
    switch members[name] {
    case nil, .null?: return nil
    case .string(let text)?: return text
    case _?: throw malformed(name, "is not a string")
    }
  }

  /// A token: printable ASCII (RFC 6749 §A.12, §A.17).
  private func token(_ name: String, allowsSpace: Bool) throws(HTTPError) -> String? {
    guard let text = try text(name) else { return nil }
    guard !text.isEmpty else { throw malformed(name, "is empty") }
    guard text.utf8.count <= Self.longestToken else {
      throw malformed(name, "has \(text.utf8.count) octets; at most \(Self.longestToken) are accepted")
    }
    guard text.utf8.allSatisfy({ (allowsSpace ? 0x20 : 0x21)...0x7E ~= $0 }) else {
      throw malformed(name, "contains characters that cannot be sent")
    }
    return text
  }

  /// A number of seconds, rounded down; `nil` if it is absent or null.
  ///
  /// Several servers send a string of digits, or a fraction.
  func seconds(_ name: String) throws(HTTPError) -> Int? {
    let value = members[name] ?? .null
    let number: Double?
    switch value {
    case .null: return nil
    case .string(let text):
      number = !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Double(text) : nil
    default: number = value.double
    }
    guard let number, number >= 0 else { throw malformed(name, "is not a number of seconds from 0 up") }
    return Int(min(number, Double(Self.longestLifetime)))
  }

  /// The token that was requested.
  ///
  /// - Parameters:
  ///   - isProven: Whether a DPoP token was requested.
  ///   - now: The date of the response.
  /// - Returns: The token.
  /// - Throws: A description of the malformed member.
  func token(isProven: Bool, at now: Date) throws(HTTPError) -> OAuthToken {
    guard let access = try token("access_token", allowsSpace: false) else {
      throw malformed("access_token", "is missing")
    }
    guard let type = try text("token_type") else { throw malformed("token_type", "is missing") }
    let kind = isProven ? OAuthToken.Kind.dpop : .bearer
    guard type.lowercased() == kind.rawValue.lowercased() else {
      throw malformed("token_type", "is '\(Printable.text(type, limit: 40))', but \(kind.rawValue) was requested")
    }
    var token = OAuthToken(accessToken: access, kind: kind)
    token.refreshToken = try self.token("refresh_token", allowsSpace: true)
    token.expires = try seconds("expires_in").map { now + TimeInterval($0) }
    token.scope = try text("scope")
    token.idToken = try text("id_token")
    return token
  }
}
