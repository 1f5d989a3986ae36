public import Foundation

extension HTTPBody {
  /// The same body, read into a temporary file before it is sent.
  ///
  /// That gives a stream what it lacks: its length is known to the server, and it can be sent again, as a retry or a
  /// redirect needs it. It costs the disk space and the time to read the stream to its end before the first byte is sent.
  /// A body that has both already (bytes, files, what is put together of them) is returned as it is.
  ///
  /// The file is read once, by the first request, for which only ``TimeoutPolicy/total`` applies meanwhile. It has no name
  /// from its first instant on, and nobody else can open it: it is gone when the last copy of the body is, or with the
  /// process, however that ends.
  ///
  /// - Parameters:
  ///   - limit: The most bytes; 1 GiB by default. A body that has more throws ``HTTPError/Kind/bodyTooLarge``, and nothing is
  ///     sent.
  ///   - folder: Where the file is; `nil` for the system's folder of temporary files, which may be in memory. One that
  ///     cannot be written, or a full disk, throws ``HTTPError/Kind/file``.
  /// - Returns: The body.
  public func spooled(upTo limit: Int64 = 1 << 30, in folder: URL? = nil) -> HTTPBody {
    guard content.needsSpool else { return self }
    var body = self
    body.content = .spool(BodySpool(content, limit: limit, folder: folder))
    return body
  }
}

extension HTTPBody.Content {
  /// Whether it has no length, or cannot be sent again.
  fileprivate var needsSpool: Bool {
    switch self {
    case .data, .file, .spool, .json, .invalid: false
    case .stream(let source): source.length == nil || !source.isReplayable
    case .pieces(let pieces): pieces.contains(where: \.needsSpool)
    case .gzip: true
    }
  }
}
