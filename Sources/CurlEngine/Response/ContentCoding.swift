import CMartletShim

/// A content coding that a system library undoes (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
///
/// A decoder is a pointer that belongs to whoever made it.
package enum ContentCoding: CaseIterable {
  case gzip, deflate, brotli, zstd

  enum Outcome {
    case more
    case ended
    case corrupt
    /// It would need more memory than RFC 9659 §3 lets it.
    case windowTooLarge
  }

  /// What may come after the end of a coded stream.
  enum Sequel {
    /// Another stream, which continues the body.
    case stream
    /// Bytes that mean nothing.
    case ignored
    case illegal
  }

  /// 8 MiB, the most that a receiver has to support (RFC 9659 §3).
  private static let zstdWindowLog: CInt = 23

  /// The codings whose libraries this machine has, in the order they are asked for.
  package static let usable = allCases.filter(\.isUsable)

  /// The value of `Accept-Encoding` that asks for them; empty for none.
  package static let accepted = fieldValue(for: usable)

  package static func fieldValue(for codings: [ContentCoding]) -> String { codings.map(\.name).joined(separator: ", ") }

  /// The coding with a name in lower case, or `nil` for an unknown one.
  package init?(named name: String) {
    // A recipient should treat `x-gzip` as `gzip` (RFC 9110 §8.4.1.3).
    let name = name == "x-gzip" ? "gzip" : name
    guard let coding = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = coding
  }

  package var name: String {
    switch self {
    case .gzip: "gzip"
    case .deflate: "deflate"
    case .brotli: "br"
    case .zstd: "zstd"
    }
  }

  private var isUsable: Bool {
    switch self {
    case .gzip, .deflate: martlet_zlib_is_usable()
    case .brotli: martlet_brotli_is_usable()
    case .zstd: martlet_zstd_is_usable()
    }
  }

  /// Makes a decoder for a stream that begins with a byte; `nil` without memory.
  func makeDecoder(for first: UInt8) -> UnsafeMutableRawPointer? {
    switch self {
    case .gzip: martlet_inflater_new(15 + 16)
    // By the standard it is zlib's format (RFC 1950); many send it bare (RFC 1951).
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
    // libzstd does that by itself.
    self == .zstd || martlet_inflater_reset(decoder)
  }

  func mayBegin(with first: UInt8) -> Bool {
    switch self {
    case .gzip: first == 0x1F
    case .deflate, .brotli: true
    // A frame or one to be skipped (RFC 8878 §3.1); libzstd may know older formats, which are not this coding.
    case .zstd: first == 0x28 || first >> 4 == 5
    }
  }

  /// What a byte after the end of a stream is the beginning of.
  func sequel(_ next: UInt8) -> Sequel {
    switch self {
    // Members and frames are one body (RFC 1952 §2.2, RFC 8878 §3.1).
    case .gzip: mayBegin(with: next) ? .stream : .ignored
    case .zstd: mayBegin(with: next) ? .stream : .illegal
    // Without a checksum of any strength, what is left over is how damage shows.
    case .deflate, .brotli: .illegal
    }
  }

  /// Decodes a part; the counts become what was taken and made.
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
