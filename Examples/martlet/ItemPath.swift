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
indirect enum JSONTree {
  /// A value as JSON.
  case value(String)
  case object([(name: String, value: JSONTree)])
  /// The elements; `nil` is an element that no item sets, sent as `null`.
  case array([JSONTree?])

  /// Builds the document of the items' names and values, in their order.
  ///
  /// If a name occurs twice, the last value counts.
  ///
  /// - Throws: ``UsageError`` if an item needs an object in the place of an array or a value, or the reverse.
  init(_ items: [(name: String, json: String)]) throws(UsageError) {
    var root: JSONTree?
    for (name, json) in items {
      let steps = try ItemPath(name).steps[...]
      root = try Self.setting(json, at: steps, in: root, name)
    }
    self = root ?? .object([])
  }

  private static func setting(
    _ json: String, at steps: ArraySlice<ItemPath.Step>, in tree: JSONTree?, _ name: String
  ) throws(UsageError) -> JSONTree {
    guard let step = steps.first else {
      switch tree {
      case nil, .value: return .value(json)
      case .object: throw conflict(name, needs: "a value", but: "an object")
      case .array: throw conflict(name, needs: "a value", but: "an array")
      }
    }
    let rest = steps.dropFirst()
    switch (step, tree) {
    case (_, .value): throw conflict(name, needs: "an object or array", but: "a value")
    case (.name, .array): throw conflict(name, needs: "an object", but: "an array")
    case (.index, .object), (.append, .object): throw conflict(name, needs: "an array", but: "an object")
    case (.name(let key), _):
      var members: [(name: String, value: JSONTree)] = []
      if case .object(let known)? = tree { members = known }
      if let index = members.firstIndex(where: { $0.name == key }) {
        members[index].value = try setting(json, at: rest, in: members[index].value, name)
      } else {
        members.append((key, try setting(json, at: rest, in: nil, name)))
      }
      return .object(members)
    case (.index, _), (.append, _):
      var elements: [JSONTree?] = []
      if case .array(let known)? = tree { elements = known }
      var index = elements.count
      if case .index(let given) = step { index = given }
      while elements.count <= index { elements.append(nil) }
      elements[index] = try setting(json, at: rest, in: elements[index], name)
      return .array(elements)
    }
  }

  private static func conflict(_ name: String, needs: String, but other: String) -> UsageError {
    UsageError("the item '\(name)' needs \(needs), but an earlier item makes \(other) in that place")
  }

  /// The document as text.
  var text: String {
    switch self {
    case .value(let json): json
    case .object(let members):
      "{" + members.map { "\(RequestCommand.quoted($0.name)): \($0.value.text)" }.joined(separator: ", ") + "}"
    case .array(let elements): "[" + elements.map { $0?.text ?? "null" }.joined(separator: ", ") + "]"
    }
  }
}
