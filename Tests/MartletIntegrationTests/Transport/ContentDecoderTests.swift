#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct ContentDecoderTests {
    private typealias Problem = ResponseHeadReader.Problem

    private static let text = Data(CodedBodies.text.utf8)

    @Test func `decodes each coding from chunks of any size`() throws {
      #expect(CodedBodies.usable.contains { $0.name == "gzip" })
      for (name, body) in CodedBodies.usable {
        for chunk in [1, 2, 3, 7, 64, 300, .max] {
          for pulls in [0, 1, .max] {
            let decoded = try CodedBodies.decode(body, [name], chunk: chunk, pulls: pulls)
            #expect(decoded == Self.text, "\(name) by \(chunk), \(pulls) pulls")
          }
        }
      }
    }

    @Test func `fails for a body truncated at any offset`() throws {
      for (name, body) in CodedBodies.usable {
        for count in 1..<body.count {
          #expect(throws: Problem.self, "\(name), \(count) bytes") {
            try CodedBodies.decode(body.prefix(count), [name], chunk: count % 50 + 1)
          }
        }
        #expect(try CodedBodies.decode(Data(), [name]) == Data())
      }
    }

    @Test func `detects bit flips that change the content in codings with a checksum`() throws {
      for (name, body) in CodedBodies.usable where name != "br" && name != "deflate" {
        var failures = 0
        for place in 0..<(body.count * 8) {
          var damaged = body
          damaged[place / 8] ^= 1 << UInt8(place % 8)
          do throws(Problem) {
            let decoded = try Self.decode(damaged, name)
            #expect(decoded == Self.text, "\(name), bit \(place)")
          } catch {
            failures += 1
          }
        }
        #expect(failures > body.count * 7, "\(name)")
      }
    }

    @Test func `a bit flip never truncates a body in codings with a weak or no checksum`() throws {
      for (name, body) in CodedBodies.usable where name == "br" || name == "deflate" {
        var failures = 0
        for place in 0..<(body.count * 8) {
          var damaged = body
          damaged[place / 8] ^= 1 << UInt8(place % 8)
          do throws(Problem) {
            let decoded = try Self.decode(damaged, name)
            #expect(decoded == Self.text || !Self.text.starts(with: decoded), "\(name), bit \(place)")
          } catch {
            failures += 1
          }
        }
        #expect(failures > 100, "\(name)")
      }
    }

    private static func decode(_ body: Data, _ name: String) throws(Problem) -> Data {
      do {
        return try CodedBodies.decode(body, [name])
      } catch {
        throw (error as? Problem) ?? Problem(message: "\(error)")
      }
    }

    @Test func `decodes several gzip members or zstd frames as one body`() throws {
      let gzip = CodedBodies.gzip + CodedBodies.gzipOfSecond
      #expect(try CodedBodies.decode(gzip, ["gzip"], chunk: 5) == Self.text + Data("second".utf8))
      guard ContentCoding.usable.contains(.zstd) else { return }
      // A skippable frame of 3 bytes (RFC 8878 §3.1.2).
      let skipped = Data([0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3])
      let zstd = skipped + CodedBodies.zstd + skipped + skipped + CodedBodies.zstdOfSecond + skipped
      for chunk in [1, 4, 100, .max] {
        #expect(try CodedBodies.decode(zstd, ["zstd"], chunk: chunk) == Self.text + Data("second".utf8))
      }
      #expect(throws: Problem.self) { try CodedBodies.decode(zstd.dropLast(), ["zstd"]) }
      #expect(throws: Problem.self) { try CodedBodies.decode(gzip.dropLast(3), ["gzip"]) }
    }

    @Test func `ignores trailing data after gzip and rejects it after other codings`() throws {
      // The second octet of the rest is the first octet of a gzip member.
      let rest = Data([0x00, 0x1F, 0x8B])
      for (name, body) in CodedBodies.usable {
        for chunk in [1, .max] {
          if !name.hasSuffix("gzip") {
            let problem = #expect(throws: Problem.self) { try CodedBodies.decode(body + rest, [name], chunk: chunk) }
            #expect(problem?.message.contains("continues after its end") == true)
          } else {
            #expect(try CodedBodies.decode(body + rest, [name], chunk: chunk) == Self.text)
          }
        }
      }
    }

    @Test func `accepts only standard zstd frames with windows of up to 8 MiB`() throws {
      guard ContentCoding.usable.contains(.zstd) else { return }
      // A format from before the standard, which libzstd may support.
      let old = Data([0x25, 0xB5, 0x2F, 0xFD]) + CodedBodies.zstd.dropFirst(4)
      #expect(throws: Problem.self) { try CodedBodies.decode(old, ["zstd"]) }
      // The octet after the descriptor contains the window (RFC 8878 §3.1.1.1.2); an empty last block follows.
      let large = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x68, 0x01, 0x00, 0x00])
      #expect(try CodedBodies.decode(large, ["zstd"]) == Data())
      var tooLarge = large
      tooLarge[5] = 0x69
      let problem = #expect(throws: Problem.self) { try CodedBodies.decode(tooLarge, ["zstd"]) }
      #expect(problem?.message.contains("8 MiB") == true)
    }

    @Test func `decodes at most 64 KiB per step`() throws {
      guard ContentCoding.usable.contains(.zstd) else { return }
      var largest = 0
      let decoded = try CodedBodies.decode(CodedBodies.zstdOfMebibyte, ["zstd"]) { largest = max(largest, $0.count) }
      #expect(decoded.count == 1 << 20)
      #expect(largest == 64 << 10)
    }

    @Test func `decodes up to five codings and ignores identity`() throws {
      let names = ["gzip", "identity", "BR", "zstd"]
      if ContentCoding.usable == ContentCoding.allCases {
        let decoded = try CodedBodies.decode(CodedBodies.gzipThenBrotliThenZstd, names, chunk: 1)
        #expect(decoded == Data(String(repeating: "martlet ", count: 200).utf8))
      }
      #expect(try ContentDecoder(["identity"]) == nil)
      #expect(try ContentDecoder([]) == nil)
      #expect(try ContentDecoder(["gzip", "gzip", "gzip", "gzip", "gzip", "identity"]) != nil)
      #expect(throws: Problem.self) { try ContentDecoder(["gzip", "gzip", "gzip", "gzip", "gzip", "zz"]) }
    }

    @Test func `does not decode unknown codings or codings whose library is missing`() throws {
      #expect(try ContentDecoder(["zz"]) == nil)
      #expect(try ContentDecoder(["gzip", "zz"]) == nil)
      #expect(try ContentDecoder(["br"], usable: [.gzip, .deflate]) == nil)
      #expect(try ContentDecoder(["gzip"], usable: []) == nil)
      #expect(ContentCoding.fieldValue(for: ContentCoding.allCases) == "gzip, deflate, br, zstd")
      #expect(ContentCoding.fieldValue(for: [.gzip, .deflate]) == "gzip, deflate")
      #expect(ContentCoding.fieldValue(for: []).isEmpty)
    }

    @Test func `rejects a body that expands beyond 200:1 and 1 MiB`() throws {
      for (name, bomb) in try [
        ("gzip", CodedBodies.gzipBomb()), ("br", CodedBodies.brotliBomb), ("zstd", CodedBodies.zstdBomb),
      ] where ContentCoding.usable.contains(where: { $0.name == name }) {
        var count = 0
        let problem = #expect(throws: Problem.self) {
          try CodedBodies.decode(bomb, [name], chunk: 256) { count += $0.count }
        }
        #expect(problem?.message.contains("200:1") == true, "\(name)")
        #expect(problem?.message.contains("bomb") == true, "\(name)")
        #expect(count <= (1 << 20) + (64 << 10), "\(name)")
        #expect(count > (1 << 20) - (64 << 10), "\(name)")
      }
    }

    @Test func `rejects more than 1 MiB of input without content`() throws {
      // An empty gzip member, an empty zstd frame, and a skippable frame. Bytes after a gzip member are ignored.
      let member = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
      let frame = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58, 0x01, 0x00, 0x00])
      let skipped = Data([0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3])
      // Empty deflate blocks (RFC 1951 §3.2.4), bare and in zlib's format, and empty br blocks (RFC 7932 §9.2), each
      // with a last block.
      let (stored, last) = (Data([0, 0, 0, 0xFF, 0xFF]), Data([1, 0, 0, 0xFF, 0xFF]))
      for (name, start, empty, end) in [
        ("gzip", Data(), member, Data()), ("gzip", member, Data([0]), Data()), ("zstd", Data(), frame, Data()),
        ("zstd", Data(), skipped, Data()), ("gzip", member.prefix(10), stored, last + Data(count: 8)),
        ("deflate", Data([0x78, 0x9C]), stored, last + Data([0, 0, 0, 1])), ("deflate", Data(), stored, last),
        ("br", Data([0x0C]), Data([0x06]), Data([0x03])),
      ] where ContentCoding.usable.contains(where: { $0.name == name }) {
        let count = CodingStage.maximumBarrenBytes / empty.count - 100
        let short = start + CodedBodies.repeated(empty, count)
        #expect(try CodedBodies.decode(short + end, [name], chunk: 1 << 14) == Data(), "\(name)")
        let problem = #expect(throws: Problem.self) {
          try CodedBodies.decode(short + CodedBodies.repeated(empty, 200) + end, [name], chunk: 1 << 14)
        }
        #expect(problem?.message.contains("without content") == true, "\(name)")
      }
    }

    @Test func `the expansion limit allows exactly 1 MiB and includes intermediate codings`() throws {
      guard ContentCoding.usable.contains(.zstd) else { return }
      #expect(try CodedBodies.decode(CodedBodies.zstdOfMebibyte, ["zstd"]).count == 1 << 20)
      #expect(throws: Problem.self) {
        try CodedBodies.decode(CodedBodies.zstdOfMebibyte + CodedBodies.zstdOfSecond, ["zstd"])
      }
      // A frame that contains the head of a skippable frame of 2 GiB, so the second decoder produces nothing.
      let head = Data([
        0x28, 0xB5, 0x2F, 0xFD, 0x20, 8, 0x41, 0, 0, 0x50, 0x2A, 0x4D, 0x18, 0xFF, 0xFF, 0xFF, 0x7F,
      ])
      let problem = #expect(throws: Problem.self) {
        try CodedBodies.decode(head + CodedBodies.zstdBomb, ["zstd", "zstd"], chunk: 1024)
      }
      #expect(problem?.message.contains("200:1") == true)
    }

    @Test func `reports a failure on every later call`() throws {
      let decoder = try #require(try ContentDecoder(["gzip"]))
      let bytes: [UInt8] = [0x1F, 0x8B, 0xFF, 0xFF]
      for _ in 0..<2 {
        #expect(throws: Problem.self) {
          try bytes.withUnsafeBufferPointer { bytes in
            _ = try decoder.push(bytes) { () throws(ResponseHeadReader.Problem) in try decoder.pull() }
          }
        }
      }
      #expect(throws: Problem.self) { try decoder.pull() }
    }
  }
#endif
