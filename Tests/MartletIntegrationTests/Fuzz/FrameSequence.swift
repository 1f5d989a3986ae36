#if os(Linux)
  import CurlEngine
  import Foundation
  import TestSupport

  /// A response made of HTTP/2 frames, most of which are invalid; the same for the same seed and number.
  struct FrameSequence: Sendable {
    /// The steps in the syntax of ``HTTP2Server``.
    private(set) var steps: [String]
    let method: String
    let reader: DeliveryReader
    /// Whether the sequence is valid.
    let isRight: Bool
    /// Whether the server first refuses the request without reading it.
    let isRefused: Bool

    init(seed: UInt64, number: Int) {
      var maker = Maker(generator: SeededGenerator(seed: seed &+ UInt64(number) &* 0xD134_2543_DE82_EF95))
      steps = maker.answer()
      let fate = maker.random(20)
      let count = fate < 2 ? 0 : maker.random(4) + 1
      isRight = count == 0
      isRefused = fate == 1
      if isRefused { steps.insert("refuse", at: 0) }
      for _ in 0..<count { maker.damage(&steps) }
      if count > 0, maker.random(10) < 8 { steps.append(maker.element(["close", "close", "wait:5/close"])) }
      method = maker.random(isRefused ? 2 : 6) == 0 ? "POST" : "GET"
      let choice = maker.random(8)
      reader = choice < 4 ? DeliveryReader.allCases[choice] : .quick
    }

    /// Whether the sequence ends its connection, so the next request may be refused unread.
    var endsConnection: Bool { steps.contains { $0.hasPrefix("goaway") } }

    var path: [String] { steps.flatMap { $0.split(separator: "/").map(String.init) } }
    var description: String { "\(method), read by \(reader): \(path.joined(separator: "/"))" }

    /// Whether every frame is what its header claims.
    var hasKnownBody: Bool { !path.contains { $0.hasPrefix("lie") || $0.hasPrefix("raw") } }

    /// Whether the sequence contains heads that do not identify the request.
    var hasBareHead: Bool { path.contains { $0.hasPrefix("frame:1:") || $0.hasPrefix("lie") || $0.hasPrefix("raw") } }

    /// The announced length if the first head contains one.
    var length: Int? {
      let heads = path.filter { $0.hasPrefix("head") || $0.hasPrefix("end") || $0.hasPrefix("frame:1:") }
      guard let first = heads.first(where: { !$0.hasPrefix("head:103") }) else { return nil }
      return first.firstRange(of: "content-length=").flatMap { Int(first[$0.upperBound...]) }
    }

    /// The body in the frames of the request's own stream, up to the first END_STREAM.
    var body: (text: Data, isEnded: Bool) {
      var text = Data()
      for step in path {
        let (repeats, step) = Self.unrepeated(step)
        let words = step.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        for _ in 0..<repeats {
          switch words[0] {
          case "data", "last":
            text += Data(words.dropFirst().joined(separator: ":").utf8)
            if words[0] == "last" { return (text, true) }
          case "end", "trailer": return (text, true)
          case "fill": text += Data(repeating: 0x78, count: Int(words[1]) ?? 0)
          case "frame" where words[3] == "-" && (words[1] == "0" || words[1] == "1"):
            let (flags, payload) = (Int(words[2]) ?? 0, Self.bytes(words[4]))
            if words[1] == "0", let data = Self.unpadded(payload, flags) { text += data }
            if flags & 1 != 0 { return (text, true) }
          default: break
          }
        }
      }
      return (text, false)
    }

    private static func unrepeated(_ step: String) -> (count: Int, step: String) {
      let parts = step.split(separator: "*", maxSplits: 1)
      return parts.count == 2 ? (Int(parts[0]) ?? 1, String(parts[1])) : (1, step)
    }

    private static func bytes(_ hex: String) -> Data {
      let digits = Array(hex.utf8)
      return Data(
        stride(from: 0, to: digits.count - 1, by: 2).map {
          UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16) ?? 0
        })
    }

    private static func unpadded(_ payload: Data, _ flags: Int) -> Data? {
      guard flags & 8 != 0 else { return payload }
      guard let padding = payload.first, Int(padding) < payload.count else { return nil }
      return Data(payload.dropFirst().dropLast(Int(padding)))
    }
  }

  /// Chooses random frames.
  private struct Maker {
    var generator: SeededGenerator

    mutating func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    mutating func element<Element>(_ elements: [Element]) -> Element { elements[random(elements.count)] }

    private static func hex(_ value: some FixedWidthInteger) -> String {
      withUnsafeBytes(of: value.bigEndian) { bytes in
        bytes.map { String(UInt16(0x100) + UInt16($0), radix: 16).dropFirst() }.joined()
      }
    }

    private mutating func noise(_ maximum: Int) -> String {
      (0..<random(maximum + 1)).map { _ in Self.hex(UInt8(random(256))) }.joined()
    }

    private mutating func word() -> String {
      element(["a", "hello", "0123456789", String(repeating: "x", count: 900)])
    }

    /// Returns a stream: the request's own, a neighbor, the connection, a server's stream, or the last one.
    private mutating func stream() -> String {
      element(["-", "-", "-", "-", "-2", "+2", "0", "2", "2147483647", "4294967295"])
    }

    mutating func answer() -> [String] {
      let (first, last) = (word(), word())
      return switch random(9) {
      case 0: ["end:204"]
      case 1: ["head:103", "head", "last:\(last)"]
      case 2: ["head:200:content-length=\(first.utf8.count + last.utf8.count)", "data:\(first)", "last:\(last)"]
      case 3: ["head", "data:\(first)", "trailer:x-sum=1"]
      case 4: ["head:404", "data:\(first)", "data:", "last:\(last)"]
      case 5: ["goaway:0:0", "head", "data:\(first)", "last:"]
      case 6: ["head", "data:\(first)", "wait:5", "last:\(last)"]
      default: ["head", "last:\(last)"]
      }
    }

    mutating func damage(_ steps: inout [String]) {
      let place = random(steps.count + 1)
      switch random(12) {
      case 0 where !steps.isEmpty: steps.remove(at: random(steps.count))
      case 1 where !steps.isEmpty: steps.insert(steps[random(steps.count)], at: place)
      case 2 where steps.count > 1: steps.swapAt(random(steps.count), random(steps.count))
      case 3: steps.insert(element(["wait:0", "wait:5", "wait:5", "wait:5", "wait:100"]), at: place)
      case 4 where !steps.isEmpty: steps.removeSubrange(random(steps.count)...)
      default: steps.insert(frame(), at: place)
      }
    }

    private mutating func frame() -> String {
      let settings: [UInt16] = [1, 2, 3, 4, 5, 6, 8, 0, 0xffff]
      let values: [UInt32] = [0, 1, 2, 16_383, 16_384, 1 << 24 - 1, 1 << 24, 1 << 31 - 1, 1 << 31, .max]
      let codes: [UInt32] = Array(0...13) + [14, 255, .max]
      let flags = element([0, 0, 1, 4, 5, 8, 9, 0x20, 0x24, 0x2d, 255])
      switch random(20) {
      case 0: return "frame:0:\(flags):\(stream()):\(noise(20))"
      case 1:
        // Padding that may be longer than the payload.
        return "frame:0:\(element([8, 9])):\(stream()):\(Self.hex(UInt8(random(40))))\(noise(20))000000"
      case 2: return "frame:1:\(flags):\(element(["-", "-", "-2", "0", "2"])):\(noise(30))"
      case 3: return "frame:2:\(flags):\(stream()):\(element([noise(8), "0000000010", "8000000100", "00000001"]))"
      case 4:
        return "frame:3:0:\(stream()):\(element([Self.hex(element(codes)), Self.hex(element(codes)), noise(8)]))"
      case 5, 6:
        let count = element([1, 1, 2, 100])
        let payload = (0..<count).map { _ in Self.hex(element(settings)) + Self.hex(element(values)) }.joined()
        let target = element(["0", "0", "0", "-"])
        return "frame:4:\(element([0, 0, 0, 1])):\(target):\(payload)\(element(["", "", "", "00"]))"
      case 7:
        // The block contains `:path`, `:method` and so on, or random bytes.
        let block = Self.hex(UInt32(element([2, 2, 3, 0]))) + element(["828684410161", "8286", noise(20)])
        return "frame:5:\(element([4, 4, 0])):\(stream()):\(block)"
      case 8:
        return "frame:6:\(element([0, 1])):\(element(["0", "0", "-"])):\(element(["0011223344556677", noise(9)]))"
      case 9:
        return "goaway:\(element([0, 0, 1, 8, 11, 13])):\(element([0, 0, -1, -2, -100, 2, 1000]))"
      case 10:
        let payload = Self.hex(element(values)) + Self.hex(element(codes)) + noise(8)
        return "frame:7:0:\(element(["0", "0", "-"])):\(payload)"
      case 11, 12:
        let window = element([Self.hex(element(values)), "7fffffff", noise(5)])
        return "\(element([1, 1, 2, 300]))*frame:8:0:\(stream()):\(window)"
      case 13: return "frame:9:\(element([0, 4])):\(element(["-", "-", "0"])):\(noise(30))"
      case 14:
        let fields = String(repeating: "0001610162", count: 20)
        let end = element(["", "/frame:9:4:-:"])
        return "frame:1:0:-:88/\(element([1, 10, 1000]))*frame:9:0:-:\(fields)\(end)"
      case 15: return "frame:\(element([10, 12, 16, 77, 255])):\(flags):\(stream()):\(noise(30))"
      case 16:
        let length = element([0, 1, 5, 100, 16_384, 16_385, 0xffffff])
        return "lie:\(length):\(random(11)):\(flags):\(stream()):\(noise(20))"
      case 17: return "raw:\(noise(64))"
      case 18:
        return element([
          "300*frame:6:0:0:0000000000000000", "300*frame:4:0:0:", "300*data:", "200*head:103", "50*fill:16384",
          "fill:17000",
        ])
      default: return "reset:\(element(Array(0...13)))"
      }
    }
  }
#endif
