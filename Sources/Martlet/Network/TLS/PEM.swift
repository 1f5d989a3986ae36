import MartletBase

/// Parses PEM certificates and keys (RFC 7468), strictly enough to find mistakes early.
enum PEM {
  struct Block {
    let label: String
    /// Whether the header (RFC 1421 §4.6.1.1) or the label marks it as encrypted.
    let isEncrypted: Bool
    let content: Data

    func isLabelled(_ word: String) -> Bool { label == word || label.hasSuffix(" \(word)") }
  }

  /// The blocks of a text, and the problem of one of them.
  static func blocks(in data: Data) -> (blocks: [Block], problem: String?) {
    var blocks: [Block] = []
    var label: String?
    var lines: [Substring] = []
    let text = String(decoding: data, as: UTF8.self)
    for line in text.split(whereSeparator: \.isNewline) {
      if let begun = marked("BEGIN", line) {
        guard label == nil else { return (blocks, "has a BEGIN line without its END line") }
        label = begun
        lines = []
      } else if let ended = marked("END", line) {
        guard let begun = label, begun == ended else { return (blocks, "has an END line without its BEGIN line") }
        guard let block = block(begun, lines) else { return (blocks, "contains a block that is not base64") }
        blocks.append(block)
        label = nil
      } else if label != nil {
        lines.append(line)
      }
    }
    return (blocks, label == nil ? nil : "has a BEGIN line without its END line")
  }

  private static func marked(_ word: String, _ line: Substring) -> String? {
    let prefix = "-----\(word) "
    guard line.hasPrefix(prefix) else { return nil }
    let rest = line.dropFirst(prefix.count).reversed().drop { $0 == " " || $0 == "\t" }.reversed()
    let text = String(rest)
    return text.hasSuffix("-----") ? String(text.dropLast(5)) : nil
  }

  private static func block(_ label: String, _ lines: [Substring]) -> Block? {
    let heads = lines.filter { $0.contains(":") }
    let base64 = lines.filter { !$0.contains(":") }.joined().filter { $0 != " " && $0 != "\t" }
    guard let content = Data(base64Encoded: base64), !content.isEmpty else { return nil }
    let isEncrypted = label.hasPrefix("ENCRYPTED ") || heads.contains { $0.contains("ENCRYPTED") }
    return Block(label: label, isEncrypted: isEncrypted, content: content)
  }
}
