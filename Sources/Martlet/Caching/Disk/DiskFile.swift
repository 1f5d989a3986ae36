import MartletBase

/// A large body in its own file, which is immutable once complete; it remains readable if the file is removed.
final class DiskFile: Sendable {
  let count: Int64
  let checksum: UInt64
  let descriptor: DiskDescriptor
  /// The file of a sink, which has a temporary name until it is stored.
  private let temporary: DiskTemporary?
  private let home: Locked<PermanentLocation?>

  /// The permanent location of a file, and the folder of the storage.
  typealias PermanentLocation = (name: DiskName, number: UInt64, folder: String)

  var isStored: Bool { home.withLock { $0 != nil } }

  /// The URL of the file, if it has a permanent name.
  var url: URL? {
    home.withLock { $0 }.map { URL(filePath: $0.folder).appending(path: $0.name.path(body: $0.number)) }
  }

  /// Creates a complete body: a stored one with its home, another one with its temporary file.
  init(
    _ descriptor: DiskDescriptor, count: Int64, checksum: UInt64, home: PermanentLocation? = nil,
    temporary: DiskTemporary? = nil
  ) {
    (self.descriptor, self.count, self.checksum, self.temporary) = (descriptor, count, checksum, temporary)
    self.home = Locked(home)
  }

  /// Reads bytes; fewer than requested only at the end.
  func read(from offset: Int64, count: Int) throws(HTTPError) -> Data {
    guard offset >= 0, offset < self.count, count > 0 else { return Data() }
    let wanted = Int(clamping: min(Int64(count), self.count - offset))
    let problem: String
    do throws(DiskCalls.Failure) {
      let data = try DiskCalls.read(descriptor.number, at: offset, count: wanted)
      if data.count == wanted { return data }
      problem = "it is truncated"
    } catch {
      problem = error.text
    }
    throw HTTPError(.fileFailed, "a stored body cannot be read: \(problem)")
  }

  /// Whether the bytes have the checksum; reads all of them.
  func isIntact() throws(HTTPError) -> Bool {
    var sum = RecordChecksum()
    for offset in stride(from: 0, to: count, by: CachedBody.pieceBytes) {
      try read(from: offset, count: CachedBody.pieceBytes).withUnsafeBytes { sum.update($0) }
    }
    return sum.value == checksum
  }

  /// The number under which the file is stored for a key; a temporary file is renamed first.
  ///
  /// `nil` if it belongs to another key or was removed from the folder.
  func settle(_ name: DiskName, in folder: DiskFolder, at time: Int64) throws(HTTPError) -> UInt64? {
    if let home = home.withLock({ $0 }) {
      guard home.name == name, let own = DiskCalls.facts(descriptor.number),
        let there = folder.facts(name, body: home.number), own.inode == there.inode, there.isFile
      else { return nil }
      return home.number
    }
    guard let temporary else { return nil }
    let number = UInt64.random(in: 1 ... .max)
    // Update the time, because a scan would otherwise remove the body before its record exists.
    DiskCalls.setTime(time, of: descriptor.number)
    try temporary.settle(name, body: number)
    home.withLock { $0 = (name, number, temporary.folder.path) }
    return number
  }
}

/// Writes a large body to a temporary file, chunk by chunk; releasing it discards the bytes.
struct DiskSink: Sendable {
  let temporary: DiskTemporary
  private var checksum = RecordChecksum()
  private var count: Int64 = 0

  init(_ temporary: DiskTemporary) { self.temporary = temporary }

  mutating func write(_ piece: Data) throws(HTTPError) {
    try temporary.append(piece)
    count += Int64(piece.count)
    piece.withUnsafeBytes { checksum.update($0) }
  }

  /// Returns the complete body, for the storage that created the sink.
  func finish() -> CachedBody {
    .file(DiskFile(temporary.descriptor, count: count, checksum: checksum.value, temporary: temporary))
  }
}
