// OAuthClient API-URL SIGN-IN-URL
// Reads twenty invoices with a token that renews itself. CLIENT_ID and REFRESH_TOKEN are in the environment.
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
      // All twenty need the token, but it is fetched once.
      let invoices = try await client.all((1...20).map { GetInvoice(id: $0) }, limit: 6)
      for invoice in invoices { print(invoice.id, invoice.title, separator: "\t") }
    } catch let error as HTTPError where error.kind == .authenticationFailed {
      fail("sign in again: \(error.underlying.map { "\($0)" } ?? error.message)", code: 77)
    } catch let error as HTTPError where error.status == .unauthorized {
      fail("the new token was refused, too", code: 77)
    } catch let error as HTTPError {
      fail("\(error)", code: 1)
    }
  }

  static func makeClient(api: URL, signInURL: URL, clientID: String, refreshToken: String) -> HTTPClient {
    // A client of its own, without the token and without retries of a POST that uses up a refresh token.
    let signIn = HTTPClient {
      $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
      $0.cookies = .off
      $0.cache = .off
      $0.retry = .off
    }
    return HTTPClient {
      $0.baseURL = "\(api)"
      $0.retry = .backoff(attempts: 3)
      // There is no access token yet: one that has expired is renewed before the first request.
      $0.authenticators[.baseURL] = .oauth2(
        .token("none", refreshToken: refreshToken, expires: .distantPast)
      ) { old in
        let current = old?.refreshToken ?? refreshToken
        let new = try await signIn.post(
          RequestTarget(signInURL),
          body: .form(["grant_type": "refresh_token", "client_id": clientID, "refresh_token": current]),
          as: TokenAnswer.self)
        return .token(
          new.accessToken, refreshToken: new.refreshToken ?? current, expires: Date() + (new.expiresIn ?? 3600))
      }
    }
  }

  static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
