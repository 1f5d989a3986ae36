import Foundation
import Martlet

/// One part of a multipart form: `name@file`, `-F name=text` or `-F name=@file`.
struct Part: Equatable, Sendable {
  enum Value: Equatable, Sendable {
    case text(String)
    /// A file, optionally with another name in the form; `-` is standard input.
    case file(String, filename: String?, type: String?)
    /// The contents of a file as a field; `-` is standard input.
    case contents(String, filename: String? = nil, type: String? = nil)
    /// The data from standard input, or text with attributes.
    case data(Data, filename: String?, type: String?)
  }

  var name: String
  var value: Value

  /// Reads what follows `name@`: `FILE`, `FILE;type=TYPE`, `FILE;filename=NAME`, or both.
  init(name: String, file text: String) throws(UsageError) {
    let (path, filename, type) = Self.attributes(text)
    if path.isEmpty { throw UsageError("the part '\(name)' needs the name of a file after '@'") }
    self.name = name
    value = .file(path, filename: filename, type: type)
  }

  init(name: String, text: String) {
    self.name = name
    value = .text(text)
  }

  init(name: String, contents path: String) {
    self.name = name
    value = .contents(path)
  }

  /// Reads the value of curl's `-F`: `name=text`, `name=@file` or `name=<file`, each optionally with attributes.
  ///
  /// - Parameters:
  ///   - text: The value.
  ///   - isLiteral: Whether everything after the `=` is text, as with `--form-string`.
  /// - Throws: ``UsageError`` if a name or a file name is missing.
  init(curl text: String, isLiteral: Bool = false) throws(UsageError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else {
      let form = isLiteral ? "--form-string needs NAME=TEXT" : "-F needs NAME=TEXT or NAME=@FILE"
      throw UsageError("\(form), not '\(text)'; --form makes a form of the items")
    }
    self.init(name: parts[0], text: parts[1])
    if isLiteral { return }
    if parts[1].hasPrefix("@") {
      self = try Part(name: name, file: String(parts[1].dropFirst()))
      return
    }
    let (content, filename, type) = Self.attributes(parts[1])
    if content == "<" { throw UsageError("-F '\(name)=<' needs the name of a file") }
    if content.hasPrefix("<") {
      value = .contents(String(content.dropFirst()), filename: filename, type: type)
    } else if filename != nil || type != nil {
      value = .data(Data(content.utf8), filename: filename, type: type)
    }
  }

  /// Splits `;type=TYPE` and `;filename=NAME` off the end of a text.
  private static func attributes(_ text: String) -> (text: String, filename: String?, type: String?) {
    var rest = text
    var filename: String?
    var type: String?
    while let start = rest.lastIndex(of: ";") {
      let attribute = rest[rest.index(after: start)...]
      if attribute.hasPrefix("type=") {
        type = String(attribute.dropFirst("type=".count))
      } else if attribute.hasPrefix("filename=") {
        filename = String(attribute.dropFirst("filename=".count))
      } else {
        break
      }
      rest = String(rest[..<start])
    }
    return (rest, filename, type)
  }

  /// Reads standard input, a pipe or a device if the part refers to it.
  mutating func take(_ input: () throws(UsageError) -> Data) throws(UsageError) {
    switch value {
    case .file("-", let filename, let type): value = .data(try input(), filename: filename ?? "-", type: type)
    case .contents("-", let filename, let type): value = .data(try input(), filename: filename, type: type)
    case .file(let path, let filename, let type) where InputFile.isStream(path):
      let data = try InputFile.contents(of: path, for: "the part '\(name)'")
      value = .data(data, filename: filename ?? URL(fileURLWithPath: path).lastPathComponent, type: type)
    case .contents(let path, let filename, let type) where InputFile.isStream(path):
      let data = try InputFile.contents(of: path, for: "the part '\(name)'")
      value = .data(data, filename: filename, type: type)
    default: break
    }
  }

  /// Adds the part to a form.
  func add(to form: inout MultipartForm) {
    switch value {
    case .text(let text): form.add(text, for: name)
    case .file(let path, let filename, let type):
      form.add(file: URL(fileURLWithPath: path), for: name, filename: filename, type: type)
    case .contents(let path, let filename, let type):
      form.add(.file(URL(fileURLWithPath: path), contentType: type), for: name, filename: filename)
    case .data(let data, nil, let type): form.add(.data(data, contentType: type), for: name)
    case .data(let data, let filename, let type): form.add(data, for: name, filename: filename, type: type)
    }
  }
}
