import Foundation

/// Makes one line of whatever was received.
enum LogText {
  /// The most Unicode scalars shown of one header field.
  static let maximumFieldScalars = 1024

  /// `Name: value`, cut, masked and escaped.
  static func field(_ field: HTTPHeaders.Field, _ redaction: Redaction) -> String {
    "\(InvalidInput.printable(field.name)): "
      + InvalidInput.printable(redaction.value(of: field, limit: maximumFieldScalars), limit: maximumFieldScalars)
  }

  /// The text of bytes; what is not UTF-8 becomes `\xNN`, what is not fit for a line is escaped.
  static func line(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    var result = ""
    var input = bytes.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    var index = 0
    while true {
      switch parser.parseScalar(from: &input) {
      case .valid(let encoded):
        index += encoded.count
        InvalidInput.append(Unicode.UTF8.decode(encoded), to: &result)
      case .error(let length):
        for octet in bytes[index..<(index + length)] { result += "\\x" + String(octet, radix: 16) }
        index += length
      case .emptyInput: return result
      }
    }
  }

  /// A number of bytes.
  static func bytes(_ count: some BinaryInteger) -> String { count == 1 ? "1 byte" : "\(count) bytes" }
}
