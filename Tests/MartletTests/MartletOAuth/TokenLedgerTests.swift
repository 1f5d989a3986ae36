import Foundation
import Martlet
import Testing

@testable import MartletOAuth

@Suite(.hangLimit) struct TokenLedgerTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private static func token(_ access: String, _ refresh: String? = "r", expiresIn seconds: Double? = nil) -> OAuthToken
  {
    OAuthToken(accessToken: access, refreshToken: refresh, expires: seconds.map { now + $0 })
  }

  private static func refusal(_ code: String, _ status: HTTPStatus = .badRequest) -> HTTPError {
    let error = OAuthError(code, description: nil, uri: nil, hiding: [])
    return error?.failure(from: "token endpoint", HTTPResponse(status: status)) ?? HTTPError(.decoding, "no code")
  }

  @Test(
    arguments: [
      (nil, nil, .obtain), (token("a"), nil, .use(token("a"))), (token("a"), "b", .use(token("a"))),
      (token("a"), "a", .refresh(token("a"))), (token("a", nil), "a", .obtain),
      (token("a", nil), "b", .use(token("a", nil))),
      (token("a", expiresIn: 11), nil, .use(token("a", expiresIn: 11))),
      (token("a", expiresIn: 10), nil, .refresh(token("a", expiresIn: 10))),
      (token("a", nil, expiresIn: -1), nil, .obtain),
    ] as [(OAuthToken?, String?, TokenLedger.Step)])
  func `decides what to do with a token`(token: OAuthToken?, rejected: String?, step: TokenLedger.Step) {
    #expect(TokenLedger(token).step(after: rejected, at: Self.now) == step)
  }

  @Test func `saves a token before anything else, until it is saved`() {
    var ledger = TokenLedger()
    ledger.adopt(Self.token("a"))
    let new = Self.token("b", "s", expiresIn: 0)

    ledger.received(new, needsSaving: true)
    #expect(ledger.step(after: "a", at: Self.now) == .save(new))
    let hasAdopted = ledger.adopt(Self.token("a"))
    #expect(!hasAdopted)
    #expect(ledger.step(after: "b", at: Self.now) == .save(new))
    ledger.saved(Self.token("a"))
    #expect(ledger.isUnsaved)
    ledger.saved(new)
    #expect(ledger.step(after: "b", at: Self.now) == .refresh(new))
  }

  @Test(arguments: [(token("a"), token("b"), true), (token("b"), token("b"), false), (token("c"), token("c"), false)])
  func `keeps an unsaved token until the store contains another one`(
    stored: OAuthToken, token: OAuthToken, isUnsaved: Bool
  ) {
    var ledger = TokenLedger()
    ledger.adopt(Self.token("a"))
    ledger.received(Self.token("b"), needsSaving: true)

    ledger.adopt(stored)

    #expect(ledger.token == token && ledger.isUnsaved == isUnsaved)
  }

  @Test func `remembers which refresh token was refused, until another token is received`() {
    var ledger = TokenLedger(Self.token("a"))
    _ = ledger.failed("r", HTTPError(.connectionLost, "x"))
    #expect(ledger.refusal(of: Self.token("a")) == nil)
    _ = ledger.failed("r", Self.refusal("invalid_grant"))

    #expect(ledger.refusal(of: Self.token("a"))?.oauthError?.followsLostResponse == true)
    #expect(ledger.refusal(of: Self.token("a", "s")) == nil)
    ledger.received(Self.token("b"), needsSaving: false)
    #expect(ledger.refusal(of: Self.token("b")) == nil)
  }

  @Test func `takes the token of another process`() {
    var ledger = TokenLedger(Self.token("a"))

    let results = [nil, Self.token("a"), Self.token("b")].map { ledger.adopt($0) }

    #expect(results == [false, false, true] && ledger.token == Self.token("b"))
  }

  /// The error of an earlier refresh, and whether a refusal of the same refresh token is a consequence.
  @Test(arguments: [
    (HTTPError(.connectionLost, "x"), true), (HTTPError(.timedOut, "x"), true), (HTTPError(.decoding, "x"), true),
    (HTTPError(.bodyTooLarge, "x"), true), (HTTPError(.cannotConnect, "x"), false),
    (HTTPError(.unsupported, "x"), false), (HTTPError(.timedOut, "x", phase: .queued), false),
    (refusal("temporarily_unavailable", 503), true), (refusal("invalid_client", 401), false),
    (refusal("invalid_grant"), false),
  ]) func `tells a lost response from the misuse of a token`(error: HTTPError, isLost: Bool) {
    var ledger = TokenLedger(Self.token("a"))
    _ = ledger.failed("r", error)

    let other = ledger.failed("other", Self.refusal("invalid_grant")) as? HTTPError
    let same = ledger.failed("r", Self.refusal("invalid_grant")) as? HTTPError

    #expect(other?.oauthError?.followsLostResponse == false)
    #expect(same?.oauthError?.followsLostResponse == isLost)
    #expect(same?.message.contains("was lost") == isLost && same?.status == .badRequest)
  }

  @Test func `counts a cancelled refresh as lost, and forgets it after a success`() {
    var ledger = TokenLedger(Self.token("a"))
    _ = ledger.failed("r", CancellationError())
    var later = ledger
    later.received(Self.token("b"), needsSaving: false)

    let lost = ledger.failed("r", Self.refusal("invalid_grant")) as? HTTPError
    let fresh = later.failed("r", Self.refusal("invalid_grant")) as? HTTPError

    #expect(lost?.oauthError?.followsLostResponse == true && fresh?.oauthError?.followsLostResponse == false)
  }
}
