public import MartletBase

extension RequestGuard {
  /// The storage for a client's HSTS hosts (RFC 6797).
  ///
  /// The value describes the storage. The hosts themselves are created with the client. A ``HTTPClient/derived(_:)``
  /// client shares them unless its configuration sets another store.
  public struct HSTSStore: Sendable, Hashable {
    /// The file; `nil` for memory.
    let url: URL?

    /// Hosts in memory, empty for each new client.
    public static let memory = HSTSStore(url: nil)

    /// Hosts in a file that other processes may share.
    ///
    /// The file is read once, when the client is created. A new or changed host is saved before its response is
    /// delivered. A process receives the hosts of others when it saves. Only the owner has access to the file (mode
    /// 0600), which is replaced atomically. A file with the suffix `.lock` is created beside it, and is not removed.
    ///
    /// If the file cannot be read, its hosts are unknown: requests to http URLs throw ``HTTPError/Kind/fileFailed``,
    /// and requests to https URLs proceed. A failure to save does not fail requests.
    ///
    /// - Parameter url: The file; it is created if necessary, but its folder is not.
    /// - Returns: The store.
    public static func file(_ url: URL) -> HSTSStore { HSTSStore(url: url) }
  }
}
