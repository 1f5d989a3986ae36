public import Martlet
public import MartletBase

extension OAuthClient {
  /// A device code, which the user confirms on another device (RFC 8628 §3.2).
  public struct DeviceCode: Sendable, Hashable {
    /// The code that the user enters.
    public let userCode: String
    /// The URL that the user opens.
    public let verificationURI: String
    /// The URL that contains the code, such as for a QR code, or `nil`.
    public let completeURI: String?
    /// The expiration date of the code.
    public let expires: Date

    /// The secret with which the token is requested.
    let secret: String
    let interval: Int
  }

  /// Requests a device code, for programs without a browser (RFC 8628).
  ///
  /// ```swift
  /// let code = try await oauth.deviceCode(scope: "read")
  /// print("Open \(code.verificationURI) and enter \(code.userCode)")
  /// let token = try await oauth.token(for: code)
  /// ```
  ///
  /// - Parameters:
  ///   - scope: The scopes, separated by spaces; `nil` for the server's default.
  ///   - parameters: Further parameters of the request.
  /// - Returns: The device code.
  /// - Throws: The errors of ``clientCredentials(scope:parameters:)``.
  public func deviceCode(scope: String? = nil, parameters: Query = [:]) async throws -> DeviceCode {
    let url = try endpoint(server.deviceEndpoint, "deviceEndpoint")
    let response = try await post([("scope", scope)], parameters, to: url)
    return try response.deviceCode(at: client.configuration.now())
  }

  /// Waits until the user has confirmed a device code.
  ///
  /// It polls at the server's interval, until the code expires, the task is cancelled, or the task's `Deadline` passes.
  /// Transient errors, such as timeouts, lost connections, a 503 and `temporarily_unavailable`, double the interval.
  ///
  /// - Parameter code: The device code.
  /// - Returns: The token.
  /// - Throws: `HTTPError`: `authenticationFailed` if the code expires, or with an ``OAuthError`` if the user refuses;
  ///   `timedOut` at the task's deadline; and the errors of ``clientCredentials(scope:parameters:)``.
  ///   `CancellationError`.
  public func token(for code: DeviceCode) async throws -> OAuthToken {
    let timeline = Timeline(client.configuration.clock)
    let rest = max(code.expires.timeIntervalSince(client.configuration.now()), 0)
    var polling = DevicePolling(every: code.interval, until: timeline.now() + .seconds(rest))
    while let time = polling.next(after: timeline.now()) {
      if let deadline = Deadline.current, deadline.remaining < time - timeline.now() {
        try await timeline.pause(deadline.remaining)
        throw HTTPError(.timedOut, "the \(deadline) passed before the user confirmed the device code")
      }
      try await timeline.pauseUntil(time)
      do {
        return try await token(
          [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code.secret)], [:])
      } catch let error as HTTPError {
        guard polling.continues(after: error) else { throw error }
      }
    }
    throw DevicePolling.expired
  }
}

extension OAuthClient.DeviceCode: CustomStringConvertible, CustomReflectable {
  /// The URL that the user opens, without the codes.
  public var description: String { "DeviceCode(\(Printable.text(verificationURI)))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ServerResponse {
  /// The device code of a response (RFC 8628 §3.2).
  func deviceCode(at now: Date) throws(HTTPError) -> OAuthClient.DeviceCode {
    func required(_ name: String) throws(HTTPError) -> String {
      guard let text = try text(name), !text.isEmpty else { throw malformed(name, "is missing") }
      return text
    }
    guard let lifetime = try seconds("expires_in") else { throw malformed("expires_in", "is missing") }
    // Google calls it `verification_url`.
    let address = try required(members["verification_uri"] == nil ? "verification_url" : "verification_uri")
    return OAuthClient.DeviceCode(
      userCode: Printable.text(try required("user_code")),
      verificationURI: Printable.text(address, limit: 2000),
      completeURI: try text("verification_uri_complete").map { Printable.text($0, limit: 2000) },
      expires: now + TimeInterval(lifetime), secret: try required("device_code"),
      interval: try seconds("interval") ?? DevicePolling.usualInterval)
  }
}
