#if os(Linux)
  import TestSupport

  /// How a server sends a response: the chunks, the pauses, and the end of the connection.
  struct DeliveryPlan: Sendable {
    /// The state of the connection after a response.
    enum End: Sendable {
      case close
      case reset
      /// The connection stays open until the client closes it.
      case keep
    }

    /// A position in the bytes where the server pauses.
    struct Cut: Sendable {
      var offset: Int
      var pause: Duration
    }

    /// The pauses to try: a separate write, another turn of the client's loop, and long after both.
    static let pauses: [Duration] = [.zero, .milliseconds(5), .milliseconds(100)]

    /// The chunks, which are sent one after another with a short delay in between.
    var pieces: [[UInt8]]
    /// The pause after each chunk, including the last one; chunks without an entry have none.
    var pauses: [Duration] = []
    var end: End
    /// Whether the rest is sent even if the next request arrives first; that request gets no response.
    var outlivesRequests = false
    /// Called when nothing more will be sent, because everything was sent or the client has disconnected.
    var onEnd: (@Sendable () -> Void)?

    init(pieces: [[UInt8]], pauses: [Duration] = [], end: End) {
      (self.pieces, self.pauses, self.end) = (pieces, pauses, end)
    }

    /// Splits bytes at positions, in any order; positions outside the bytes are ignored.
    init(_ bytes: [UInt8], cuts: [Cut], end: End) {
      self.init(pieces: [], end: end)
      var start = 0
      for cut in cuts.sorted(by: { $0.offset < $1.offset }) where cut.offset > start && cut.offset <= bytes.count {
        pieces.append(Array(bytes[start..<cut.offset]))
        pauses.append(cut.pause)
        start = cut.offset
      }
      if start < bytes.count { pieces.append(Array(bytes[start...])) }
    }

    /// Returns a plan for each position in a response, and one for all of them, with one pause.
    static func all(_ bytes: [UInt8], pause: Duration, end: End) -> [DeliveryPlan] {
      let cuts = places(in: bytes).map { Cut(offset: $0, pause: pause) }
      return cuts.map { DeliveryPlan(bytes, cuts: [$0], end: end) } + [DeliveryPlan(bytes, cuts: cuts, end: end)]
    }

    /// Splits a response at one to three of its positions or at random, mostly with short pauses.
    static func random(_ bytes: [UInt8], end: End, using generator: inout SeededGenerator) -> DeliveryPlan {
      let places = places(in: bytes)
      let cuts = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
        let isTelling = Int.random(in: 0..<4, using: &generator) > 0
        let offset = isTelling ? places.randomElement(using: &generator) : nil
        let pause =
          switch Int.random(in: 0..<100, using: &generator) {
          case 0..<3: pauses[2]
          case 3..<20: pauses[1]
          default: pauses[0]
          }
        return Cut(offset: offset ?? Int.random(in: 0...bytes.count, using: &generator), pause: pause)
      }
      return DeliveryPlan(bytes, cuts: cuts, end: end)
    }

    /// Pauses after the last byte.
    mutating func rest(_ pause: Duration) {
      pauses += [Duration](repeating: .zero, count: max(0, pieces.count - pauses.count))
      if !pauses.isEmpty { pauses[pauses.count - 1] = pause }
    }

    /// Returns this plan, followed by a pause and an unrequested response.
    func followed(by stray: [UInt8], after pause: Duration) -> DeliveryPlan {
      var plan = self
      plan.rest(pause)
      plan.pieces.append(stray)
      return plan
    }

    /// Everything needed to replay the plan by hand.
    var description: String {
      let texts = pieces.enumerated().map { index, piece in
        let pause = index < pauses.count && pauses[index] > .zero ? " \(pauses[index])" : ""
        return "\"" + Mutant.escaped(piece) + "\"" + pause
      }
      return "\(texts.joined(separator: " | ")), then \(end)"
    }

    // MARK: Positions

    /// Returns the positions where a pause may have an effect: in and after the status line, in a field, between CR and
    /// LF, and after the head; in a chunk size, in and after a chunk, around the last chunk, and in trailers; and
    /// before the end.
    static func places(in bytes: [UInt8]) -> [Int] {
      var scan = Scan(bytes)
      scan.head()
      if scan.isChunked { scan.chunks() } else { scan.add((scan.position + bytes.count) / 2, bytes.count - 1) }
      scan.add(bytes.count)
      return Set(scan.places.filter { 0 < $0 && $0 <= bytes.count }).sorted()
    }

    private struct Scan {
      private static let statusLine = Array("HTTP/".utf8)

      let bytes: [UInt8]
      var position = 0
      var places: [Int] = []
      var isChunked = false

      init(_ bytes: [UInt8]) { self.bytes = bytes }

      mutating func add(_ offsets: Int...) { places += offsets }

      /// Returns the index of the next CR that is followed by an LF.
      private func lineEnd(from start: Int) -> Int? {
        var index = start
        while index + 1 < bytes.count {
          if bytes[index] == 13 && bytes[index + 1] == 10 { return index }
          index += 1
        }
        return nil
      }

      mutating func head() {
        var number = 0
        while let end = lineEnd(from: position) {
          if end == position {
            add(end, end + 1, end + 2)
            position = end + 2
            // After an interim response, the next head begins.
            guard bytes[position...].starts(with: Self.statusLine) else { return }
            number = 0
            continue
          }
          if number < 3 { add((position + end) / 2, end + 1, end + 2) }
          let line = String(decoding: bytes[position..<end], as: UTF8.self).lowercased()
          if line.hasPrefix("transfer-encoding:"), line.hasSuffix("chunked") { isChunked = true }
          position = end + 2
          number += 1
        }
      }

      mutating func chunks() {
        var number = 0
        while let end = lineEnd(from: position) {
          let digits = bytes[position..<end].prefix { 48...57 ~= $0 || 97...102 ~= $0 || 65...70 ~= $0 }
          guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size < bytes.count else { return }
          if size == 0 {
            add(position, end, end + 1)
            position = end + 2
            return trailers()
          }
          let dataEnd = end + 2 + size
          if number < 3 { add((position + end) / 2, end + 1, end + 2, end + 2 + size / 2, dataEnd, dataEnd + 1) }
          position = dataEnd + 2
          number += 1
          guard position < bytes.count else { return }
        }
      }

      private mutating func trailers() {
        while let end = lineEnd(from: position) {
          add(position, (position + end) / 2, end + 1, end + 2)
          if end == position { return }
          position = end + 2
        }
      }
    }
  }
#endif
