// OAuthClient API-URL SIGN-IN-URL
// Reads twenty invoices with a token that is renewed automatically. CLIENT_ID and REFRESH_TOKEN are in the environment.
import Foundation
import Martlet

struct TokenAnswer: Decodable, Sendable {
  var accessToken: String
  var refreshToken: String?
  var expiresIn: TimeInterval?
}

struct Invoice: Decodable, Sendable {
  var id: Int
  var title: String
}

struct GetInvoice: Endpoint {
  typealias Output = Invoice
  var id: Int
  var target: RequestTarget { "/invoices/\(id)" }
}

@main enum OAuthClient {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let environment = ProcessInfo.processInfo.environment
    guard arguments.count == 2, let api = URL(string: arguments[0]), let signInURL = URL(string: arguments[1]),
      let clientID = environment["CLIENT_ID"], let refreshToken = environment["REFRESH_TOKEN"]
    else {
      fail("usage: CLIENT_ID=… REFRESH_TOKEN=… OAuthClient API-URL SIGN-IN-URL", code: 64)
    }
    let client = makeClient(api: api, signInURL: signInURL, clientID: clientID, refreshToken: refreshToken)

    do {
      // All twenty need the token, but it is renewed once.
      let invoices = try await client.sendAll((1...20).map { GetInvoice(id: $0) }, limit: 6)
      for invoice in invoices { print(invoice.id, invoice.title, separator: "\t") }
    } catch let error as HTTPError where error.kind == .authenticationFailed {
      // Servers respond to an expired refresh token with 400, and to an unknown client with 401 (RFC 6749 §5.2).
      let cause = error.underlying as? HTTPError
      if cause?.status == .badRequest || cause?.status == .unauthorized {
        fail("the refresh token was refused, sign in again: \(cause ?? error)", code: 77)
      }
      fail("no new access token: \(cause ?? error)", code: 1)
    } catch let error as HTTPError where error.status == .unauthorized {
      fail("the API refuses the new access token", code: 77)
    } catch let error as HTTPError {
      fail("\(error)", code: 1)
    }
  }

  static func makeClient(api: URL, signInURL: URL, clientID: String, refreshToken: String) -> HTTPClient {
    // OAuth uses snake case, which the API's names need not.
    let signIn = HTTPClient { $0.decoder.keyDecodingStrategy = .convertFromSnakeCase }
    return HTTPClient {
      $0.baseURL = RequestTarget(api)
      $0.retry = .backoff(attempts: 3)
      // There is no access token yet: the first 401 requests one, and `old` is nil.
      $0.authenticators[.baseURL] = .oauth2 { old in
        let current = old?.refreshToken ?? refreshToken
        let new = try await signIn.post(
          RequestTarget(signInURL),
          body: .form(["grant_type": "refresh_token", "client_id": clientID, "refresh_token": current]),
          as: TokenAnswer.self)
        return .token(
          new.accessToken, refreshToken: new.refreshToken ?? current, expires: new.expiresIn.map { Date() + $0 })
      }
    }
  }

  static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
