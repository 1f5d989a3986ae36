import CMartletShim
import MartletBase

/// Compresses chunks with gzip (RFC 1952), using the system's zlib.
///
/// ```
///   push ─▶ pull … pull ─▶ nil ─▶ push …      finish ─▶ pull … pull ─▶ nil: the end
/// ```
final class Deflater {
  /// The maximum number of bytes returned at a time.
  private static let stepSize = 64 << 10
  private static let level: CInt = 6

  private let stream: UnsafeMutableRawPointer
  private let output = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: stepSize)
  private var filled = 0
  private var input = Data()
  private var isLast = false
  private var hasEnded = false

  init() throws(HTTPError) {
    guard let stream = martlet_deflater_new(Self.level) else {
      output.deallocate()
      throw HTTPError(.unsupported, "the body cannot be gzipped: zlib is missing, or memory is exhausted")
    }
    self.stream = stream
  }

  deinit {
    martlet_deflater_free(stream)
    output.deallocate()
  }

  static var isUsable: Bool { martlet_zlib_is_usable() }

  static func check(isUsable: Bool = isUsable) throws(HTTPError) {
    if !isUsable { throw HTTPError(.unsupported, "the body cannot be gzipped: there is no zlib (libz) on this system") }
  }

  static func gzip(_ data: Data) throws(HTTPError) -> Data {
    try check()
    do {
      let deflater = try Deflater()
      deflater.push(data)
      deflater.finish()
      var whole = Data()
      while let made = try deflater.pull() { whole += made }
      return whole
    } catch {
      throw HTTPError(.unsupported, error.message)
    }
  }

  /// Adds bytes; requires that nothing is left to pull.
  func push(_ piece: Data) { input = piece }

  func finish() { isLast = true }

  /// Compressed bytes, once a block is full or the end is reached; otherwise `nil`.
  func pull() throws(HTTPError) -> Data? {
    while !hasEnded {
      if filled == output.count { return take() }
      let before = filled
      let taken = try step()
      if hasEnded { break }
      if input.isEmpty && !isLast { return filled == output.count ? take() : nil }
      // zlib neither consumes nor produces bytes, and never would.
      guard taken > 0 || filled > before else { throw Self.failure }
    }
    return filled > 0 ? take() : nil
  }

  private func step() throws(HTTPError) -> Int {
    guard let target = output.baseAddress else { throw Self.failure }
    var taken = input.count
    var made = output.count - filled
    let code = input.withUnsafeBytes { bytes in
      let source = bytes.bindMemory(to: UInt8.self).baseAddress ?? UnsafePointer(target)
      return martlet_deflate(stream, source, &taken, target + filled, &made, isLast)
    }
    guard code >= 0 else { throw Self.failure }
    filled += made
    input = input.dropFirst(taken)
    hasEnded = code == 1
    return taken
  }

  private func take() -> Data {
    defer { filled = 0 }
    return Data(buffer: UnsafeMutableBufferPointer(rebasing: output[..<filled]))
  }

  private static var failure: HTTPError { HTTPError(.unsupported, "zlib failed to gzip the body", phase: .sending) }
}
