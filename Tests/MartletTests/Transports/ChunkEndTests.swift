#if os(Linux)
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct ChunkEndTests {
    /// Reads the beginning of a text in chunks of one size.
    private static func end(_ text: String, first count: Int = .max, by size: Int) -> ChunkEnd {
      var end = ChunkEnd()
      let bytes = Array(text.utf8.prefix(count))
      for start in stride(from: 0, to: bytes.count, by: size) {
        bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { end.read($0) }
      }
      return end
    }

    @Test(arguments: [
      "0\r\n\r\n", "000\r\n\r\n", "0;a=b\r\n\r\n", "0\n\n", "5\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n",
      // Data that looks like the last chunk, and trailers.
      "A;x\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\nX: y\r\nZ:\r\n\r\n", "1;0\r\n0\r\n0;1\r\n\r\n",
      // An extension ends with its line, even within quotes.
      "2;\"0\r\nab\r\n0\r\n\r\n",
    ]) func `ends at the empty line after the trailers, wherever the bytes are split`(text: String) {
      for size in 1...text.utf8.count {
        #expect(Self.end(text, by: size).hasEnded)
        #expect(!Self.end(text, by: size).hasLeftovers && !Self.end(text, by: size).isMalformed)
        for more in ["X", "\r\n", "HTTP/1.1 200"] {
          let end = Self.end(text + more, by: size)
          #expect(end.hasEnded && end.hasLeftovers && !end.isMalformed)
        }
        for count in 0..<text.utf8.count { #expect(!Self.end(text, first: count, by: size).hasEnded) }
      }
    }

    @Test(arguments: [
      "FFFFFFFFFFFFFFFFFFFF", "8000000000000000", "7FFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFF", "10000000000000000",
      "ffffffff", "5;0", "1",
    ]) func `does not end if the chunk size is invalid or bytes are missing`(size: String) {
      for count in 1...7 {
        #expect(!Self.end("\(size)\r\n0\r\n\r", by: count).hasEnded)
        if size.count > 3 { #expect(!Self.end("\(size)\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n", by: count).hasEnded) }
      }
    }

    @Test(arguments: [
      "5g", "5_0", "0x5", "5.0", "5 0", "5 g", "5\t5", "5\r0", "5;a\rb", "5 \r\r", "-5", "+5", " 5x", "g", "5\0", "5,5",
      "8000000000000000", "FFFFFFFFFFFFFFFFFFFF", "", " ", ";x", " 5", "\t5",
    ]) func `a malformed chunk size has no end, wherever the bytes are split`(size: String) {
      for count in 1...7 {
        let end = Self.end("1\r\nx\r\n\(size)\r\nhello\r\n0\r\n\r\n0\r\n\r\n", by: count)
        #expect(end.isMalformed && !end.hasEnded && !end.hasLeftovers)
      }
    }

    @Test(arguments: ["y\r\n", "0\r\n", "\ry\n", " \r\n", "\0\n"])
    func `only a line end follows the data of a chunk`(text: String) {
      for count in 1...7 {
        let end = Self.end("1\r\nx\(text)0\r\n\r\n0\r\n\r\n", by: count)
        #expect(end.isMalformed && !end.hasEnded)
      }
    }

    @Test(arguments: ["5", "05", "5;", "5 ; a", "5\t", "5;a=\"\t g\"", "5  "], ["\r\n", "\n"])
    func `a size may be followed by blanks and an extension`(size: String, lineEnd: String) {
      let end = Self.end("\(size)\(lineEnd)hello\r\n0\r\n\r\n", by: 1)

      #expect(end.hasEnded && !end.isMalformed)
    }

    @Test func `separates data and trailers from the chunk framing, wherever bytes are split`() {
      let text = "A;x=y\r\n0\r\n\r\n0\r\n\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\nZ:\r\n\r\nmore"
      for size in 1...text.utf8.count {
        var end = ChunkEnd()
        var (data, trailers) = ("", "")
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
          var rest = bytes[start..<min(start + size, bytes.count)]
          while !rest.isEmpty {
            let (count, kind) = rest.withUnsafeBytes { end.readNext($0) }
            let part = String(decoding: rest.prefix(count), as: UTF8.self)
            if kind == .data { data += part } else if kind == .trailers { trailers += part }
            rest = rest.dropFirst(count)
          }
        }
        #expect(data == "0\r\n\r\n0\r\n\r\nabc" && trailers == "X: y\r\nZ:\r\n\r\n")
        #expect(end.hasEnded)
      }
    }

    @Test func `accepts arbitrary bytes`() {
      var generator = SeededGenerator(seed: 14)
      let alphabet = Array("0019aFf;x \r\n\r\n\r\n\u{ff}".utf8)
      for _ in 0..<2000 {
        var end = ChunkEnd()
        for _ in 0..<20 {
          let bytes = (0..<Int.random(in: 0..<20, using: &generator)).map { _ in
            alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
          }
          let hadEnded = end.hasEnded
          bytes.withUnsafeBytes { end.read($0) }
          #expect(!hadEnded || end.hasEnded)
        }
      }
    }
  }
#endif
