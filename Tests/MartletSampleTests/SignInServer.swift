import Foundation
import Martlet
import MartletTesting

/// A server that wants to know who asks, as a stub.
enum SignInServer {
  /// Answers 200 to a request with this value of `Authorization`, else 401.
  nonisolated static func accepting(_ value: String, challenge: String) -> StubTransport {
    StubTransport { request in
      request.headers["Authorization"] == value
        ? .text("in") : .status(.unauthorized, headers: ["WWW-Authenticate": challenge])
    }
  }

  /// The value of `Authorization` for Basic.
  nonisolated static func basic(_ user: String, _ password: String) -> String {
    "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
  }
}

extension StubTransport {
  /// The `Authorization` of each request.
  var sentAuthorizations: [String?] { requests.map { $0.headers["Authorization"] } }
}
