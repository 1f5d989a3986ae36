import CMartletShim
import MartletBase

/// An open file whose bytes are part of a body.
struct BodyFile: Sendable {
  let descriptor: DiskDescriptor
  private let name: String

  /// Opens a regular file; other files could block the reader.
  private init(_ url: URL) throws(HTTPError) {
    let path = url.path(percentEncoded: false)
    name = InvalidInput.printable(path)
    let number = martlet_above_streams(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
    let code = errno
    guard number >= 0 else { throw Self.problem("the body file '\(name)' could not be opened", code) }
    descriptor = DiskDescriptor(number)
    guard DiskCalls.facts(number)?.isFile == true else {
      throw Self.problem("the body file '\(name)' is not a regular file")
    }
  }

  init(_ descriptor: DiskDescriptor, name: String) { (self.descriptor, self.name) = (descriptor, name) }

  /// Reads a whole file, whose size was announced.
  static func send(_ url: URL, size: Int64, to take: (Data) async throws -> Void) async throws {
    // File I/O can block, so it must not run on the cooperative thread pool.
    let file = try await onFileQueue { () throws(HTTPError) in try BodyFile(url) }
    try await file.send(size, to: take)
  }

  func send(_ size: Int64, to take: (Data) async throws -> Void) async throws {
    var offset: Int64 = 0
    repeat {
      let place = offset
      let block = try await onFileQueue { () throws(HTTPError) in try self.read(at: place, of: size) }
      offset += Int64(block.count)
      if !block.isEmpty { try await take(block) }
    } while offset < size
  }

  private func read(at offset: Int64, of size: Int64) throws(HTTPError) -> Data {
    var block = Data(count: Int(min(Int64(BodyPlan.block), size - offset)))
    let got = block.withUnsafeMutableBytes { DiskCalls.fill($0, from: descriptor.number, at: offset) }
    if got < 0 { throw Self.problem("the body file '\(name)' could not be read") }
    if got < block.count { throw Self.problem("the body file '\(name)' shrank while it was being sent") }
    // Checked before the last bytes are sent, because they may complete the request.
    if offset + Int64(got) == size {
      let beyond = withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
        DiskCalls.fill($0, from: descriptor.number, at: size)
      }
      if beyond > 0 { throw Self.problem("the body file '\(name)' grew while it was being sent") }
    }
    return block
  }

  private static func problem(_ message: String, _ code: Int32? = nil) -> HTTPError {
    var error = code.map { .file(message, code: $0) } ?? HTTPError(.fileFailed, message)
    error.phase = .sending
    error.mayHaveReachedServer = true
    return error
  }
}
