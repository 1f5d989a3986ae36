import MartletBase
import Foundation
import Synchronization

/// The body of one response on its way from libcurl, through the decoder if there is one, to the reader.
///
/// Touched under the lock of its loop, but for its stream.
final class CurlBody {
  /// Where the body comes from, and who waits for room.
  protocol Source: BodyStream.Source {
    /// Whether the loop is to hear when the reader has made room.
    var isRoomAwaited: Atomic<Bool> { get }
  }

  enum Reply {
    case taken
    /// They are to come once more, when there is room.
    case wait
    /// Nobody reads.
    case stop
  }

  /// How much may wait for a reader before the network is slowed down.
  static let highWater = 256 << 10
  /// After as many bytes a body is taken for one whose bytes are worth being gathered.
  private static let smallBody = 64 << 10

  let stream: BodyStream
  private let decoder: ContentDecoder?
  /// The number of bytes that wait for the reader, as far as known.
  private var unread = 0
  private var taken = 0
  /// Gathers what a reader gets at once: libcurl brings 16 KiB at a time.
  private var gatherer: PieceGatherer?
  /// Whether bytes came since ``flush()``.
  private(set) var isUnflushed = false
  /// It outlives the body.
  private unowned let source: any Source

  /// Makes a body whose `source` hears, after ``Reply/wait`` and while ``isPending``, when the reader has taken what
  /// there was.
  init(expected: Int64?, decoder: ContentDecoder?, source: any Source) {
    stream = BodyStream(expecting: decoder == nil ? Int(clamping: expected ?? 0) : 0, from: source)
    self.decoder = decoder
    self.source = source
  }

  /// Whether there are bytes that are not decoded yet.
  var isPending: Bool { decoder?.isPending ?? false }

  /// Takes bytes, all or none.
  func take(_ bytes: UnsafeRawBufferPointer) throws(ResponseHeadReader.Problem) -> Reply {
    if isPending || unread > Self.highWater {
      guard try makeRoom() else { return .wait }
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

  /// Hands bytes to the stream, or gathers them first; returns as ``BodyStream/append(_:)``.
  private func append(_ bytes: UnsafeRawBufferPointer) -> Int? {
    isUnflushed = true
    if gatherer == nil {
      // Who wants the whole has a buffer for it.
      if taken < Self.smallBody || stream.isCollecting { return stream.append(copying: bytes) }
      gatherer = PieceGatherer()
    }
    guard let piece = gatherer?.add(bytes) else { return unread }
    // The next piece is perhaps for somebody who collects meanwhile.
    if gatherer?.isEmpty == true && stream.isCollecting { gatherer = nil }
    return stream.append(piece)
  }

  /// Whether what has come may wait for more of it: it is a large body.
  var isGathering: Bool { gatherer != nil || taken > Self.smallBody && stream.isCollecting }

  /// Gives a waiting reader what has come.
  func flush() {
    isUnflushed = false
    if let count = gatherer?.take().map({ stream.append($0) }) ?? stream.flush() { unread = count }
  }

  /// Goes on after the reader has taken what there was; `true` if more bytes can be taken.
  func resume() throws(ResponseHeadReader.Problem) -> Bool { try makeRoom() }

  /// Checks, when there are no more bytes, that the codings are at their ends too, and keeps the trailers.
  func checkEnd(_ reader: ResponseHeadReader) throws(ResponseHeadReader.Problem) {
    try decoder?.finish()
    if let trailers = reader.trailers { stream.trailers = trailers }
  }

  /// Decodes what waits, as far as the reader has room; if there is no room after that, the reader will say when.
  private func makeRoom() throws(ResponseHeadReader.Problem) -> Bool {
    source.isRoomAwaited.store(true, ordering: .sequentiallyConsistent)
    // The reader may have made room just before it could see that.
    unread = stream.unreadCount
    if unread <= Self.highWater, isPending, let decoder { _ = try decode(decoder) }
    guard unread <= Self.highWater, !isPending else { return false }
    source.isRoomAwaited.store(false, ordering: .sequentiallyConsistent)
    return true
  }

  /// Decodes until there is nothing left, or the reader has enough and will say when it has not; `false` if nobody
  /// reads.
  private func decode(_ decoder: ContentDecoder) throws(ResponseHeadReader.Problem) -> Bool {
    while true {
      while unread <= Self.highWater {
        guard let piece = try decoder.pull() else { return true }
        guard let count = stream.append(piece) else { return false }
        unread = count
      }
      source.isRoomAwaited.store(true, ordering: .sequentiallyConsistent)
      unread = stream.unreadCount
      if unread > Self.highWater { return true }
    }
  }
}
