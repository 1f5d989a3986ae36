import Martlet
import MartletBase

extension SigV4 {
  /// The keys that sign requests.
  ///
  /// `description` and `dump` do not reveal them.
  public struct Credentials: Sendable, Hashable {
    /// The identifier of the access key, which signatures contain.
    public var accessKeyID: String

    /// The secret access key, which is never sent.
    public var secretAccessKey: String

    /// The session token of temporary credentials, as from STS; `nil` for permanent ones.
    public var sessionToken: String?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessKeyID: The identifier of the access key.
    ///   - secretAccessKey: The secret access key.
    ///   - sessionToken: The session token of temporary credentials.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
      self.accessKeyID = accessKeyID
      self.secretAccessKey = secretAccessKey
      self.sessionToken = sessionToken
    }

    /// The problem with the credentials, if any, without their values.
    var problem: String? {
      if !SigningScope.isWord(accessKeyID) {
        return "SigV4.Credentials.accessKeyID is empty, or contains a blank, a comma or a slash: copy it again"
      }
      if secretAccessKey.isEmpty || secretAccessKey.utf8.contains(where: { !(0x21...0x7E ~= $0) }) {
        return "SigV4.Credentials.secretAccessKey is empty or contains a blank or a control character: copy it again"
      }
      if let sessionToken, sessionToken.isEmpty || sessionToken.utf8.contains(where: { !(0x21...0x7E ~= $0) }) {
        return "SigV4.Credentials.sessionToken is empty or contains a blank or a control character; use nil for none"
      }
      return nil
    }
  }
}

extension SigV4.Credentials: CustomStringConvertible, CustomReflectable {
  /// The kind of the credentials, without their values.
  public var description: String { sessionToken == nil ? "permanent keys" : "temporary keys" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
