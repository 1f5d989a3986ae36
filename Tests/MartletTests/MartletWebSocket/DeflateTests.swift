import CMartletShim
import MartletBase
import TestSupport
import Testing

@testable import MartletWebSocket

@Suite struct DeflateTests {
  private static func read(_ bytes: String, _ deflate: PermessageDeflate = PermessageDeflate()) -> ReadEvents {
    ReadEvents(MessageReader(.client, deflate: deflate), [hex(bytes)])
  }

  // RFC 7692 §7.2.3.
  @Test(arguments: [
    "c1 07 f248cdc9c90700", "41 03 f248cd 80 04 c9c90700", "c1 0b 000500faff48656c6c6f00", "c1 08 f348cdc9c9070000",
    "c1 0d f248050000 00ffff cac9c90700",
  ])
  func `decodes the examples of RFC 7692`(_ bytes: String) {
    #expect(Self.read(bytes).events == [.text("Hello")])
    let single = ReadEvents(MessageReader(.client, deflate: PermessageDeflate()), singleBytes(hex(bytes)))
    #expect(single.events == [.text("Hello")])
  }

  @Test func `encodes the examples of RFC 7692`() throws {
    let context = try #require(DeflateContext(windowBits: 15, keepsContext: true))
    #expect(try context.compress("Hello") == hex("f248cdc9c90700"))
    #expect(try context.compress("Hello") == hex("f200110000"))
    let reset = try #require(DeflateContext(windowBits: 15, keepsContext: false))
    #expect(try reset.compress("Hello") == hex("f248cdc9c90700"))
    #expect(try reset.compress("Hello") == hex("f248cdc9c90700"))
  }

  @Test func `decodes messages that refer to previous messages`() {
    #expect(Self.read("c1 07 f248cdc9c90700 c1 05 f200110000").events == [.text("Hello"), .text("Hello")])
    let alone = Self.read("c1 07 f248cdc9c90700 c1 05 f200110000", PermessageDeflate(serverNoContextTakeover: true))
    #expect(alone.events == [.text("Hello")])
    #expect(alone.violation == WebSocketViolation(.invalidFramePayloadData, "a compressed message is corrupt"))
  }

  @Test func `keeps the window after a final block`() {
    #expect(Self.read("c1 08 f348cdc9c9070000 c1 05 f200110000").events == [.text("Hello"), .text("Hello")])
    // The final block ends the message, without an empty block after it.
    #expect(Self.read("c1 07 f348cdc9c90700 c1 05 f200110000").events == [.text("Hello"), .text("Hello")])
  }

  @Test func `encodes an empty message as one octet`() throws {
    let context = try #require(DeflateContext(windowBits: 15, keepsContext: true))
    #expect(try context.compress("") == hex("00"))
    #expect(try context.compress("Hello") == hex("f248cdc9c90700"))
    #expect(try context.compress("") == hex("00"))
    #expect(Self.read("c1 01 00 c1 00 c1 07 f248cdc9c90700").events == [.text(""), .text(""), .text("Hello")])
  }

  @Test func `flushes each part of a message`() throws {
    var writer = MessageWriter(.server, deflate: PermessageDeflate())
    var reader = MessageReader(.client, deflate: PermessageDeflate(), delivery: .parts)
    reader.append(try writer.part(.text, Data("Hello".utf8), isLast: false))
    #expect(writer.isInsideMessage)
    #expect(try reader.next() == .part(.text, Data("Hello".utf8), isFirst: true, isLast: false))
    #expect(try reader.next() == nil)
    reader.append(try writer.part(.text, Data(), isLast: true))
    #expect(try reader.next() == .part(.text, Data(), isFirst: false, isLast: true))
    #expect(!writer.isInsideMessage)
  }

  @Test(arguments: 9...15, [true, false])
  func `compresses with each window`(_ bits: Int, _ keepsContext: Bool) throws {
    var generator = SeededGenerator(seed: UInt64(bits))
    let deflate = PermessageDeflate(serverNoContextTakeover: !keepsContext, serverMaxWindowBits: bits)
    var writer = MessageWriter(.server, deflate: deflate)
    var reader = MessageReader(.client, deflate: deflate)
    let block = Data((0..<700).map { _ in UInt8.random(in: 0...255, using: &generator) })
    for count in [0, 1, 3, 100] {
      let message = Data(repeatElement(block, count: count).joined())
      let frame = try writer.binary(message)
      if count == 100 {
        // Repetitions at a distance of 700 bytes are only found in windows of 1 KiB and more.
        #expect((frame.count < message.count / 4) == (bits > 9))
      }
      reader.append(frame)
      #expect(try reader.next() == .binary(message))
    }
  }

  @Test func `sends uncompressed messages if the window has 8 bits`() throws {
    #expect(DeflateContext(windowBits: 8, keepsContext: true) == nil)
    var writer = MessageWriter(.server, deflate: PermessageDeflate(serverMaxWindowBits: 8))
    #expect(try writer.text("Hello") == hex("81 05 48656c6c6f"))
  }

  @Test func `leaves small messages uncompressed`() throws {
    var writer = MessageWriter(.server, deflate: PermessageDeflate(), minimumCompressedBytes: 6)
    #expect(try writer.text("Hello") == hex("81 05 48656c6c6f"))
    #expect(try writer.text("Hello!").first == 0xC1)
  }

  @Test func `stops a decompression bomb at the limit`() throws {
    var writer = MessageWriter(.server, deflate: PermessageDeflate())
    let bomb = try writer.binary(Data(count: 32 << 20))
    #expect(bomb.count < 64 << 10)
    let limits = MessageReader.Limits(maximumMessageBytes: 1 << 20)
    for delivery in [MessageReader.Delivery.messages, .parts] {
      let read = ReadEvents(
        MessageReader(.client, limits: limits, deflate: PermessageDeflate(), delivery: delivery), [bomb])
      #expect(read.violation?.code == .messageTooBig)
      #expect(read.joined.isEmpty)
    }
  }

  @Test func `decompresses in steps of bounded size`() throws {
    var writer = MessageWriter(.server, deflate: PermessageDeflate())
    let read = ReadEvents(
      MessageReader(.client, deflate: PermessageDeflate(), delivery: .parts), [try writer.binary(Data(count: 1 << 20))])
    #expect(read.joined == [.binary(Data(count: 1 << 20))])
    for case .part(_, let part, _, _) in read.events { #expect(part.count <= InflateContext.stepSize) }
  }

  /// The size of the previous message determines how much memory is requested.
  @Test(arguments: [1, 7, 1000, .max], [true, false])
  func `expands messages of different sizes that arrive in chunks`(_ size: Int, _ keepsContext: Bool) throws {
    var generator = SeededGenerator(seed: 7)
    let deflate = PermessageDeflate(serverNoContextTakeover: !keepsContext)
    var writer = MessageWriter(.server, deflate: deflate)
    var (stream, messages) = (Data(), [WebSocketEvent]())
    for count in [200_000, 3, 0, 40_000, 65_536, 65_537, 1, 32_768, 32_769, 130, 200_000] {
      // Digits compress to about half of their size.
      let message = Data((0..<count).map { _ in UInt8.random(in: 48...57, using: &generator) })
      stream += try writer.binary(message)
      messages.append(.binary(message))
    }
    let step = min(size, stream.count)
    let chunks = stride(from: 0, to: stream.count, by: step).map { stream.dropFirst($0).prefix(step) }

    let read = ReadEvents(MessageReader(.client, deflate: deflate), chunks)

    #expect(read.violation == nil && read.events == messages)
    // A program may use indices from 0.
    for case .binary(let data) in read.events { #expect(data.startIndex == 0) }
  }

  @Test(arguments: ["c1 06 f248cdc9c907", "c1 03 f248cd"])
  func `rejects truncated messages`(_ bytes: String) {
    #expect(Self.read(bytes).events.isEmpty)
    #expect(Self.read(bytes).violation?.code == .invalidFramePayloadData)
  }

  @Test func `rejects corrupt messages`() {
    #expect(
      Self.read("c2 02 ffff").violation
        == WebSocketViolation(.invalidFramePayloadData, "a compressed message is corrupt"))
  }

  @Test func `rejects unsupported windows of the compressor`() {
    #expect(martlet_deflater_new_raw(6, 8, 8) == nil)
    #expect(martlet_deflater_new_raw(6, 16, 8) == nil)
  }
}
