public import Foundation

/// A file that was downloaded.
public struct DownloadedFile: Sendable {
  /// Where it is.
  public let url: URL
  /// Its size in bytes.
  public let byteCount: Int64
  /// How many of its bytes were there from an earlier download; 0 if it was begun anew.
  public let resumedAt: Int64
  /// The last response, without its body.
  ///
  /// Its status is 206 if it brought a part.
  public let response: HTTPResponse
}
