import Foundation

/// An open file of this user's, closed with its last reference; its errors name it.
struct OpenFile: Sendable {
  let descriptor: DiskDescriptor
  let path: String

  var number: Int32 { descriptor.number }
  var facts: DiskFacts? { DiskCalls.facts(number) }

  /// Opens a file, or makes one for its owner only; `nil` with `errno`.
  ///
  /// A link is refused, and a pipe holds up nobody.
  static func at(_ path: String, _ flags: Int32) -> OpenFile? {
    let number = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    return number >= 0 ? OpenFile(descriptor: DiskDescriptor(number), path: path) : nil
  }

  /// Sees that nobody else can change it; what was just made is what the file system lets it be.
  func check(isNew: Bool = false) throws(HTTPError) -> DiskFacts {
    guard let facts, facts.isFile else { throw HTTPError(.file, "\(PrivateFile.shown(path)) is not a plain file") }
    guard isNew || facts.isOwn else { throw PrivateFile.foreign(path) }
    return facts
  }

  /// Reads bytes; fewer than asked for only at the end.
  func read(at offset: Int64, count: Int) throws(HTTPError) -> Data {
    var data = Data(count: count)
    let done = data.withUnsafeMutableBytes { DiskCalls.fill($0, from: number, at: offset) }
    if done < 0 { try succeed(Int32(-done), "cannot be read") }
    return data.prefix(done)
  }

  func put(_ bytes: some ContiguousBytes, at offset: Int64) throws(HTTPError) {
    try succeed(bytes.withUnsafeBytes { DiskCalls.put($0, into: number, at: offset) }, "cannot be written")
  }

  /// Writes all bytes behind those before.
  func append(_ bytes: some ContiguousBytes) throws(HTTPError) {
    try succeed(bytes.withUnsafeBytes { DiskCalls.append($0, to: number) }, "cannot be written")
  }

  /// Has the disk itself write what was written.
  func sync() throws(HTTPError) { try succeed(DiskCalls.sync(number), "cannot be written") }

  func cut(at size: Int64) throws(HTTPError) {
    try succeed(ftruncate(number, off_t(size)) == 0 ? 0 : errno, "cannot be cut")
  }

  /// How many bytes its file system has left for the user of this process; `nil` if it does not tell.
  var freeBytes: Int64? { DiskCalls.freeBytes(number) }

  /// Some file systems have no modes to set.
  func setMode(_ mode: mode_t) { fchmod(number, mode) }

  private func succeed(_ code: Int32, _ what: String) throws(HTTPError) {
    guard code == 0 else { throw PrivateFile.error(what, path, code) }
  }
}
