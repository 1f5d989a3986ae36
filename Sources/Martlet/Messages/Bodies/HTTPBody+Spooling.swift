public import MartletBase

extension HTTPBody {
  /// The same body, read into a temporary file before it is sent.
  ///
  /// Spooling gives a stream a known length, and allows sending it again for a retry or a redirect. It costs disk
  /// space, and the time to read the whole stream before the first byte is sent. A body that already has both
  /// properties (bytes, files and combinations of them) is returned unchanged.
  ///
  /// The first request reads the body into the file; meanwhile only ``TimeoutPolicy/total`` applies to it. The file is
  /// unlinked before anything is written to it, so nothing else can open it. Its space is freed with the last copy of
  /// the body or with the process, however that ends.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of bytes; 1 GiB by default. A larger body throws ``HTTPError/Kind/bodyTooLarge``,
  ///     and nothing is sent.
  ///   - folder: The folder of the file; `nil` for the system's temporary folder, which may be in memory. A folder that
  ///     cannot be written to, or a full disk, throws ``HTTPError/Kind/fileFailed``.
  /// - Returns: The body.
  public func spooled(upTo limit: Int64 = 1 << 30, in folder: URL? = nil) -> HTTPBody {
    guard content.needsSpool else { return self }
    var body = self
    body.content = .spool(BodySpool(content, limit: limit, folder: folder))
    return body
  }
}

extension HTTPBody.Content {
  /// Whether the content has no length, or cannot be sent again.
  fileprivate var needsSpool: Bool {
    switch self {
    case .data, .file, .spool, .json, .invalid: false
    case .stream(let source): source.length == nil || !source.isReplayable
    case .pieces(let pieces): pieces.contains(where: \.needsSpool)
    case .compressed: true
    }
  }
}
