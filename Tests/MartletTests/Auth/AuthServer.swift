import Foundation
import MartletTesting
import TestSupport

@testable import Martlet

/// A stub server that checks credentials with its own code.
enum AuthServer {
  /// Responds with 200 to a request with one of these values of `Authorization`, otherwise with 401.
  static func accepting(_ values: String..., challenge: String?) -> StubTransport {
    StubTransport { request in
      if let value = request.headers["Authorization"], values.contains(value) { return .text("in") }
      return refusal(challenge)
    }
  }

  static func refusal(_ challenges: String?...) -> StubResponse {
    var headers: HTTPHeaders = [:]
    for challenge in challenges.compactMap({ $0 }) { headers.append(challenge, for: "WWW-Authenticate") }
    return .status(.unauthorized, headers: headers, body: Data("who are you?".utf8))
  }

  /// The value of `Authorization` for Basic.
  static func basic(_ user: String, _ password: String) -> String {
    "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
  }

  /// Whether the field proves the password and its nonce count has not been used before.
  static func checkDigest(
    _ request: HTTPRequest, user: String, password: String, nonce: String, counts: Log<String>
  ) -> Bool {
    guard let field = request.headers["Authorization"], let sent = Challenge.parse([field]).first?.parameters,
      sent["username"] == user, sent["nonce"] == nonce, let count = sent["nc"], let clientNonce = sent["cnonce"],
      let url = request.url, sent["uri"] == url.path() + (url.query().map { "?\($0)" } ?? ""),
      !counts.elements.contains("\(nonce) \(count)")
    else { return false }
    counts.add("\(nonce) \(count)")
    let hash = DigestAlgorithm.sha256.hash
    let key = hash("\(user):\(sent["realm"] ?? ""):\(password)")
    let subject = hash("\(request.method.rawValue):\(sent["uri"] ?? "")")
    return sent["response"] == hash("\(key):\(nonce):\(count):\(clientNonce):auth:\(subject)")
  }

  static func digest(nonce: String, realm: String = "d", _ more: String = "") -> String {
    #"Digest realm="\#(realm)", nonce="\#(nonce)", qop="auth", algorithm=SHA-256\#(more)"#
  }
}

extension StubTransport {
  /// The `Authorization` value of each request.
  var authorizations: [String?] { requests.map { $0.headers["Authorization"] } }
}
