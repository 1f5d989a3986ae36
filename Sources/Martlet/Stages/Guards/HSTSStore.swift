public import Foundation

extension RequestGuard {
  /// Where a client stores HSTS hosts (RFC 6797).
  ///
  /// A description: what is known is made with the client. Clients that are ``HTTPClient/derived(_:)`` from one share
  /// it until they are given another store.
  public struct HSTSStore: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
      case memory
      case file(URL)
    }

    let kind: Kind

    /// In memory, empty with each new client.
    public static let memory = HSTSStore(kind: .memory)

    /// In a file, which other processes may share.
    ///
    /// It is read once, when the client is made. A host that is new, or says something else, is saved before its
    /// response is delivered; a process sees what others have saved when it saves itself. The file is for its owner
    /// only (0600) and is replaced as a whole. Beside it there is one with `.lock` after its name, which stays.
    ///
    /// While a file cannot be read, nobody knows which hosts are in it: requests to http URLs throw
    /// ``HTTPError/Kind/file``, those to https URLs go on. What cannot be saved costs no request.
    ///
    /// - Parameter url: The file; it is made if it is not there, its folder is not.
    /// - Returns: The store.
    public static func file(_ url: URL) -> HSTSStore { HSTSStore(kind: .file(url)) }
  }
}
