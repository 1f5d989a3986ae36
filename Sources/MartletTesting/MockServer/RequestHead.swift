import MartletBase
import Foundation

/// A request line and its fields, parsed strictly.
struct RequestHead {
  /// The reason why bytes are not a request head.
  struct Malformed: Error {
    let reason: String
  }

  let method: String
  let target: String
  let version: String
  let fields: [RecordedRequest.Field]
  let framing: RequestReader.Framing
  let raw: Data

  /// Parses a head, including the empty line that ends it.
  init(parsing bytes: [UInt8]) throws(Malformed) {
    var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    // The split leaves an empty part after the last line feed, preceded by the empty line.
    lines.removeLast(min(2, lines.count))
    guard let first = lines.first, lines.allSatisfy({ $0.last == 13 }), bytes.suffix(2).first == 13 else {
      throw Malformed(reason: "bare line feed")
    }

    let words = first.dropLast().split(separator: 32, omittingEmptySubsequences: false)
    guard words.count == 3, words.allSatisfy({ !$0.isEmpty }), words[0].allSatisfy(FieldSyntax.isTokenOctet),
      words[1].allSatisfy({ $0 > 32 && $0 != 127 })
    else { throw Malformed(reason: "bad request line") }
    method = Self.text(words[0])
    target = Self.text(words[1])
    version = Self.text(words[2])
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else { throw Malformed(reason: "bad version") }

    var fields: [RecordedRequest.Field] = []
    for line in lines.dropFirst() {
      guard let field = Self.field(line.dropLast()) else { throw Malformed(reason: "bad field") }
      fields.append(field)
    }
    // RFC 9112 §3.2: exactly one; only an HTTP/1.0 client may omit it.
    let hosts = fields.count { FieldSyntax.isSameName($0.name, "Host") }
    guard hosts == 1 || (hosts == 0 && version == "HTTP/1.0") else { throw Malformed(reason: "\(hosts) Host fields") }
    self.fields = fields
    framing = try Self.framing(of: fields)
    raw = Data(bytes)
  }

  /// Parses one field line without its end; `nil` if it is malformed (RFC 9112 §5).
  static func field(_ line: ArraySlice<UInt8>) -> RecordedRequest.Field? {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line[..<colon].allSatisfy(FieldSyntax.isTokenOctet)
    else { return nil }
    var value = line[(colon + 1)...]
    while let byte = value.first, byte == 32 || byte == 9 { value.removeFirst() }
    while let byte = value.last, byte == 32 || byte == 9 { value.removeLast() }
    guard value.allSatisfy({ $0 != 0 && $0 != 13 }) else { return nil }
    return RecordedRequest.Field(text(line[..<colon]), text(value))
  }

  private static func framing(of fields: [RecordedRequest.Field]) throws(Malformed) -> RequestReader.Framing {
    let codings = fields.filter { FieldSyntax.isSameName($0.name, "Transfer-Encoding") }
    let lengths = Set(fields.filter { FieldSyntax.isSameName($0.name, "Content-Length") }.map(\.value))
    if let coding = codings.first {
      // A request with both is typical of request smuggling (RFC 9112 §6.1).
      guard lengths.isEmpty else { throw Malformed(reason: "both Content-Length and Transfer-Encoding") }
      guard codings.count == 1, coding.value.lowercased() == "chunked" else {
        throw Malformed(reason: "unknown transfer coding")
      }
      return .chunkSize
    }
    guard let text = lengths.first else { return .finished }
    guard lengths.count == 1, text.utf8.allSatisfy({ 48...57 ~= $0 }), let length = Int(text) else {
      throw Malformed(reason: "bad Content-Length")
    }
    return .length(length)
  }

  /// Decodes UTF-8, or Latin-1 if that fails, because no byte may be lost.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
