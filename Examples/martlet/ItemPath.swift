/// The name of a field that may be nested: `user[name]`, `tags[]` or `rows[0][id]`, as in HTTPie.
///
/// A backslash before a bracket makes it part of the name. In brackets, digits are an index, nothing appends an
/// element, and other text is a name; a backslash before digits makes them a name.
struct ItemPath: Equatable {
  enum Step: Equatable {
    case name(String)
    case index(Int)
    case append
  }

  /// The maximum number of elements of an array.
  private static let maximumIndex = 9_999
  private static let maximumDepth = 100

  let steps: [Step]

  /// Reads a name.
  ///
  /// - Throws: ``UsageError`` if brackets do not match, with the cure.
  init(_ name: String) throws(UsageError) {
    var rest = Substring(name)
    let head = Self.text(&rest, until: "[")
    var steps: [Step] = []
    if !head.text.isEmpty || rest.isEmpty { steps.append(.name(head.text)) }
    while rest.popFirst() == "[" {
      let inner = Self.text(&rest, until: "]")
      guard rest.popFirst() == "]" else {
        throw UsageError("the item '\(name)' has a '[' without ']'; write \\[ for a bracket in a name")
      }
      guard rest.isEmpty || rest.hasPrefix("[") else {
        throw UsageError("the item '\(name)' has text after ']'; write \\[ and \\] for brackets in a name")
      }
      steps.append(try Self.step(inner.text, isEscaped: inner.isEscaped, name))
    }
    if steps.count > Self.maximumDepth {
      throw UsageError("the item '\(name.prefix(40))…' has more than \(Self.maximumDepth) levels")
    }
    self.steps = steps
  }

  /// The name without the backslashes of brackets, for a form.
  static func literal(_ name: String) -> String {
    name.replacing("\\[", with: "[").replacing("\\]", with: "]")
  }

  private static func text(_ rest: inout Substring, until end: Character) -> (text: String, isEscaped: Bool) {
    var text = ""
    var isEscaped = false
    while let character = rest.first, character != end {
      rest.removeFirst()
      if character == "\\", let next = rest.first, next == "[" || next == "]" || (end == "]" && next.isNumber) {
        text.append(rest.removeFirst())
        isEscaped = true
      } else {
        text.append(character)
      }
    }
    return (text, isEscaped)
  }

  private static func step(_ text: String, isEscaped: Bool, _ name: String) throws(UsageError) -> Step {
    if isEscaped { return .name(text) }
    if text.isEmpty { return .append }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return .name(text) }
    guard let index = Int(text), (0...maximumIndex).contains(index) else {
      throw UsageError("the index of '\(name)' is greater than \(maximumIndex); write [\\\(text)] for a name of digits")
    }
    return .index(index)
  }
}

/// The JSON document that items describe.
///
/// A class, so an item changes its place in the document without a copy of its siblings.
final class JSONTree {
  private enum Content {
    case none
    /// A value as JSON.
    case value(String)
    case object
    case array
  }

  private var content = Content.none
  /// The members of an object, in their order.
  private var members: [(name: String, value: JSONTree)] = []
  /// The positions of members by the bytes of their names, because Swift compares composed characters as equal.
  private var positions: [[UInt8]: Int] = [:]
  /// The elements of an array; one that no item sets is sent as `null`.
  private var elements: [JSONTree] = []

  private init() {}

  /// Builds the document of the items' names and values, in their order.
  ///
  /// If a name occurs twice, the last value counts.
  ///
  /// - Throws: ``UsageError`` if an item needs an object instead of an array or a value, or the reverse.
  convenience init(_ items: [(name: String, json: String)]) throws(UsageError) {
    self.init()
    for (name, json) in items {
      var place = self
      for step in try ItemPath(name).steps { place = try place.child(at: step, name) }
      try place.set(json, name)
    }
  }

  private func set(_ json: String, _ name: String) throws(UsageError) {
    switch content {
    case .none, .value: content = .value(json)
    case .object: throw Self.conflict(name, needs: "a value", but: "an object")
    case .array: throw Self.conflict(name, needs: "a value", but: "an array")
    }
  }

  /// Returns the member or element of a step, and creates it if necessary.
  private func child(at step: ItemPath.Step, _ name: String) throws(UsageError) -> JSONTree {
    switch (step, content) {
    case (_, .value): throw Self.conflict(name, needs: "an object or array", but: "a value")
    case (.name, .array): throw Self.conflict(name, needs: "an object", but: "an array")
    case (.index, .object), (.append, .object): throw Self.conflict(name, needs: "an array", but: "an object")
    case (.name(let key), _):
      content = .object
      let octets = Array(key.utf8)
      if let position = positions[octets] { return members[position].value }
      positions[octets] = members.count
      members.append((key, JSONTree()))
      return members[members.count - 1].value
    case (.index, _), (.append, _):
      content = .array
      var index = elements.count
      if case .index(let given) = step { index = given }
      while elements.count <= index { elements.append(JSONTree()) }
      return elements[index]
    }
  }

  private static func conflict(_ name: String, needs: String, but other: String) -> UsageError {
    UsageError("the item '\(name)' needs \(needs), but an earlier item makes \(other) in that place")
  }

  /// The document as text; an object if no item has made it.
  var text: String {
    guard case .none = content else { return json }
    return "{}"
  }

  private var json: String {
    switch content {
    case .none: "null"
    case .value(let json): json
    case .object:
      "{" + members.map { "\(RequestCommand.quoted($0.name)): \($0.value.json)" }.joined(separator: ", ") + "}"
    case .array: "[" + elements.map(\.json).joined(separator: ", ") + "]"
    }
  }
}
