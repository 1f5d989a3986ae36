import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletOAuth

/// Responses of token endpoints that do what they please.
@Suite(.hangLimit) struct ServerResponseTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private static func response(
    _ body: String, _ status: HTTPStatus = .ok, _ headers: HTTPHeaders = ["Content-Type": "application/json"]
  ) -> HTTPResponse {
    HTTPResponse(status: status, headers: headers, body: Data(body.utf8))
  }

  private static func token(_ body: String, isProven: Bool = false) throws -> OAuthToken {
    try ServerResponse(response(body), from: "token endpoint", hiding: ["s3cret-1"]).token(isProven: isProven, at: now)
  }

  @Test func `reads a token`() throws {
    let token = try Self.token(
      #"{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r","scope":"x y","id_token":"i"}"#)

    #expect(token.accessToken == "a" && token.kind == .bearer && token.refreshToken == "r" && token.scope == "x y")
    #expect(token.expires == Self.now + 3600 && token.idToken == "i")
    #expect(try Self.token(#"{"access_token":"a","token_type":"dpop"}"#, isProven: true).kind == .dpop)
  }

  @Test(
    arguments: [
      ("", nil), (#","expires_in":null"#, nil), (#","expires_in":0"#, 0), (#","expires_in":3599.9"#, 3599),
      (#","expires_in":"3600""#, 3600), (#","expires_in":1e300"#, 1_000_000_000),
      (#","expires_in":99999999999999999999999"#, 1_000_000_000), (#","expires_in":-0"#, 0),
    ] as [(String, Double?)]) func `reads lifetimes that servers send`(member: String, seconds: Double?) throws
  {
    let token = try Self.token(#"{"access_token":"a","token_type":"Bearer"\#(member)}"#)

    #expect(token.expires == seconds.map { Self.now + $0 })
  }

  @Test(arguments: [
    (#"{"token_type":"Bearer"}"#, "access_token is missing"),
    (#"{"access_token":7,"token_type":"Bearer"}"#, "access_token is not a string"),
    (#"{"access_token":"","token_type":"Bearer"}"#, "access_token is empty"),
    (#"{"access_token":"a b","token_type":"Bearer"}"#, "access_token contains characters that cannot be sent"),
    (#"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#, "access_token contains characters that cannot be sent"),
    (#"{"access_token":"ä","token_type":"Bearer"}"#, "access_token contains characters that cannot be sent"),
    (#"{"access_token":"a"}"#, "token_type is missing"),
    (#"{"access_token":"a","token_type":"mac"}"#, "token_type is 'mac', but Bearer was requested"),
    (#"{"access_token":"a","token_type":"DPoP"}"#, "token_type is 'DPoP', but Bearer was requested"),
    (#"{"access_token":"a","token_type":"Bearer","expires_in":-1}"#, "is not a number of seconds from 0 up"),
    (#"{"access_token":"a","token_type":"Bearer","expires_in":"soon"}"#, "is not a number of seconds from 0 up"),
    (#"{"access_token":"a","token_type":"Bearer","expires_in":""}"#, "is not a number of seconds from 0 up"),
    (#"{"access_token":"a","token_type":"Bearer","expires_in":true}"#, "is not a number of seconds from 0 up"),
    (#"{"access_token":"a","token_type":"Bearer","refresh_token":""}"#, "refresh_token is empty"),
    (#"{"access_token":"a","token_type":"Bearer","refresh_token":[]}"#, "refresh_token is not a string"),
    (#"["access_token"]"#, "instead of a JSON object"), (#"{"access_token":"a""#, "instead of a JSON object"),
    ("", "instead of a JSON object"), ("<html>Sign in</html>", "instead of a JSON object"),
  ]) func `refuses a response that is not a token`(body: String, message: String) {
    let error = #expect(throws: HTTPError.self) { try Self.token(body) }

    #expect(error?.kind == .decoding && error?.message.contains(message) == true, "\(String(describing: error))")
  }

  @Test func `refuses a bearer token in place of a bound one, and a token that is too long`() {
    let long = String(repeating: "a", count: ServerResponse.longestToken + 1)

    #expect(throws: HTTPError.self) { try Self.token(#"{"access_token":"a","token_type":"Bearer"}"#, isProven: true) }
    #expect(throws: HTTPError.self) { try Self.token(#"{"access_token":"\#(long)","token_type":"Bearer"}"#) }
  }

  @Test(arguments: [400, 401, 403, 500, 200] as [HTTPStatus])
  func `reports an error of the server, escaped and without secrets`(status: HTTPStatus) {
    let body =
      #"{"error":"invalid_grant","error_description":"no \u001b[31m s3cret-12, s3cret-1\n","error_uri":"https://a/?s3cret-1"}"#

    let error = #expect(throws: HTTPError.self) {
      try ServerResponse(Self.response(body, status), from: "token endpoint", hiding: ["s3cret-1", "s3", "s3cret-12"])
    }

    #expect(error?.kind == .authenticationFailed && error?.oauthError?.code == .invalidGrant)
    #expect(error?.oauthError?.uri == "https://a/?***")
    let text = "\(error.map { "\($0)" } ?? "")"
    #expect(text.contains("the token endpoint refused: invalid_grant (no "))
    #expect(!text.contains("s3cret") && !text.contains("\u{1B}") && !text.contains("\n"))
  }

  @Test func `hides a secret before a combining mark`() {
    let shown = OAuthError.hiding(["s3cret-12"], in: "no s3cret-12\u{301}, s3cret-1")

    #expect(Array(shown.utf8) == Array("no ***\u{301}, s3cret-1".utf8))
  }

  @Test func `reports a status without an OAuth error, and a redirect`() {
    let redirect = Self.response("", 302, ["Location": "https://evil.test/?code=s3cret"])

    let failure = #expect(throws: HTTPError.self) {
      try ServerResponse(Self.response("<h1>Bad Gateway</h1>", 502), from: "token endpoint", hiding: [])
    }
    let refusal = #expect(throws: HTTPError.self) { try ServerResponse(redirect, from: "token endpoint", hiding: []) }

    #expect(failure?.kind == .status && failure?.isTransient == true)
    #expect(refusal?.kind == .redirectRefused && refusal?.message.contains("https://evil.test") == true)
    #expect(refusal?.message.contains("s3cret") == false)
  }

  @Test func `reads the device code of RFC 8628 §3.2`() throws {
    let body = """
      {"device_code":"GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS","user_code":"WDJB-MJHT",
      "verification_uri":"https://example.com/device",
      "verification_uri_complete":"https://example.com/device?user_code=WDJB-MJHT","expires_in":1800,"interval":5}
      """

    let code = try ServerResponse(Self.response(body), from: "device endpoint", hiding: []).deviceCode(at: Self.now)

    #expect(code.userCode == "WDJB-MJHT" && code.verificationURI == "https://example.com/device")
    #expect(code.expires == Self.now + 1800 && code.interval == 5)
    #expect("\(code)" == "DeviceCode(https://example.com/device)")
  }

  @Test(arguments: [
    #"{"user_code":"u","verification_uri":"v","expires_in":1}"#,
    #"{"device_code":"d","verification_uri":"v","expires_in":1}"#,
    #"{"device_code":"d","user_code":"u","expires_in":1}"#,
    #"{"device_code":"d","user_code":"u","verification_uri":"v"}"#,
    #"{"device_code":"d","user_code":"u","verification_uri":"v","expires_in":1,"interval":-5}"#,
  ]) func `refuses a device code that is not whole`(body: String) {
    let error = #expect(throws: HTTPError.self) {
      try ServerResponse(Self.response(body), from: "device endpoint", hiding: []).deviceCode(at: Self.now)
    }

    #expect(error?.kind == .decoding)
  }
}
