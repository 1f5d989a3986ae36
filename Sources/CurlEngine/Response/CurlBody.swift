import MartletBase
import Synchronization

/// Carries one response body from libcurl, through a decoder, to the reader.
///
/// Except for its stream, the body is used under its loop's lock.
final class CurlBody {
  /// The source of the body, which is notified when there is room.
  protocol Source: BodyStream.Source {
    /// Whether to notify the loop when the reader has made room.
    var isRoomAwaited: Atomic<Bool> { get }
  }

  enum Reply {
    case taken
    /// The bytes must be delivered again when there is room.
    case wait
    /// There is no reader.
    case stop
  }

  /// The number of unread bytes above which the network is slowed down.
  static let highWater = 256 << 10
  /// The same for a body that will be collected, whose reader may arrive later than the body.
  static let collectedHighWater = 1 << 20
  /// The number of bytes after which a body's chunks are gathered.
  private static let smallBody = 64 << 10

  let stream: BodyStream
  private let decoder: ContentDecoder?
  private let isCollected: Bool
  private let isHeld: Bool
  private let highWater: Int
  /// The number of unread bytes, if known.
  private var unread = 0
  private var taken = 0
  /// Gathers larger chunks for the reader; libcurl delivers 16 KiB at a time.
  private var gatherer: ChunkAccumulator?
  /// Whether bytes arrived since the last ``flush()``.
  private(set) var isUnflushed = false
  /// The source, which outlives the body.
  private unowned let source: any Source

  /// Creates a body.
  ///
  /// After ``Reply/wait``, and while ``isPending``, `source` is notified when the reader has taken the available bytes.
  ///
  /// - Parameters:
  ///   - expected: The announced length, or `nil`.
  ///   - decoder: The decoder of the content codings, or `nil`.
  ///   - isCollected: Whether the body will be collected, if known.
  ///   - isHeld: Whether a waiting reader gets all bytes with ``flush()``, because it may run on the thread that resumes
  ///     it, and must not run inside libcurl.
  ///   - source: The source.
  init(expected: Int64?, decoder: ContentDecoder?, isCollected: Bool, isHeld: Bool = false, source: any Source) {
    let expected = decoder == nil ? Int(clamping: expected ?? 0) : 0
    highWater = isCollected ? Self.collectedHighWater : Self.highWater
    stream = BodyStream(expecting: expected, reserving: isCollected ? min(expected, highWater) : 0, from: source)
    self.decoder = decoder
    self.isCollected = isCollected
    self.isHeld = isHeld
    self.source = source
  }

  var isPending: Bool { decoder?.isPending ?? false }

  /// Takes all of the bytes or none.
  func take(_ bytes: UnsafeRawBufferPointer) throws(ResponseHeadReader.Problem) -> Reply {
    if isPending || unread > highWater {
      guard try resume() else { return .wait }
    }
    if let decoder {
      let reads = try decoder.push(bytes.bindMemory(to: UInt8.self)) { () throws(ResponseHeadReader.Problem) in
        try decode(decoder)
      }
      return reads ? .taken : .stop
    }
    guard let count = append(bytes) else { return .stop }
    taken &+= bytes.count
    unread = count
    return .taken
  }

  /// Appends bytes to the stream or gathers them; returns as ``BodyStream/append(_:)`` does.
  private func append(_ bytes: UnsafeRawBufferPointer) -> Int? {
    isUnflushed = true
    if gatherer == nil {
      // A reader that collects has its own buffer.
      if taken < Self.smallBody || stream.isCollecting || isCollected && !stream.isStreamed {
        return stream.append(copying: bytes)
      }
      gatherer = ChunkAccumulator()
    }
    guard let piece = gatherer?.add(bytes) else { return unread }
    // The reader may have begun to collect in the meantime.
    if gatherer?.isEmpty == true && stream.isCollecting { gatherer = nil }
    return stream.append(piece, isHeld: isHeld)
  }

  /// Whether received bytes may wait for more, because the body is large.
  var isGathering: Bool { gatherer != nil || taken > Self.smallBody && stream.isCollecting }

  /// Gives the received bytes to a waiting reader.
  func flush() {
    isUnflushed = false
    if let count = gatherer?.take().map({ stream.append($0) }) ?? stream.flush() { unread = count }
  }

  /// Checks that the codings end with the body, and stores the trailers.
  func checkEnd(_ reader: ResponseHeadReader) throws(ResponseHeadReader.Problem) {
    try decoder?.finish()
    if let trailers = reader.trailers { stream.trailers = trailers }
  }

  /// Decodes pending bytes while there is room; returns whether more bytes can be taken.
  ///
  /// If not, the reader notifies the source when it has room.
  func resume() throws(ResponseHeadReader.Problem) -> Bool {
    source.isRoomAwaited.store(true, ordering: .sequentiallyConsistent)
    // The reader may have made room just before the flag was set.
    unread = stream.unreadCount
    if unread <= highWater, isPending, let decoder { _ = try decode(decoder) }
    guard unread <= highWater, !isPending else { return false }
    source.isRoomAwaited.store(false, ordering: .sequentiallyConsistent)
    return true
  }

  /// Decodes until no bytes are left or the reader has enough; `false` without a reader.
  private func decode(_ decoder: ContentDecoder) throws(ResponseHeadReader.Problem) -> Bool {
    while true {
      while unread <= highWater {
        guard let piece = try decoder.pull() else { return true }
        guard let count = stream.append(piece) else { return false }
        unread = count
      }
      source.isRoomAwaited.store(true, ordering: .sequentiallyConsistent)
      unread = stream.unreadCount
      if unread > highWater { return true }
    }
  }
}
