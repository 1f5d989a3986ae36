import MartletBase

/// Formats received data as one line.
enum LogText {
  /// The maximum number of Unicode scalars shown of one header field.
  static let maximumFieldScalars = 1024

  /// `Name: value`, truncated, masked and escaped.
  static func field(_ field: HTTPHeaders.Field, _ redaction: Redaction) -> String {
    "\(InvalidInput.printable(field.name)): "
      + InvalidInput.printable(redaction.value(of: field, limit: maximumFieldScalars), limit: maximumFieldScalars)
  }

  /// Decodes bytes as text for one line.
  ///
  /// Bytes that are not UTF-8 become `\xNN`; characters that are unsafe in a line are escaped.
  static func line(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    var result = ""
    var index = 0
    while index < bytes.count {
      // Most bytes are printable ASCII, which is copied unchanged and ends any previous sequence.
      let start = bytes[index...].firstIndex(where: isPlain) ?? bytes.count
      append(bytes[index..<start], to: &result)
      index = bytes[start...].firstIndex { !isPlain($0) } ?? bytes.count
      result += String(decoding: bytes[start..<index], as: UTF8.self)
    }
    return result
  }

  private static func isPlain(_ octet: UInt8) -> Bool { (0x20...0x7E).contains(octet) }

  private static func append(_ bytes: ArraySlice<UInt8>, to result: inout String) {
    var input = bytes.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    var index = bytes.startIndex
    while true {
      switch parser.parseScalar(from: &input) {
      case .valid(let encoded):
        index += encoded.count
        Printable.append(Unicode.UTF8.decode(encoded), to: &result)
      case .error(let length):
        for octet in bytes[index..<(index + length)] { result += "\\x" + String(octet, radix: 16) }
        index += length
      case .emptyInput: return
      }
    }
  }

  static func bytes(_ count: some BinaryInteger) -> String { count == 1 ? "1 byte" : "\(count) bytes" }
}
