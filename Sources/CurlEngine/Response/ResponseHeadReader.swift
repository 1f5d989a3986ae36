import CMartletShim
package import MartletBase

/// Parses the head of a response from its lines, within limits.
///
/// ```
///   status ─▶ fields ─▶ empty line ─▶ 1xx: status again │ final, or an awaited 101 ─▶ trailers
/// ```
package struct ResponseHeadReader {
  /// The maximum size of all heads and trailers of a response, apart from ``regained``.
  static let maximumBytes = 256 << 10
  /// The maximum number of fields and interim responses, apart from ``regained``.
  static let maximumFields = 1000
  /// The part of the limits that interim responses regain in a second.
  ///
  /// They may continue for hours, as 102 and 104 do, but not quickly.
  static let regained = (bytes: 16 << 10, fields: 100)

  /// The maximum number of interim responses of a transfer that are reported, except for 100.
  static let maximumReported = 64
  /// The maximum size of the fields of such a response in bytes.
  static let maximumReportedBytes = 16 << 10

  package struct Head {
    package var status: Int
    package var reason: String?
    package var version: String
    package var fields: ReceivedFields
    var framing: Framing
  }

  /// The framing fields, recorded while parsing to avoid a later search.
  struct Framing {
    var hasTransferCoding = false
    var hasContentCoding = false
    /// The announced length; `nil` if there is none, or if it needs a closer look.
    var length: Int64?
    var lengthCount = 0
    /// The time for which the server keeps the idle connection, in microseconds, if it says so.
    var idleTime: Int64?
  }

  enum Step {
    case more
    /// An interim response, with its head if it is reported.
    case interim(Head?)
    case final(Head)
  }

  package struct Problem: Error {
    package let message: String
  }

  /// Whether the request asks for another protocol, so a 101 is the final response.
  private let awaitsUpgrade: Bool
  /// The number of interim responses that are still reported.
  private var reports: Int
  private(set) var hasBytes = false
  private var bytes = 0
  private var fieldCount = 0
  /// The time of the last interim response, in microseconds.
  private var interimTime: Int64?
  private var start: (status: Int, reason: String?, version: String)?
  /// The names and values of the fields, in sequence.
  private var octets: [UInt8] = []
  private var places: [ReceivedFields.FieldRange] = []
  private var framing = Framing()
  private var isFinal = false
  /// Whether the last trailer was kept.
  private var isKept = false

  /// Creates a reader with room for a usual head.
  ///
  /// So the thread that will free the room allocates it, and the loop's thread does not wait for its allocator.
  init(awaitsUpgrade: Bool = false, reportsInterim: Bool = false) {
    self.awaitsUpgrade = awaitsUpgrade
    reports = reportsInterim ? Self.maximumReported : 0
    octets.reserveCapacity(512)
    places.reserveCapacity(16)
  }

  /// Reads one line with its end; `now` is the time in microseconds.
  mutating func read(
    _ line: UnsafeBufferPointer<UInt8>, at now: @autoclosure () -> Int64 = martlet_microseconds()
  ) throws(Problem) -> Step {
    hasBytes = true
    if start == nil, let interimTime {
      regain(after: interimTime, at: now())
      self.interimTime = nil
    }
    bytes += line.count
    guard bytes <= Self.maximumBytes else {
      throw Problem(message: "the header fields have more than \(Self.maximumBytes) bytes")
    }
    var end = line.count
    if end > 0, line[end - 1] == 0x0A { end -= 1 }
    if end > 0, line[end - 1] == 0x0D { end -= 1 }
    guard end > 0 else { return try endBlock(at: now()) }
    let content = UnsafeBufferPointer(start: line.baseAddress, count: end)
    guard !Self.hasIllegalOctet(content) else {
      throw Problem(message: "a header line contains an illegal octet")
    }
    if start == nil {
      start = try Self.statusLine(content)
    } else {
      try countField()
      if isFinal { trailer(content) } else { try field(content) }
    }
    return .more
  }

  private mutating func countField() throws(Problem) {
    fieldCount += 1
    guard fieldCount <= Self.maximumFields else {
      throw Problem(message: "there are more than \(Self.maximumFields) header fields and interim responses")
    }
  }

  /// Restores a part of the limits before the head that follows an interim response.
  private mutating func regain(after interim: Int64, at now: Int64) {
    // No more than the limits, so the products cannot overflow.
    let milliseconds = Int(min(max(0, now - interim) / 1000, 20_000))
    bytes = max(0, bytes - milliseconds * Self.regained.bytes / 1000)
    fieldCount = max(0, fieldCount - milliseconds * Self.regained.fields / 1000)
  }

  private mutating func endBlock(at now: @autoclosure () -> Int64) throws(Problem) -> Step {
    guard !isFinal else { return .more }
    guard let start else { throw Problem(message: "the response has no status line") }
    guard start.status < 200, !(start.status == 101 && awaitsUpgrade) else {
      isFinal = true
      return .final(takeHead(start))
    }
    guard start.status != 101 else { throw Problem(message: "the server changed to a protocol that was not requested") }
    try countField()
    interimTime = now()
    self.start = nil
    var head: Head?
    if reports > 0, start.status != 100, octets.count <= Self.maximumReportedBytes {
      reports -= 1
      head = takeHead(start)
    }
    octets.removeAll(keepingCapacity: true)
    places.removeAll(keepingCapacity: true)
    framing = Framing()
    return .interim(head)
  }

  private mutating func takeHead(_ start: (status: Int, reason: String?, version: String)) -> Head {
    let fields = ReceivedFields(exchange(&octets, with: []), exchange(&places, with: []))
    return Head(status: start.status, reason: start.reason, version: start.version, fields: fields, framing: framing)
  }

  /// Parses `HTTP/1.1 200 OK`, tolerating common omissions (RFC 9112 §4).
  private static func statusLine(
    _ line: UnsafeBufferPointer<UInt8>
  ) throws(Problem) -> (status: Int, reason: String?, version: String) {
    if let usual = usualStatusLine(line) { return usual }
    let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count > 1, parts[0].starts(with: "HTTP/".utf8), parts[1].count == 3,
      let status = FieldSyntax.parseDigits(parts[1]), status >= 100
    else { throw Problem(message: "the status line is malformed") }
    let version = text(parts[0].dropFirst(5))
    // HTTP/2 has no reason phrase.
    let reason = parts.count > 2 && version.hasPrefix("1") ? text(parts[2]) : nil
    return (Int(status), reason, version)
  }

  /// Parses the line as nearly every server writes it, without an intermediate allocation.
  private static func usualStatusLine(
    _ line: UnsafeBufferPointer<UInt8>
  ) -> (status: Int, reason: String?, version: String)? {
    guard line.count > 12, let base = line.baseAddress, memcmp(base, "HTTP/1.1 ", 9) == 0, line[12] == 0x20,
      line[9] > 0x30
    else { return nil }
    var status = 0
    for octet in line[9..<12] {
      guard 0x30...0x39 ~= octet else { return nil }
      status = status * 10 + Int(octet & 0x0F)
    }
    return (status, text(line[13...]), "1.1")
  }

  private mutating func field(_ line: UnsafeBufferPointer<UInt8>) throws(Problem) {
    if FieldSyntax.isBlank(line[0]) {
      // A folded line continues the one before (RFC 9112 §5.2).
      guard proceed(with: line) else { throw Problem(message: "the first header line is folded") }
      // If the folded field is the length, it needs a closer look.
      framing.length = nil
      return
    }
    guard let colon = Self.colon(in: line) else { throw Problem(message: "a header line has no name") }
    let value = Self.trimmed(line, from: colon + 1)
    record(line, colon, value)
    keep(line, colon, value)
  }

  var trailers: ReceivedFields? { isFinal && !places.isEmpty ? ReceivedFields(octets, places) : nil }

  /// Reads a line after the body; drops malformed and forbidden fields (RFC 9110 §6.5.1).
  private mutating func trailer(_ line: UnsafeBufferPointer<UInt8>) {
    if FieldSyntax.isBlank(line[0]) {
      if isKept { _ = proceed(with: line) }
      return
    }
    isKept = false
    guard let colon = Self.colon(in: line), TrailerRules.allows(line[..<colon]) else { return }
    isKept = true
    keep(line, colon, Self.trimmed(line, from: colon + 1))
  }

  private static func colon(in line: UnsafeBufferPointer<UInt8>) -> Int? {
    var colon = 0
    // Nearly all octets of a name are letters.
    while colon < line.count, (line[colon] | 0x20) &- 0x61 < 26 || FieldSyntax.isTokenOctet(line[colon]) { colon += 1 }
    return colon > 0 && colon < line.count && line[colon] == 0x3A ? colon : nil
  }

  /// Appends a folded line to the previous value, if there is one.
  private mutating func proceed(with line: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let last = places.indices.last else { return false }
    let more = Self.trimmed(line, from: 0)
    guard !more.isEmpty else { return true }
    if places[last].valueEnd > places[last].valueStart { octets.append(0x20) }
    octets.append(contentsOf: line[more])
    places[last].valueEnd = Int32(octets.count)
    return true
  }

  /// Keeps a field, up to the end of its value.
  private mutating func keep(_ line: UnsafeBufferPointer<UInt8>, _ colon: Int, _ value: Range<Int>) {
    let start = octets.count
    octets.append(contentsOf: UnsafeBufferPointer(start: line.baseAddress, count: value.upperBound))
    // The total is less than `maximumBytes`.
    places.append(
      ReceivedFields.FieldRange(
        nameStart: Int32(truncatingIfNeeded: start), nameEnd: Int32(truncatingIfNeeded: start + colon),
        valueStart: Int32(truncatingIfNeeded: start + value.lowerBound),
        valueEnd: Int32(truncatingIfNeeded: start + value.upperBound)))
  }

  private mutating func record(_ line: UnsafeBufferPointer<UInt8>, _ colon: Int, _ value: Range<Int>) {
    switch colon {
    case 10 where Self.isNamed(line, "keep-alive"): framing.idleTime = IdleTime.announced(line[value])
    case 14 where Self.isNamed(line, "content-length"):
      framing.lengthCount += 1
      let length = FieldSyntax.parseDigits(line[value]).flatMap { Int64(exactly: $0) }
      framing.length = framing.lengthCount == 1 ? length : nil
    case 16 where Self.isNamed(line, "content-encoding"): framing.hasContentCoding = true
    case 17 where Self.isNamed(line, "transfer-encoding"): framing.hasTransferCoding = true
    default: break
    }
  }

  /// Whether a line begins with a name, which is in lower case.
  private static func isNamed(_ line: UnsafeBufferPointer<UInt8>, _ known: StaticString) -> Bool {
    let name = UnsafeBufferPointer(start: known.utf8Start, count: known.utf8CodeUnitCount)
    for index in name.indices where FieldSyntax.lowercased(line[index]) != name[index] { return false }
    return true
  }

  private static func hasIllegalOctet(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let base = line.baseAddress else { return false }
    return memchr(base, 0, line.count) != nil || memchr(base, 0x0A, line.count) != nil
      || memchr(base, 0x0D, line.count) != nil
  }

  /// The rest of a line without blanks at its ends.
  private static func trimmed(_ line: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int> {
    var (start, end) = (start, line.count)
    while start < end, FieldSyntax.isBlank(line[start]) { start += 1 }
    while start < end, FieldSyntax.isBlank(line[end - 1]) { end -= 1 }
    return start..<end
  }

  private static func text(_ octets: Slice<UnsafeBufferPointer<UInt8>>) -> String {
    ReceivedFields.text(UnsafeBufferPointer(rebasing: octets))
  }
}

extension ResponseHeadReader.Head {
  /// Whether the response to a request with this method may have a body (RFC 9112 §6.3).
  func mayHaveBody(to method: String) -> Bool { method != "HEAD" && status != 204 && status != 304 }

  /// Determines what ends the body (RFC 9112 §6.3).
  func bodyEnd(isHTTP1: Bool) throws(ResponseHeadReader.Problem) -> TransferStateMachine.BodyEnd {
    if let length = try bodyLength() { return .length(length) }
    guard isHTTP1 else { return .stream }
    return framing.hasTransferCoding ? .chunks : .connection
  }

  /// The announced length of the body, if it can be trusted (RFC 9112 §6).
  func bodyLength() throws(ResponseHeadReader.Problem) -> Int64? {
    if framing.hasTransferCoding {
      let codings = fields.values(of: "Transfer-Encoding").flatMap { FieldSyntax.listMembers(of: $0) }
      // libcurl would ignore the length and wait for the end of the connection.
      guard !codings.isEmpty else { throw ResponseHeadReader.Problem(message: "Transfer-Encoding is empty") }
      guard codings.count == 1, FieldSyntax.isSameName(codings[0], "chunked") else {
        throw ResponseHeadReader.Problem(message: "the body has a transfer coding that was not requested")
      }
      return nil
    }
    if framing.lengthCount == 0 { return nil }
    if let length = framing.length { return length }
    var length: Int64?
    for field in fields.values(of: "Content-Length") {
      for member in field.utf8.split(separator: 0x2C, omittingEmptySubsequences: false) {
        let digits = FieldSyntax.trimmed(Substring(member))
        guard let value = FieldSyntax.parseDigits(digits).flatMap({ Int64(exactly: $0) }) else {
          throw ResponseHeadReader.Problem(message: "the Content-Length is not a decimal number below 2^63")
        }
        guard length == nil || length == value else {
          throw ResponseHeadReader.Problem(message: "there are two different values of Content-Length")
        }
        length = value
      }
    }
    return length
  }
}
