import Foundation
import Martlet

/// One part of a multipart form: `name@file`, `-F name=text` or `-F name=@file`.
struct Part: Equatable, Sendable {
  enum Value: Equatable, Sendable {
    case text(String)
    /// A file, whose name in the form may be another one; `-` is standard input.
    case file(String, filename: String?, type: String?)
    /// The contents of a file as a field; `-` is standard input.
    case contents(String)
    /// What standard input had.
    case data(Data, filename: String?, type: String?)
  }

  var name: String
  var value: Value

  /// Reads what follows `name@`: `FILE`, `FILE;type=TYPE`, `FILE;filename=NAME`, or both.
  init(name: String, file text: String) throws(UsageError) {
    var path = text
    var filename: String?
    var type: String?
    while let start = path.range(of: ";", options: .backwards)?.lowerBound {
      let attribute = path[path.index(after: start)...]
      if attribute.hasPrefix("type=") {
        type = String(attribute.dropFirst("type=".count))
      } else if attribute.hasPrefix("filename=") {
        filename = String(attribute.dropFirst("filename=".count))
      } else {
        break
      }
      path = String(path[..<start])
    }
    if path.isEmpty { throw UsageError("the part '\(name)' needs the name of a file after '@'") }
    self.name = name
    value = .file(path, filename: filename, type: type)
  }

  init(name: String, text: String) {
    self.name = name
    value = .text(text)
  }

  /// Reads the value of curl's `-F`: `name=text`, `name=@file` or `name=<file`.
  init(curl text: String) throws(UsageError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw UsageError("-F needs NAME=TEXT or NAME=@FILE, not '\(text)'; --form makes a form of the items")
    }
    let (name, value) = (parts[0], parts[1])
    if value.hasPrefix("@") {
      try self.init(name: name, file: String(value.dropFirst()))
    } else if value.contains(";type=") {
      throw UsageError("-F '\(name)' has a type, which only a file can have here: -F '\(name)=@FILE;type=TYPE'")
    } else if value.hasPrefix("<") {
      if value.count == 1 { throw UsageError("-F '\(name)=<' needs the name of a file") }
      self.init(name: name, text: "")
      self.value = .contents(String(value.dropFirst()))
    } else {
      self.init(name: name, text: value)
    }
  }

  /// Takes the bytes of standard input, if the part is for them.
  mutating func take(_ input: () throws(UsageError) -> Data) throws(UsageError) {
    switch value {
    case .file("-", let filename, let type): value = .data(try input(), filename: filename ?? "-", type: type)
    case .contents("-"): value = .data(try input(), filename: nil, type: nil)
    default: break
    }
  }

  /// Adds itself to a form.
  func add(to form: inout MultipartForm) {
    switch value {
    case .text(let text): form.add(text, for: name)
    case .file(let path, let filename, let type):
      form.add(file: URL(fileURLWithPath: path), for: name, filename: filename, type: type)
    case .contents(let path): form.add(.file(URL(fileURLWithPath: path), contentType: nil), for: name)
    case .data(let data, nil, let type): form.add(.data(data, contentType: type), for: name)
    case .data(let data, let filename, let type): form.add(data, for: name, filename: filename, type: type)
    }
  }
}
