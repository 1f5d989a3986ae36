import MartletBase
import Testing

@testable import MartletWebSocket

@Suite struct FrameTests {
  private static func encode(
    _ opcode: WebSocketFrame.Opcode, _ payload: Data, isFinal: Bool = true, key: UInt32? = nil
  ) -> Data {
    payload.withUnsafeBytes { FrameCoding.encode(opcode, $0, isFinal: isFinal, key: key) }
  }

  // RFC 6455 §5.7.
  @Test func `encodes the examples of RFC 6455`() {
    let hello = Data("Hello".utf8)
    #expect(Self.encode(.text, hello) == hex("81 05 48656c6c6f"))
    #expect(Self.encode(.text, hello, key: 0x37FA_213D) == hex("81 85 37fa213d 7f9f4d5158"))
    #expect(Self.encode(.text, hello.prefix(3), isFinal: false) == hex("01 03 48656c"))
    #expect(Self.encode(.continuation, hello.suffix(2)) == hex("80 02 6c6f"))
    #expect(Self.encode(.ping, hello) == hex("89 05 48656c6c6f"))
    #expect(Self.encode(.pong, hello, key: 0x37FA_213D) == hex("8a 85 37fa213d 7f9f4d5158"))
    #expect(Self.encode(.binary, Data(count: 256)).prefix(4) == hex("82 7e 0100"))
    #expect(Self.encode(.binary, Data(count: 65536)).prefix(10) == hex("82 7f 0000000000010000"))
  }

  @Test func `decodes the examples of RFC 6455`() {
    let client = MessageReader(.client)
    #expect(ReadEvents(client, [hex("81 05 48656c6c6f")]).events == [.text("Hello")])
    #expect(ReadEvents(client, [hex("01 03 48656c 80 02 6c6f")]).events == [.text("Hello")])
    #expect(ReadEvents(client, [hex("89 05 48656c6c6f")]).events == [.ping(Data("Hello".utf8))])
    #expect(ReadEvents(client, [hex("82 7e 0100") + Data(count: 256)]).events == [.binary(Data(count: 256))])
    let large = Data(count: 65536)
    #expect(ReadEvents(client, [hex("82 7f 0000000000010000") + large]).events == [.binary(large)])
    let server = MessageReader(.server)
    #expect(ReadEvents(server, [hex("81 85 37fa213d 7f9f4d5158")]).events == [.text("Hello")])
    #expect(ReadEvents(server, [hex("8a 85 37fa213d 7f9f4d5158")]).events == [.pong(Data("Hello".utf8))])
  }

  @Test(arguments: [(0, 2), (125, 2), (126, 4), (65535, 4), (65536, 10)])
  func `uses the shortest length`(_ length: Int, _ header: Int) {
    let payload = Data(repeating: 7, count: length)
    #expect(Self.encode(.binary, payload).count == header + length)
    let masked = Self.encode(.binary, payload, key: 0x0102_0304)
    #expect(masked.count == header + 4 + length)
    #expect(ReadEvents(MessageReader(.server), [masked]).events == [.binary(payload)])
  }

  @Test func `masks each octet with its octet of the key`() {
    let key: UInt32 = 0x0102_0408
    let octets: [UInt8] = [1, 2, 4, 8]
    for count in 0...70 {
      for offset in 0..<4 {
        var bytes = (0..<count).map { UInt8($0) }
        bytes.withUnsafeMutableBytes { FrameMask(key: key).apply(to: $0, at: offset) }
        #expect(bytes == (0..<count).map { UInt8($0) ^ octets[($0 + offset) & 3] })
      }
    }
  }

  @Test func `masks frames with distinct keys`() {
    var writer = FrameWriter(.client)
    let frames = Set((0..<50).map { _ in writer.encode(.binary, Data(count: 4)) })
    #expect(frames.count == 50)
    var server = FrameWriter(.server)
    #expect(server.encode(.binary, Data(count: 4)) == hex("82 04 00000000"))
  }

  @Test(arguments: [
    ("83 00", "a frame has opcode 3, which is reserved"),
    ("8b 00", "a frame has opcode 11, which is reserved"),
    ("c1 00", "a text frame has RSV1 set; compression was not negotiated"),
    ("a1 00", "a text frame has RSV2 set; no negotiated extension uses RSV2"),
    ("91 00", "a text frame has RSV3 set; no negotiated extension uses RSV3"),
    ("09 00", "a ping frame is fragmented; control frames must be whole"),
    ("89 7e 007e", "a ping frame has more than 125 payload bytes, the maximum of control frames"),
    ("82 7e 007d", "a frame encodes its length 125 in 16 bits; it must use 7 bits"),
    ("82 7f 000000000000ffff", "a frame encodes its length 65535 in 64 bits; it must use fewer bits"),
    ("82 7f 8000000000000000", "a frame's 64-bit length has its top bit set; lengths are less than 2^63"),
    ("80 00", "a continuation frame has no message to continue"),
    ("01 00 81 00", "a text frame begins inside a fragmented message; a continuation must follow"),
    ("81 80 00000000", "the server sent a masked frame; only clients mask frames"),
    ("88 01 03", "a close frame has a payload of 1 byte; a code has 2 bytes"),
  ])
  func `rejects frames that violate the protocol`(_ bytes: String, _ message: String) {
    for chunks in [[hex(bytes)], singleBytes(hex(bytes))] {
      let read = ReadEvents(MessageReader(.client), chunks)
      #expect(read.events.isEmpty)
      #expect(read.violation == WebSocketViolation(.protocolError, message))
    }
  }

  @Test(arguments: [
    ("c9 00", "a ping frame has RSV1 set; only the first frame of a message may set it"),
    ("01 00 c0 00", "a continuation frame has RSV1 set; only the first frame of a message may set it"),
  ])
  func `allows RSV1 only in the first frame of a message`(_ bytes: String, _ message: String) {
    let read = ReadEvents(MessageReader(.client, deflate: PermessageDeflate()), [hex(bytes)])
    #expect(read.violation == WebSocketViolation(.protocolError, message))
  }

  @Test func `rejects unmasked frames of a client`() {
    let read = ReadEvents(MessageReader(.server), [hex("81 00")])
    #expect(read.violation?.message == "the client sent an unmasked frame; clients must mask all frames")
  }

  @Test func `rejects a close reason that is not UTF-8`() {
    let read = ReadEvents(MessageReader(.client), [hex("88 03 03e8 ff")])
    #expect(read.violation?.code == .invalidFramePayloadData)
  }

  @Test func `ignores bytes after a close frame`() {
    let read = ReadEvents(MessageReader(.client), [hex("88 00 ffffff"), hex("ffff")])
    #expect(read.events == [.close(nil, reason: "")])
    #expect(read.violation == nil)
  }

  @Test func `throws a violation again`() {
    var reader = MessageReader(.client)
    reader.append(hex("83 00"))
    #expect(throws: WebSocketViolation.self) { try reader.next() }
    reader.append(hex("81 00"))
    #expect(throws: WebSocketViolation.self) { try reader.next() }
  }

  @Test func `rejects an oversized frame before its payload arrives`() {
    let limits = MessageReader.Limits(maximumFrameBytes: 1000)
    let read = ReadEvents(MessageReader(.client, limits: limits), [hex("82 7e 03e9")])
    #expect(read.violation?.code == .messageTooBig)
    #expect(read.violation?.message == "a binary frame has 1001 payload bytes; the limit is 1000")
  }

  @Test func `collects whole frames`() throws {
    var reader = FrameReader(.server)
    var writer = FrameWriter(.client)
    let frames = [
      WebSocketFrame(.text, Data("abc".utf8), isFinal: false), WebSocketFrame(.ping, Data([1])),
      WebSocketFrame(.continuation, Data(count: 300)), WebSocketFrame(.binary),
    ]
    var read: [WebSocketFrame] = []
    for frame in frames {
      for byte in writer.encode(frame) {
        reader.append(Data([byte]))
        while let frame = try reader.nextFrame() { read.append(frame) }
      }
    }
    #expect(read == frames)
  }

  @Test func `returns slices of the chunk`() throws {
    var reader = FrameReader(.client)
    let chunk = hex("82 03 010203 82 01 04")
    reader.append(chunk)
    #expect(try reader.next()?.payload == chunk[2..<5])
    #expect(try reader.next()?.payload.startIndex == 7)
    #expect(try reader.next() == nil)
  }
}
