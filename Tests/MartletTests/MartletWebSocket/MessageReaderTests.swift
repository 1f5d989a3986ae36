import MartletBase
import TestSupport
import Testing

@testable import MartletWebSocket

@Suite struct MessageReaderTests {
  @Test func `delivers control frames between the fragments of a message`() {
    let read = ReadEvents(MessageReader(.client), [hex("01 03 48656c 89 01 31 00 00 8a 00 80 02 6c6f")])
    #expect(read.events == [.ping(Data("1".utf8)), .pong(Data()), .text("Hello")])
  }

  @Test func `delivers empty messages`() {
    #expect(ReadEvents(MessageReader(.client), [hex("81 00 82 00")]).events == [.text(""), .binary(Data())])
    let parts = ReadEvents(MessageReader(.client, delivery: .parts), [hex("81 00 82 00")]).events
    #expect(
      parts == [
        .part(.text, Data(), isFirst: true, isLast: true), .part(.binary, Data(), isFirst: true, isLast: true),
      ])
  }

  @Test func `delivers parts as they arrive`() {
    let chunks = [hex("02 04 0102"), hex("0304 80 02 05"), hex("06")]
    let read = ReadEvents(MessageReader(.client, delivery: .parts), chunks)
    #expect(
      read.events == [
        .part(.binary, hex("0102"), isFirst: true, isLast: false),
        .part(.binary, hex("0304"), isFirst: false, isLast: false),
        .part(.binary, hex("05"), isFirst: false, isLast: false),
        .part(.binary, hex("06"), isFirst: false, isLast: true),
      ])
  }

  @Test func `splits text only after characters`() {
    let read = ReadEvents(MessageReader(.client, delivery: .parts), [hex("01 02 61e2 00 01 82 80 02 acc3"), hex("")])
    #expect(read.events == [.part(.text, Data("a".utf8), isFirst: true, isLast: false)])
    #expect(read.violation?.code == .invalidFramePayloadData)
    let whole = ReadEvents(MessageReader(.client, delivery: .parts), [hex("01 02 61e2 00 01 82 80 02 ac62")])
    #expect(
      whole.events == [
        .part(.text, Data("a".utf8), isFirst: true, isLast: false),
        .part(.text, Data("€b".utf8), isFirst: false, isLast: true),
      ])
  }

  @Test func `keeps the form of a message that has begun`() throws {
    var reader = MessageReader(.client)
    reader.append(hex("02 01 01"))
    #expect(try reader.next() == nil)
    reader.delivery = .parts
    reader.append(hex("80 01 02 82 01 03"))
    #expect(try reader.next() == .binary(hex("0102")))
    #expect(try reader.next() == .part(.binary, hex("03"), isFirst: true, isLast: true))
  }

  @Test func `rejects invalid text before its message ends`() {
    let read = ReadEvents(MessageReader(.client), [hex("01 7e ffff 61 eda0")])
    #expect(read.violation?.code == .invalidFramePayloadData)
    #expect(read.violation?.message == "a text message is not valid UTF-8")
  }

  @Test(arguments: ["81 01 c3", "01 01 c3 80 00", "81 03 eda080"])
  func `rejects invalid and incomplete text`(_ bytes: String) {
    for chunks in [[hex(bytes)], singleBytes(hex(bytes))] {
      let read = ReadEvents(MessageReader(.client), chunks)
      #expect(read.events.isEmpty)
      #expect(read.violation?.code == .invalidFramePayloadData)
    }
  }

  @Test(arguments: [MessageReader.Delivery.messages, .parts])
  func `limits the size of messages`(_ delivery: MessageReader.Delivery) {
    let limits = MessageReader.Limits(maximumMessageBytes: 4)
    let reader = MessageReader(.client, limits: limits, delivery: delivery)
    #expect(ReadEvents(reader, [hex("82 04 01020304")]).joined == [.binary(hex("01020304"))])
    for bytes in ["82 05", "02 03 010203 80 02"] {
      let read = ReadEvents(reader, [hex(bytes)])
      #expect(read.violation?.code == .messageTooBig)
      #expect(read.violation?.message == "a message has more than 4 bytes, the limit of this connection")
    }
  }

  @Test func `delivers messages with indices from zero`() {
    for case .binary(let bytes) in ReadEvents(MessageReader(.client), [hex("82 01 01 82 02 0203")]).events {
      #expect(bytes.startIndex == 0)
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `decodes any chunks to the same events`(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let deflate = PermessageDeflate(
      serverNoContextTakeover: .random(using: &generator), clientNoContextTakeover: .random(using: &generator),
      serverMaxWindowBits: .random(in: 9...15, using: &generator))
    let parameters = seed % 4 == 0 ? nil : deflate
    var writer = MessageWriter(.server, deflate: parameters, minimumCompressedBytes: 20)
    var bytes = Data()
    var expected: [WebSocketEvent] = []
    for _ in 0..<6 {
      let count = Int.random(in: 0...400, using: &generator)
      let text = String((0..<count).compactMap { _ in "abé日🙂 ".randomElement(using: &generator) })
      if Bool.random(using: &generator) {
        bytes += try writer.text(text)
      } else {
        let octets = Data(text.utf8)
        let middle = octets.count / 2
        bytes += try writer.part(.text, octets.prefix(middle), isLast: false)
        bytes += writer.ping(Data([1]))
        expected.append(.ping(Data([1])))
        bytes += try writer.part(.text, octets.dropFirst(middle), isLast: true)
      }
      expected.append(.text(text))
    }
    bytes += writer.close(.goingAway, reason: "é")
    expected.append(.close(.goingAway, reason: "é"))
    for delivery in [MessageReader.Delivery.messages, .parts] {
      func reader() -> MessageReader { MessageReader(.client, deflate: parameters, delivery: delivery) }
      #expect(ReadEvents(reader(), [bytes]).joined == expected)
      #expect(ReadEvents(reader(), singleBytes(bytes)).joined == expected)
    }
  }

  @Test func `decodes damaged streams alike in any chunks`() throws {
    var generator = SeededGenerator(seed: 9)
    for _ in 0..<300 {
      var writer = MessageWriter(.server, deflate: PermessageDeflate())
      var bytes = try writer.text("Hello Hello Hello") + writer.ping(Data([1]))
      bytes += try writer.part(.binary, Data(count: 50), isLast: false)
      bytes += try writer.part(.binary, Data([1, 2, 3]), isLast: true)
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      let whole = ReadEvents(MessageReader(.client, deflate: PermessageDeflate()), [bytes])
      let single = ReadEvents(MessageReader(.client, deflate: PermessageDeflate()), singleBytes(bytes))
      #expect(whole == single)
    }
  }
}
