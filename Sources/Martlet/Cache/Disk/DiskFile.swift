import MartletBase
import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A large body in a file of its own, which is never written again once it is whole.
final class DiskFile: CachedFile {
  let count: Int64
  let checksum: UInt64
  let descriptor: DiskDescriptor
  /// What a sink made, which has no lasting name before it is stored.
  private let temporary: DiskTemporary?
  private let home: Locked<Home?>

  /// Where a file has its lasting name.
  struct Home: Sendable {
    var name: DiskName
    var number: UInt64
    /// The folder of the store.
    var folder: String
  }

  var url: URL? {
    home.withLock { $0 }.map { home in
      let path = home.name.withFileName(body: home.number, isPath: true) { String(cString: $0) }
      return URL(filePath: home.folder).appending(path: path)
    }
  }

  /// A body that is stored.
  init(_ descriptor: DiskDescriptor, count: Int64, checksum: UInt64, home: Home) {
    (self.descriptor, self.count, self.checksum, temporary) = (descriptor, count, checksum, nil)
    self.home = Locked(home)
  }

  /// A body that is whole, and not stored yet.
  init(_ temporary: DiskTemporary, count: Int64, checksum: UInt64) {
    (self.temporary, self.count, self.checksum, descriptor) = (temporary, count, checksum, temporary.descriptor)
    home = Locked(nil)
  }

  func read(from offset: Int64, count: Int) throws -> Data {
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
    // Only now: of a few bytes it makes a copy, and frees the memory at once.
    return Data(bytesNoCopy: memory, count: wanted, deallocator: .free)
  }

  /// The number under which it is stored for a key, if it is, and still there.
  func number(for name: DiskName, in folder: DiskFolder) -> UInt64? {
    guard let home = home.withLock({ $0 }), home.name == name,
      let own = DiskCalls.facts(descriptor.number), let there = folder.facts(name, body: home.number),
      own.inode == there.inode, there.isFile
    else { return nil }
    return home.number
  }

  /// Gives it its lasting name, unless it has one.
  ///
  /// - Returns: The number; `nil` if it has another name already.
  func settle(_ name: DiskName) throws(HTTPError) -> UInt64? {
    guard let temporary, home.withLock({ $0 == nil }) else { return nil }
    let number = UInt64.random(in: 1 ... .max)
    try temporary.settle(name, body: number)
    home.withLock { $0 = Home(name: name, number: number, folder: temporary.folder.path) }
    return number
  }
}

/// Takes a body: the first bytes in memory, all in a file as soon as they are many.
final class DiskSink: CacheSink {
  private struct State {
    var memory = Data()
    var temporary: DiskTemporary?
    var checksum = RecordChecksum()
    var count: Int64 = 0
  }

  /// As much as may be in memory for each of many bodies that arrive at the same time.
  static let memoryLimit = 128 << 10

  private let maximumBytes: Int64
  /// `nil` while somebody works with it, which is not done under the lock, and after the end.
  private let state = Locked<State?>(State())
  private let makeFile: @Sendable () throws(HTTPError) -> DiskTemporary

  init(maximumBytes: Int64, makeFile: @escaping @Sendable () throws(HTTPError) -> DiskTemporary) {
    self.maximumBytes = maximumBytes
    self.makeFile = makeFile
  }

  func write(_ piece: Data) throws { try append(piece) }

  func append(_ piece: Data) throws(HTTPError) {
    guard var now = state.withLock({ $0.take() }) else { throw Self.ended }
    now.count += Int64(piece.count)
    guard now.count <= maximumBytes else {
      throw HTTPError(.file, "the body is larger than the \(maximumBytes) bytes that are stored of one")
    }
    if now.temporary == nil, now.memory.count + piece.count > Self.memoryLimit {
      now.temporary = try makeFile()
      try Self.put(now.memory, &now)
      now.memory = Data()
    }
    if now.temporary == nil { now.memory.append(piece) } else { try Self.put(piece, &now) }
    state.withLock { [now] in $0 = now }
  }

  func finish() throws -> CachedBody { try end() }

  func end() throws(HTTPError) -> CachedBody {
    guard let now = state.withLock({ $0.take() }) else { throw Self.ended }
    guard let temporary = now.temporary else { return .data(now.memory) }
    let file = DiskFile(temporary, count: now.count, checksum: now.checksum.value)
    guard now.count <= DiskShelf.maximumInlineBytes else { return .file(file) }
    // It stands in the file of its record.
    do { return .data(try file.read(from: 0, count: Int(now.count))) } catch {
      throw HTTPError(.file, "a record that was just written cannot be read")
    }
  }

  func discard() { _ = state.withLock { $0.take() } }

  private static let ended = HTTPError(.file, "a body was written after its end, or by two at the same time")

  private static func put(_ piece: Data, _ state: inout State) throws(HTTPError) {
    guard let temporary = state.temporary else { return }
    piece.withUnsafeBytes { state.checksum.update($0) }
    do throws(DiskFailure) { try temporary.append(piece) } catch {
      throw temporary.folder.error("cannot be written in", error.code)
    }
  }
}
