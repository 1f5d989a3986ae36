/// A word after the URL.
enum Item: Equatable {
  /// `name==value`.
  case query(name: String, value: String)
  /// `Name:value`, or `Name;` for an empty value.
  case header(name: String, value: String)
  /// `name=text` or `name:=json`, or either with `@file`.
  case field(RequestCommand.Field)
  /// `name@file`.
  case file(Part)
  /// `@file`: the whole body.
  case body(String)

  /// Reads a word.
  ///
  /// The first separator counts; if several begin there, the longest counts. A backslash escapes `:`, `=`, `;`, `@` or
  /// `\` in the name, and an `@` at the beginning of the text. Otherwise the value is used unchanged.
  static func parse(_ word: String) throws(UsageError) -> Item {
    let lower = word.lowercased()
    let isLocal = lower.hasPrefix("localhost:") || word.hasPrefix(":") && word != ":"
    if lower.hasPrefix("http://") || lower.hasPrefix("https://") || isLocal && Address.isURL(word) {
      throw UsageError("'\(Address.shown(word))' is a second URL: give the method and one URL first, then the items")
    }
    if word.hasPrefix("{"), JSONScanner.problem(in: word) == nil {
      throw UsageError("a JSON document is not an item; send it with --json or --body, or as name:=JSON")
    }
    var name = ""
    var rest = Substring(word)
    while let character = rest.first {
      if character == "\\", let next = rest.dropFirst().first, ":=;@\\".contains(next) {
        name.append(next)
        rest = rest.dropFirst(2)
        continue
      }
      if ":=@".contains(character) || (character == ";" && rest.count == 1) {
        return try item(named: name, rest, word)
      }
      name.append(character)
      rest = rest.dropFirst()
    }
    if Arguments.methods.contains(word) {
      throw UsageError("the method '\(word)' is not an item; write the method before the URL")
    }
    if word.hasPrefix("-"), word != "-" {
      throw UsageError("'\(word)' follows '--', so it is not an option but an item; write options before '--'")
    }
    let forms = "name=text, name:=json, name@file, name==query, Header:value and Header;"
    let options = OptionEntry.byName.keys.map { String($0.dropFirst(2)) }
    let guess = Suggestion.nearest(to: word, in: options).map { "; did you mean --\($0)?" }
    throw UsageError("'\(word)' is not one of \(forms)\(guess ?? "")")
  }

  private static func item(named name: String, _ rest: Substring, _ word: String) throws(UsageError) -> Item {
    if name.isEmpty, rest.hasPrefix("@") {
      if rest.count == 1 { throw UsageError("the item '@' needs the name of a file") }
      return .body(String(rest.dropFirst()))
    }
    if name.isEmpty { throw UsageError("'\(word)' has no name before its separator; write name=text without spaces") }
    if rest.hasPrefix("=@") || rest.hasPrefix(":=@") { return .field(try field(named: name, rest)) }
    if rest.hasPrefix(":=") { return .field(.init(name: name, value: .json(try json(rest.dropFirst(2), name)))) }
    if rest.hasPrefix("==") { return .query(name: name, value: String(rest.dropFirst(2))) }
    let value = String(rest.dropFirst())
    if rest.hasPrefix("@") { return .file(try Part(name: name, file: value)) }
    if rest.hasPrefix("=") {
      return .field(.init(name: name, value: .text(value.hasPrefix("\\@") ? String(value.dropFirst()) : value)))
    }
    if rest.hasPrefix(";") { return .header(name: name, value: "") }
    let trimmed = value.drop { $0 == " " }
    if trimmed.isEmpty {
      throw UsageError(
        "the header '\(word)' has no value; write '\(name):value' without a space, or '\(name);' for an empty one")
    }
    return .header(name: name, value: String(trimmed))
  }

  /// Returns a field whose value is in a file.
  private static func field(named name: String, _ rest: Substring) throws(UsageError) -> RequestCommand.Field {
    let path = rest.drop { $0 != "@" }.dropFirst()
    if path.isEmpty { throw UsageError("the field '\(name)' needs the name of a file after '@'") }
    return .init(name: name, value: .file(String(path), isJSON: rest.hasPrefix(":")))
  }

  private static func json(_ text: Substring, _ name: String) throws(UsageError) -> String {
    if let problem = JSONScanner.problem(in: String(text)) {
      throw UsageError("the value of '\(name):=' is not JSON: \(problem); '\(name)=…' sends text")
    }
    return String(text)
  }
}
