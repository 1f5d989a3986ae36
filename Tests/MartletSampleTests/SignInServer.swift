import Foundation
import Martlet
import MartletTesting

/// A stubbed server that requires authentication.
enum SignInServer {
  /// Returns a stub that responds to this value of `Authorization` with 200, and otherwise with 401.
  nonisolated static func accepting(_ value: String, challenge: String) -> StubTransport {
    StubTransport { request in
      request.headers["Authorization"] == value
        ? .text("in") : .status(.unauthorized, headers: ["WWW-Authenticate": challenge])
    }
  }

  /// Returns the value of `Authorization` for Basic.
  nonisolated static func basic(_ user: String, _ password: String) -> String {
    "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
  }
}

extension StubTransport {
  /// The `Authorization` of each request.
  var sentAuthorizations: [String?] { requests.map { $0.headers["Authorization"] } }
}
