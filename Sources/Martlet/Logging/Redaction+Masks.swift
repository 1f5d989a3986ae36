public import MartletBase

/// The masks of logs, for instruments and other readers of requests and responses.
extension Redaction {
  /// A body with its secrets masked.
  @frozen public enum MaskedBody: Sendable, Hashable {
    /// Text, in the character set of the original.
    case text(Data)
    /// The bytes of the original.
    case bytes(Data)
  }

  /// Returns the URL of a request on one line, without user name, password and fragment, with secrets masked.
  ///
  /// - Parameter request: The request.
  /// - Returns: The masked URL.
  public func maskedURL(of request: HTTPRequest) -> String { url(of: request) }

  /// Returns the value of a header field, masked as a whole or in part.
  ///
  /// - Parameter field: The field.
  /// - Returns: The masked value, which may contain control characters of the original.
  public func maskedValue(of field: HTTPHeaders.Field) -> String { value(of: field) }

  /// Returns a text in which URLs, `name=value` pairs, JSON and markup are masked.
  ///
  /// - Parameter text: The text, such as a reason phrase or a message.
  /// - Returns: The masked text, which may contain control characters of the original.
  public func masked(_ text: String) -> String { self.text(text) }

  /// Returns a body, or its beginning, with its secrets masked.
  ///
  /// The result can be decoded like the original: masked numbers are 0, and structures are kept. Bytes are returned if
  /// they are an image, a font, audio or video, or if the redaction is ``revealingSecrets``.
  ///
  /// - Parameters:
  ///   - body: The body.
  ///   - contentType: The value of `Content-Type`, or `nil`.
  ///   - coding: The value of `Content-Encoding` if the body is still encoded, or `nil`.
  /// - Returns: The masked body; `nil` if it can contain secrets that are not found, and with ``hidesBodies``.
  public func maskedBody(_ body: Data, contentType: String?, coding: String? = nil) -> MaskedBody? {
    if hidesBodies { return nil }
    if BodyMask.isText(body, contentType: contentType, coding: coding) {
      return BodyMask.masked(body, contentType: contentType, self, keepsTypes: true).map { .text(Data($0)) }
    }
    let isMedia = coding == nil && contentType.flatMap { MediaType($0) }.map { Self.media.contains($0.type) } == true
    return revealsSecrets || isMedia ? .bytes(body) : nil
  }

  /// The types in which nothing can be masked, and which rarely contain secrets.
  private static let media: Set = ["image", "font", "audio", "video"]
}
