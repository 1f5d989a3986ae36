package import MartletBase
package import MartletWebSocket

/// Streams of frames for fuzzing, as a server sends them.
package enum WebSocketStreams {
  /// Encodes random messages, control frames and a close frame.
  ///
  /// - Throws: A violation if compressing fails.
  package static func messages(
    _ deflate: PermessageDeflate? = nil, using generator: inout some RandomNumberGenerator
  ) throws -> Data {
    var writer = MessageWriter(.server, deflate: deflate)
    var bytes = Data()
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      let size = [0, 1, 5, 125, 126, 300, 2_000].randomElement(using: &generator) ?? 0
      switch Int.random(in: 0..<6, using: &generator) {
      case 0:
        bytes += try writer.text(String(repeating: "aé€😀".randomElement(using: &generator) ?? "a", count: size / 4))
      case 1: bytes += try writer.binary(Data((0..<size).map { _ in UInt8.random(in: 0...3, using: &generator) }))
      case 2: bytes += writer.ping(Data(count: size))
      case 3: bytes += writer.pong(Data(count: size))
      default:
        for part in 0..<4 { bytes += try writer.part(.text, Data("é\(part)".utf8), isLast: part == 3) }
      }
    }
    return bytes + writer.close(.normalClosure, reason: "done")
  }

  /// Changes, removes or repeats some bytes, or truncates the stream.
  package static func mutate(_ bytes: inout Data, using generator: inout some RandomNumberGenerator) {
    guard !bytes.isEmpty else { return }
    // Most mutations are near the start, because nothing after a violation is read.
    let bound = Bool.random(using: &generator) ? min(bytes.count, 40) : bytes.count
    let place = Int.random(in: 0..<bound, using: &generator)
    switch Int.random(in: 0..<5, using: &generator) {
    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
    case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
    case 2: bytes = bytes[..<place] + bytes[min(bytes.count, place + 3)...]
    case 3: bytes = bytes[..<place] + bytes[place..<min(bytes.count, place + 20)] + bytes[place...]
    default: bytes = bytes[..<place] + Data()
    }
  }

  /// The bytes in chunks of random sizes.
  package static func divided(_ bytes: Data, using generator: inout some RandomNumberGenerator) -> [Data] {
    var (chunks, rest): ([Data], Data) = ([], bytes)
    while !rest.isEmpty {
      let count = min(
        rest.count, Int.random(in: 1...([1, 7, 1_000].randomElement(using: &generator) ?? 1), using: &generator))
      chunks.append(Data(rest.prefix(count)))
      rest = Data(rest.dropFirst(count))
    }
    return chunks
  }
}
