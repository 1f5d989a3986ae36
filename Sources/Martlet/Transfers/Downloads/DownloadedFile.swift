public import MartletBase

/// A downloaded file.
public struct DownloadedFile: Sendable {
  /// The location of the file, a file URL without a symbolic link at its end.
  ///
  /// It is the destination, or a file in the destination folder with a name that the server or
  /// ``DownloadOptions/Overwrite/rename`` determined. Without a destination, it is a private file in the temporary
  /// folder; move or delete it, because the client does not.
  public let url: URL
  /// Its size in bytes.
  public let byteCount: Int64
  /// The number of bytes from an earlier download; 0 if it was not resumed.
  public let resumedAt: Int64
  /// The last response, without its body.
  ///
  /// Its status is 206 if it contained a part.
  public internal(set) var response: HTTPResponse
}
