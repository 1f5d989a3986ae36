import Martlet
import MartletBase

extension OAuthClient {
  /// The maximum number of bytes of a response.
  static let maximumBodyBytes = 512 << 10
  /// The lifetime of an assertion.
  static let assertionSeconds = 60

  /// Parses an endpoint, which credentials are sent to.
  func endpoint(_ text: String?, _ name: String) throws -> AbsoluteURL {
    guard let text else { throw HTTPError(.invalidRequest, "the server's \(name) is not set") }
    do {
      let url = try AbsoluteURL.parse(text)
      guard url.isSecure || Self.isLoopback(url.host) else {
        throw InvalidInput("http would show the credentials to the network: use https")
      }
      guard url.fragment == nil, url.user == nil, url.password == nil else {
        throw InvalidInput("remove its fragment or user name")
      }
      return url
    } catch let problem as InvalidInput {
      throw HTTPError(.invalidRequest, "\(name) '\(Printable.text(URLText.origin(text)))': \(problem.message)")
    }
  }

  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// Sends a form, and reads the JSON object of the response.
  func post(_ parameters: [(String, String?)], _ others: Query, to url: AbsoluteURL) async throws -> ServerResponse {
    let place = url.string == server.deviceEndpoint ? "device endpoint" : "token endpoint"
    let issuer = OAuthProof.Issuer(kind: .authorization, origin: url.origin)
    var nonce = dpop?.nonce(of: issuer)
    var isRepeated = false
    while true {
      let (request, secrets) = try request(parameters, others, to: url, nonce: nonce)
      let response = try await client.send(
        request,
        options: .redirects(.off).retry(.off).hedging(.off).cookies(.off).accepts(.any)
          .maximumBodyBytes(Self.maximumBodyBytes))
      let renewed = dpop?.take(response.headers, from: issuer)
      do {
        return try ServerResponse(response, from: place, hiding: secrets)
      } catch {
        // The proof of the first request could not contain the nonce (RFC 9449 §8).
        guard error.oauthError?.code == .useDPoPNonce, !isRepeated, let renewed else { throw error }
        (nonce, isRepeated) = (renewed, true)
      }
    }
  }

  /// A request with the client's authentication, and the secrets that it contains.
  func request(
    _ parameters: [(String, String?)], _ others: Query, to url: AbsoluteURL, nonce: String?
  ) throws -> (HTTPRequest, secrets: [String]) {
    var items = parameters.compactMap { name, value in value.map { Query.Item(name: name, value: $0) } }
    try Self.add(others, to: &items)
    var request = HTTPRequest.post(RequestTarget(text: url.string), headers: ["Accept": "application/json"])
    var secrets = items.filter { Self.secretNames.contains($0.name) }.compactMap(\.value)
    switch authentication.method {
    case .none: items.append(.init(name: "client_id", value: clientID))
    case .basic(let secret):
      let credentials = Self.basic(clientID, secret)
      request.headers["Authorization"] = "Basic \(credentials)"
      secrets += [secret, credentials]
    case .post(let secret):
      items += [.init(name: "client_id", value: clientID), .init(name: "client_secret", value: secret)]
      secrets.append(secret)
    case .assertion(let key, let audience):
      let assertion = try assertion(key, for: audience ?? server.issuer ?? server.tokenEndpoint)
      items += [
        .init(name: "client_id", value: clientID),
        .init(name: "client_assertion_type", value: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        .init(name: "client_assertion", value: assertion),
      ]
      secrets.append(assertion)
    }
    request.body = .form(Query(items: items))
    if let dpop {
      request.headers["DPoP"] = try dpop.proof("POST", url, nonce: nonce, at: client.configuration.now())
    }
    // A server may quote a parameter as it was sent.
    return (request, secrets + secrets.map(Self.encoded))
  }

  /// The parameters whose values are secret.
  private static let secretNames: Set<String> = ["code", "code_verifier", "refresh_token", "device_code"]

  /// Adds the caller's parameters, which must not replace others.
  static func add(_ others: Query, to items: inout [Query.Item]) throws {
    let reserved = Set(items.map(\.name)).union([
      "client_id", "client_secret", "client_assertion", "client_assertion_type", "redirect_uri",
    ])
    for item in others.items {
      guard !reserved.contains(item.name) else {
        throw HTTPError(
          .invalidRequest, "the parameter '\(Printable.text(item.name))' is set by the client: remove it")
      }
      items.append(item)
    }
  }

  /// The credentials of HTTP Basic, whose parts are encoded like a form first (RFC 6749 §2.3.1).
  static func basic(_ clientID: String, _ secret: String) -> String {
    Data("\(encoded(clientID)):\(encoded(secret))".utf8).base64EncodedString()
  }

  /// A value as in a form.
  private static func encoded(_ value: String) -> String {
    String(Query(items: [.init(name: "", value: value)]).encoded.dropFirst())
  }

  /// The client's assertion (RFC 7523 §3).
  private func assertion(_ key: OAuthKey, for audience: String) throws -> String {
    let now = Int(client.configuration.now().timeIntervalSince1970)
    let claims: JSONValue = [
      "iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience),
      "iat": .integer(now), "exp": .integer(now + Self.assertionSeconds), "jti": .string(Base64URL.random(16)),
    ]
    return try key.token(claims, type: "JWT", header: key.keyID.map { ["kid": .string($0)] } ?? [:])
  }
}

/// Parts of URLs that need not be http URLs, such as `com.example.app:/signed-in`.
enum URLText {
  /// The text before the query and the fragment.
  static func base(_ text: String) -> Substring { text.prefix { $0 != "?" && $0 != "#" } }

  /// The query, without the fragment.
  static func query(_ text: String) -> Substring {
    text.prefix { $0 != "#" }.drop { $0 != "?" }.dropFirst()
  }

  /// The text before the path without a user name and password, for errors.
  static func origin(_ text: String) -> String {
    let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
    let authority = text[start...].prefix { !"/?#".contains($0) }
    let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    return "\(text[..<start])\(host)"
  }
}
