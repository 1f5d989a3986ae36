import CMartletShim

/// A content coding that a system library decodes.
///
/// See RFC 9110 §8.4.1, RFC 7932 and RFC 8878. The creator of a decoder, a pointer, owns it.
package enum ContentCoding: String, CaseIterable {
  case gzip, deflate
  case brotli = "br"
  case zstd

  enum Outcome {
    case more
    case ended
    case corrupt
    /// The stream needs more memory than RFC 9659 §3 allows.
    case windowTooLarge
  }

  /// The data after the end of a coded stream.
  enum TrailingData {
    /// Another stream, which continues the body.
    case stream
    /// Meaningless bytes.
    case ignored
    case illegal
  }

  /// 8 MiB, the largest window that a receiver has to support (RFC 9659 §3).
  private static let zstdWindowLog: CInt = 23

  /// The codings whose libraries are available, in order of preference.
  package static let usable = allCases.filter(\.isUsable)

  /// The value of `Accept-Encoding` for the usable codings; empty for none.
  package static let accepted = fieldValue(for: usable)

  package static func fieldValue(for codings: [ContentCoding]) -> String { codings.map(\.name).joined(separator: ", ") }

  /// Creates a coding from its name in lower case; `nil` for an unknown one.
  package init?(named name: String) {
    // A recipient should treat `x-gzip` as `gzip` (RFC 9110 §8.4.1.3).
    self.init(rawValue: name == "x-gzip" ? "gzip" : name)
  }

  package var name: String { rawValue }

  private var isUsable: Bool {
    switch self {
    case .gzip, .deflate: martlet_zlib_is_usable()
    case .brotli: martlet_brotli_is_usable()
    case .zstd: martlet_zstd_is_usable()
    }
  }

  /// Creates a decoder for a stream that begins with a byte; `nil` without memory.
  func makeDecoder(for first: UInt8) -> UnsafeMutableRawPointer? {
    switch self {
    case .gzip: martlet_inflater_new(15 + 16)
    // The standard requires zlib's format (RFC 1950), but many servers send raw deflate (RFC 1951).
    case .deflate: martlet_inflater_new(first & 0x0F == 8 && first >> 4 <= 7 ? 15 : -15)
    case .brotli: martlet_brotli_new()
    case .zstd: martlet_zstd_new(Self.zstdWindowLog)
    }
  }

  func free(_ decoder: UnsafeMutableRawPointer) {
    switch self {
    case .gzip, .deflate: martlet_inflater_free(decoder)
    case .brotli: martlet_brotli_free(decoder)
    case .zstd: martlet_zstd_free(decoder)
    }
  }

  func restart(_ decoder: UnsafeMutableRawPointer) -> Bool {
    // libzstd restarts automatically.
    self == .zstd || martlet_inflater_reset(decoder)
  }

  func mayBegin(with first: UInt8) -> Bool {
    switch self {
    case .gzip: first == 0x1F
    case .deflate, .brotli: true
    // A frame or a skippable frame (RFC 8878 §3.1). libzstd may support older formats, which are not this coding.
    case .zstd: first == 0x28 || first >> 4 == 5
    }
  }

  func sequel(_ next: UInt8) -> TrailingData {
    switch self {
    // Several members or frames are one body (RFC 1952 §2.2, RFC 8878 §3.1).
    case .gzip: mayBegin(with: next) ? .stream : .ignored
    case .zstd: mayBegin(with: next) ? .stream : .illegal
    // These have no strong checksum, so surplus bytes are a sign of damage.
    case .deflate, .brotli: .illegal
    }
  }

  /// Decodes a part; the counts become the numbers consumed and produced.
  func decode(
    _ decoder: UnsafeMutableRawPointer, _ input: UnsafePointer<UInt8>, _ taken: inout Int,
    _ output: UnsafeMutablePointer<UInt8>, _ made: inout Int
  ) -> Outcome {
    let code =
      switch self {
      case .gzip, .deflate: martlet_inflate(decoder, input, &taken, output, &made)
      case .brotli: martlet_brotli_decode(decoder, input, &taken, output, &made)
      case .zstd: martlet_zstd_decode(decoder, input, &taken, output, &made)
      }
    switch code {
    case 0: return .more
    case 1: return .ended
    case -2: return .windowTooLarge
    default: return .corrupt
    }
  }
}
