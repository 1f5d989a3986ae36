public import MartletBase

/// Options for a download, and for its request.
///
/// ```swift
/// try await client.download("/disk.img", to: file, options: .segments(4).retry(.backoff(attempts: 5)))
/// ```
public struct DownloadOptions: TransferOptions, Sendable {
  /// The treatment of a partial download.
  @nonexhaustive public enum Resume: Sendable, Hashable {
    /// Resumes it if it has the same URL and the server confirms that the file is unchanged.
    ///
    /// A partial download by a client with other TLS or address settings is replaced.
    case automatic
    /// Replaces it. The partial file of a failed download is removed.
    case never
    /// Like ``automatic``, even if it came from another URL: for links that receive a new signature each time.
    ///
    /// The server must repeat its validator (`ETag` or `Last-Modified`) and its size, unless there is a
    /// ``DownloadOptions/checksum``. Otherwise the partial download is replaced.
    case fromAnyURL
  }

  /// The treatment of an existing file with the same name.
  @nonexhaustive public enum Overwrite: Sendable, Hashable {
    /// Replaces it atomically with the complete new file.
    case replace
    /// Fails the download with ``HTTPError/Kind/fileFailed``, before anything is sent if the name is known by then.
    case fail
    /// Keeps it, and adds a number to the name of the new file: `report (1).pdf`.
    case rename
  }

  /// Whether to resume a partial download; ``Resume/automatic`` by default.
  public var resume = Resume.automatic

  /// The treatment of an existing file with the same name.
  ///
  /// By default ``Overwrite/replace`` for a name that the caller gave, and ``Overwrite/rename`` for one that the server
  /// chose.
  public var overwrite: Overwrite?

  /// The number of connections for a large file, 1 to 16; 1 by default.
  ///
  /// More than one is used only for a large file, if the server supports ranges, sends a validator and accepts the
  /// additional connections. Otherwise one connection is used.
  public var segments = 1

  /// The expected checksum of the file; `nil` by default.
  ///
  /// It is compared with the file as it is saved. A `Repr-Digest` or `Content-Digest` of the server with `sha-256`
  /// (RFC 9530) is verified as well, unless the body was decoded: both fields cover the encoded bytes.
  public var checksum: DownloadOptions.Checksum?

  /// The folder for the partial file; by default that of the finished file.
  ///
  /// It must be on the same file system.
  public var partFolder: URL?

  /// The maximum size of the file, in bytes; `nil` by default.
  ///
  /// A larger file throws ``HTTPError/Kind/bodyTooLarge``.
  public var maximumBytes: Int64?

  /// Whether the file gets the time of `Last-Modified` (RFC 9110 §8.8.2); `true` by default.
  public var keepsModificationDate = true

  /// The options of the request; its fields can be written here as well, as in `$0.timeout`.
  public var request = RequestOptions()

  /// The default options.
  public init() {}

  /// Creates options.
  ///
  /// - Parameter configure: Changes the defaults.
  public init(_ configure: (inout DownloadOptions) -> Void) {
    self.init()
    configure(&self)
  }

  var problem: InvalidInput? {
    if !(1...16).contains(segments) { return InvalidInput("segments is \(segments); it must be from 1 to 16") }
    if let maximumBytes, maximumBytes < 0 { return InvalidInput("maximumBytes is \(maximumBytes)") }
    if let partFolder, !partFolder.isFileURL {
      return InvalidInput("partFolder needs a file URL, not '\(URLRedaction.printable(partFolder.absoluteString))'")
    }
    return checksum?.problem
  }
}

extension DownloadOptions {
  /// The expected checksum of a file.
  public struct Checksum: Sendable, Hashable {
    let digits: String

    /// SHA-256 (FIPS 180-4).
    ///
    /// - Parameter hexadecimal: The 64 digits, in either case; anything else fails the download before anything is
    ///   sent.
    /// - Returns: The checksum.
    public static func sha256(_ hexadecimal: String) -> Checksum {
      Checksum(digits: hexadecimal.lowercased())
    }

    var problem: InvalidInput? {
      let isHexadecimal = digits.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
      guard digits.utf8.count == 64, isHexadecimal else {
        return InvalidInput("a SHA-256 checksum has 64 hexadecimal digits, not '\(InvalidInput.printable(digits))'")
      }
      return nil
    }
  }
}
