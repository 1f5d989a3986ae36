import CMartletShim
import MartletBase

/// Compresses chunks with a library of the system.
///
/// ```
///   push ─▶ pull … pull ─▶ nil ─▶ push …      finish ─▶ pull … pull ─▶ nil: the end
/// ```
final class Compressor {
  /// The maximum number of bytes returned at a time.
  private static let stepSize = 64 << 10
  private let coding: HTTPBody.Compression
  private let stream: UnsafeMutableRawPointer
  private let output = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: stepSize)
  private var filled = 0
  private var input = Data()
  private var isLast = false
  private var hasEnded = false

  init(_ coding: HTTPBody.Compression) throws(HTTPError) {
    guard let stream = coding.makeEncoder() else {
      output.deallocate()
      throw HTTPError(
        .unsupported, "the body cannot be \(coding.participle): \(coding.library) is missing, or memory is exhausted")
    }
    (self.coding, self.stream) = (coding, stream)
  }

  deinit {
    coding.free(stream)
    output.deallocate()
  }

  /// Throws if the system lacks a coding's library.
  static func check(_ coding: HTTPBody.Compression, isUsable: Bool? = nil) throws(HTTPError) {
    guard !(isUsable ?? coding.isUsable) else { return }
    throw HTTPError(
      .unsupported, "the body cannot be \(coding.participle): there is no \(coding.library) on this system")
  }

  static func compress(_ data: Data, _ coding: HTTPBody.Compression) throws(HTTPError) -> Data {
    try check(coding)
    do {
      let compressor = try Compressor(coding)
      compressor.push(data)
      compressor.finish()
      var whole = Data()
      while let made = try compressor.pull() { whole += made }
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
      // The library neither consumes nor produces bytes, and never would.
      guard taken > 0 || filled > before else { throw failure }
    }
    return filled > 0 ? take() : nil
  }

  private func step() throws(HTTPError) -> Int {
    guard let target = output.baseAddress else { throw failure }
    var taken = input.count
    var made = output.count - filled
    let code = input.withUnsafeBytes { bytes in
      let source = bytes.bindMemory(to: UInt8.self).baseAddress ?? UnsafePointer(target)
      return coding.encode(stream, source, &taken, target + filled, &made, isLast)
    }
    guard code >= 0 else { throw failure }
    filled += made
    input = input.dropFirst(taken)
    hasEnded = code == 1
    return taken
  }

  private func take() -> Data {
    defer { filled = 0 }
    return Data(buffer: UnsafeMutableBufferPointer(rebasing: output[..<filled]))
  }

  private var failure: HTTPError {
    HTTPError(.unsupported, "\(coding.library) failed to compress the body", phase: .sending)
  }
}

extension HTTPBody.Compression {
  var library: String {
    switch self {
    case .gzip: "zlib (libz)"
    case .brotli: "libbrotlienc"
    case .zstd: "libzstd"
    }
  }

  fileprivate var participle: String { self == .gzip ? "gzipped" : "compressed with \(rawValue)" }

  /// Whether the system has the library.
  var isUsable: Bool {
    switch self {
    case .gzip: martlet_zlib_is_usable()
    #if os(Linux)
      case .brotli: martlet_brotli_encodes()
      case .zstd: martlet_zstd_encodes()
    #else
      case .brotli, .zstd: false
    #endif
    }
  }

  fileprivate func makeEncoder() -> UnsafeMutableRawPointer? {
    switch self {
    case .gzip: martlet_deflater_new(6)
    #if os(Linux)
      // Brotli's default, 11, needs about fifty times as long as 5. The default windows, of 4 MiB and 2 MiB, would need
      // several times the memory of 256 KiB.
      case .brotli: martlet_brotli_encoder_new(5, 18)
      case .zstd: martlet_zstd_encoder_new(3, 18)
    #else
      case .brotli, .zstd: nil
    #endif
    }
  }

  fileprivate func free(_ encoder: UnsafeMutableRawPointer) {
    switch self {
    case .gzip: martlet_deflater_free(encoder)
    #if os(Linux)
      case .brotli: martlet_brotli_encoder_free(encoder)
      case .zstd: martlet_zstd_encoder_free(encoder)
    #else
      case .brotli, .zstd: break
    #endif
    }
  }

  /// Encodes as `martlet_deflate` does.
  fileprivate func encode(
    _ encoder: UnsafeMutableRawPointer, _ input: UnsafePointer<UInt8>, _ inputLength: inout Int,
    _ output: UnsafeMutablePointer<UInt8>, _ outputLength: inout Int, _ isLast: Bool
  ) -> CInt {
    switch self {
    case .gzip: martlet_deflate(encoder, input, &inputLength, output, &outputLength, isLast)
    #if os(Linux)
      case .brotli: martlet_brotli_encode(encoder, input, &inputLength, output, &outputLength, isLast)
      case .zstd: martlet_zstd_encode(encoder, input, &inputLength, output, &outputLength, isLast)
    #else
      case .brotli, .zstd: -1
    #endif
    }
  }
}
