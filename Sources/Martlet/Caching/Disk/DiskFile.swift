import MartletBase
import Foundation

/// A large body in its own file, which is immutable once complete; it remains readable if the file is removed.
final class DiskFile: Sendable {
  let count: Int64
  let checksum: UInt64
  let descriptor: DiskDescriptor
  /// The file of a sink, which has a temporary name until it is stored.
  private let temporary: DiskTemporary?
  private let home: Locked<Home?>

  /// The permanent location of a file.
  struct Home: Sendable {
    var name: DiskName
    var number: UInt64
    /// The folder of the storage.
    var folder: String
  }

  /// The URL of the file, if it has a permanent name.
  var url: URL? {
    home.withLock { $0 }.map { URL(filePath: $0.folder).appending(path: $0.name.path(body: $0.number)) }
  }

  /// Creates a complete body: a stored one with its home, another one with its temporary file.
  init(
    _ descriptor: DiskDescriptor, count: Int64, checksum: UInt64, home: Home? = nil, temporary: DiskTemporary? = nil
  ) {
    (self.descriptor, self.count, self.checksum, self.temporary) = (descriptor, count, checksum, temporary)
    self.home = Locked(home)
  }

  /// Reads bytes; fewer than requested only at the end.
  func read(from offset: Int64, count: Int) throws(HTTPError) -> Data {
    let wanted = Int(clamping: min(Int64(max(count, 0)), max(self.count - max(offset, 0), 0)))
    guard offset >= 0, wanted > 0 else { return Data() }
    guard let memory = malloc(wanted) else { throw HTTPError(.file, "no memory for \(wanted) bytes of a stored body") }
    let got = DiskCalls.fill(
      UnsafeMutableRawBufferPointer(start: memory, count: wanted), from: descriptor.number, at: offset)
    guard got == wanted else {
      free(memory)
      throw HTTPError(
        .file, "a stored body cannot be read: \(got < 0 ? String(cString: strerror(Int32(-got))) : "it has been cut")")
    }
    // `Data` copies small contents and frees the memory at once, so create it after reading.
    return Data(bytesNoCopy: memory, count: wanted, deallocator: .free)
  }

  /// The number under which the file is stored for a key; `nil` if it is not.
  func number(for name: DiskName, in folder: DiskFolder) -> UInt64? {
    guard let home = home.withLock({ $0 }), home.name == name,
      let own = DiskCalls.facts(descriptor.number), let there = folder.facts(name, body: home.number),
      own.inode == there.inode, there.isFile
    else { return nil }
    return home.number
  }

  /// Renames the file to a permanent name with a new number; `nil` if it has one already.
  func settle(_ name: DiskName) throws(HTTPError) -> UInt64? {
    guard let temporary, home.withLock({ $0 == nil }) else { return nil }
    let number = UInt64.random(in: 1 ... .max)
    try temporary.settle(name, body: number)
    home.withLock { $0 = Home(name: name, number: number, folder: temporary.folder.path) }
    return number
  }
}

/// Writes a large body to a temporary file, chunk by chunk.
final class DiskSink: Sendable {
  private struct State {
    let temporary: DiskTemporary
    var checksum = RecordChecksum()
    var count: Int64 = 0
  }

  /// `nil` during a write, which happens outside the lock, and after the end.
  private let state: Locked<State?>

  init(_ temporary: DiskTemporary) { state = Locked(State(temporary: temporary)) }

  func write(_ piece: Data) throws(HTTPError) {
    guard var now = state.withLock({ $0.take() }) else { throw Self.ended }
    now.count += Int64(piece.count)
    piece.withUnsafeBytes { now.checksum.update($0) }
    try now.temporary.append(piece)
    state.withLock { [now] in $0 = now }
  }

  /// Returns the complete body, for storage by the shelf that made the sink.
  func finish() throws(HTTPError) -> CachedBody {
    guard let now = state.withLock({ $0.take() }) else { throw Self.ended }
    let (file, checksum) = (now.temporary, now.checksum.value)
    return .file(DiskFile(file.descriptor, count: now.count, checksum: checksum, temporary: file))
  }

  /// Discards the bytes, as does releasing the sink.
  func discard() {
    let removed = state.withLock { $0.take() }
    _ = removed
  }

  private static let ended = HTTPError(.file, "a body was written after its end, or by two at the same time")
}
