import MartletBase

/// The header fields of a message: an ordered collection of names and values.
///
/// Names are compared ignoring ASCII case and keep their original spelling; a name may occur several times
/// (RFC 9110 §5.1 to §5.3). Nothing is validated here: a request with an illegal name or value is refused before
/// anything is sent. `description` and `dump` show only the names, so no value is logged by accident.
///
/// Two headers are equal if they have the same names and exactly the same values in the same order.
public struct HTTPHeaders: Sendable, Hashable {
  private enum Storage: Sendable {
    case fields([Field])
    /// Fields as received, converted to text on first access.
    case received(ReceivedFields)
  }

  private var storage = Storage.fields([])

  private var fields: [Field] {
    get {
      switch storage {
      case .fields(let fields): fields
      case .received(let received): received.texts.fields
      }
    }
    _modify {
      var fields = fields
      storage = .fields([])
      defer { storage = .fields(fields) }
      yield &fields
    }
  }

  /// Creates empty headers.
  public init() {}

  /// Creates headers from fields, in their order.
  public init(_ fields: some Sequence<Field>) {
    storage = .fields(Array(fields))
  }

  /// Creates headers from the received fields of a response.
  init(_ received: ReceivedFields) { storage = .received(received) }

  /// Whether both have the same storage; compares no fields.
  ///
  /// `false` does not mean that the fields differ.
  func isIdentical(to other: HTTPHeaders) -> Bool {
    guard case .fields(let own) = storage, case .fields(let others) = other.storage, own.count == others.count else {
      return false
    }
    return own.withUnsafeBufferPointer { own in
      others.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress }
    }
  }

  /// Two headers are equal if they have equal fields in the same order.
  public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool { left.fields == right.fields }

  /// Hashes the fields.
  public func hash(into hasher: inout Hasher) { hasher.combine(fields) }

  /// The value of the first field with that name, or `nil`.
  ///
  /// Setting a value puts one field, spelled `name`, in the position of the first field with that name, or at the end,
  /// and removes the others. Setting `nil` removes them all.
  public subscript(_ name: String) -> String? {
    get { firstValue(of: name, { $0.value }, { ReceivedFields.text($0) }) }
    set { replaceFields(named: name, with: newValue.map { [Field(name: name, value: $0)] } ?? []) }
  }

  /// The values of all fields with that name, in order, as received.
  ///
  /// Setting values puts all of them in the position of the first field with that name, or at the end. Setting an empty
  /// array removes the fields.
  public subscript(all name: String) -> [String] {
    get { allValues(of: name, { $0.value }, { ReceivedFields.text($0) }) }
    set { replaceFields(named: name, with: newValue.map { Field(name: name, value: $0) }) }
  }

  /// The octets of the first field with that name, or `nil`.
  ///
  /// A value that is sent back to its server must keep its octets, even if they are not UTF-8 (RFC 9110 §5.5):
  ///
  /// ```swift
  /// request.headers[octets: "If-Match"] = response.headers[octets: "ETag"]
  /// ```
  ///
  /// Setting octets replaces the fields with that name.
  public subscript(octets name: String) -> [UInt8]? {
    get { firstValue(of: name, { $0.octets }, { Array($0) }) }
    set { replaceFields(named: name, with: newValue.map { [Field(name: name, octets: $0)] } ?? []) }
  }

  /// The first field with that name as ``WireText``, for values that are sent back or compared.
  subscript(wire name: String) -> String? {
    get { firstValue(of: name, { $0.wire }, { WireText.make($0) }) }
    set { replaceFields(named: name, with: newValue.map { [Field(name: name, wire: $0)] } ?? []) }
  }

  /// All fields with that name as ``WireText``.
  package subscript(wires name: String) -> [String] {
    get { allValues(of: name, { $0.wire }, { WireText.make($0) }) }
    set { replaceFields(named: name, with: newValue.map { Field(name: name, wire: $0) }) }
  }

  /// Appends a field, keeping others with the same name.
  public mutating func append(_ value: String, for name: String) {
    fields.append(Field(name: name, value: value))
  }

  mutating func append(_ field: Field) { fields.append(field) }

  /// Removes all fields with that name.
  public mutating func remove(_ name: String) {
    fields.removeAll { $0.isNamed(name) }
  }

  /// Whether there is a field with that name.
  @inline(never) public func contains(_ name: String) -> Bool {
    switch storage {
    case .fields(let fields): fields.contains { $0.isNamed(name) }
    case .received(let received): received.firstIndex(of: name) != nil
    }
  }

  /// Replaces the fields whose names occur in `other` with those of `other`.
  ///
  /// Repeated fields in `other` are kept. A name that occurs in both keeps its first position; other names are
  /// appended.
  public mutating func replace(with other: HTTPHeaders) {
    if other.isEmpty { return }
    // Grouped by name first: peers choose these fields, and comparing all pairs would take quadratic time.
    var replacements = Dictionary(grouping: other.fields) { FoldedName(name: $0.name) }
    var isReplaced: Set<FoldedName> = []
    var result: [Field] = []
    for field in fields {
      let name = FoldedName(name: field.name)
      if let replacement = replacements.removeValue(forKey: name) {
        result += replacement
        isReplaced.insert(name)
      } else if !isReplaced.contains(name) {
        result.append(field)
      }
    }
    result += other.fields.filter { replacements[FoldedName(name: $0.name)] != nil }
    fields = result
  }

  /// A copy in which the fields whose names occur in `other` are replaced.
  ///
  /// See ``replace(with:)``.
  public func replacing(with other: HTTPHeaders) -> HTTPHeaders {
    var copy = self
    copy.replace(with: other)
    return copy
  }

  /// The members of the comma-separated list in all fields with that name (RFC 9110 §5.6.1).
  ///
  /// Members are trimmed and empty members dropped. A comma inside a quoted string is not a separator, and the quotes
  /// are kept. Do not use this for fields that are not lists but contain commas, such as `Set-Cookie` and `Date`.
  public func values(of name: String) -> [String] {
    let values = self[all: name]
    return values.isEmpty ? [] : values.flatMap { FieldSyntax.listMembers(of: $0) }
  }

  /// The value of the first field with that name, from the field or from its received octets.
  @inline(never) private func firstValue<Value>(
    of name: String, _ value: (Field) -> Value, _ received: (ArraySlice<UInt8>) -> Value
  ) -> Value? {
    switch storage {
    case .fields(let fields): fields.first { $0.isNamed(name) }.map(value)
    case .received(let fields): fields.firstIndex(of: name).map { received(fields.octets(at: $0)) }
    }
  }

  private func allValues(
    of name: String, _ value: (Field) -> String, _ received: (ArraySlice<UInt8>) -> String
  ) -> [String] {
    switch storage {
    case .fields(let fields): fields.compactMap { $0.isNamed(name) ? value($0) : nil }
    case .received(let fields): fields.values(of: name, received)
    }
  }

  private mutating func replaceFields(named name: String, with replacement: [Field]) {
    guard let first = fields.firstIndex(where: { $0.isNamed(name) }) else {
      fields += replacement
      return
    }
    fields[first...].removeAll { $0.isNamed(name) }
    fields.insert(contentsOf: replacement, at: first)
  }
}

extension HTTPHeaders {
  /// A header field: a name and a value.
  ///
  /// Fields are equal if their names are equal ignoring ASCII case, and their values have the same bytes.
  public struct Field: Sendable, Hashable {
    /// The name, in its original spelling.
    public var name: String

    /// The value, without the line ending.
    ///
    /// Received octets that are not UTF-8 are read as ISO 8859-1; ``octets`` has them unchanged. A value that is set is
    /// sent as UTF-8.
    public var value: String { didSet { others = nil } }

    /// The octets of the value if they are not UTF-8.
    private var others: [UInt8]?

    /// The octets of the value, as received or as sent.
    public var octets: [UInt8] { others ?? Array(value.utf8) }

    /// Creates a field; neither name nor value is checked.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    /// Creates a field whose value may contain octets that are not UTF-8.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - octets: The octets of the value, without the line ending.
    public init(name: String, octets: some Collection<UInt8>) {
      self.name = name
      value = ReceivedFields.text(octets)
      if !value.utf8.elementsEqual(octets) { others = Array(octets) }
    }

    init(name: String, wire: String) {
      if WireText.isCoded(wire) {
        self.init(name: name, octets: WireText.octets(wire))
      } else {
        self.init(name: name, value: wire)
      }
    }

    /// The value as ``WireText``.
    var wire: String { others != nil || WireText.isCoded(value) ? WireText.make(octets) : value }

    /// Whether the octets of the value are not UTF-8.
    var hasOtherOctets: Bool { others != nil }

    /// Whether the names are equal ignoring case, and the values have the same bytes.
    public static func == (left: Field, right: Field) -> Bool {
      // `String.==` would also consider values equal that differ in their Unicode normalization.
      left.isNamed(right.name) && left.value.utf8.elementsEqual(right.value.utf8) && left.others == right.others
    }

    /// Hashes the name, ignoring case, and the value.
    public func hash(into hasher: inout Hasher) {
      FoldedName(name: name).hash(into: &hasher)
      hasher.combine(value)
    }

    func isNamed(_ other: String) -> Bool {
      FieldSyntax.isSameName(name, other)
    }
  }

  /// A name as a dictionary key, compared ignoring ASCII case.
  private struct FoldedName: Hashable {
    let name: String

    static func == (left: FoldedName, right: FoldedName) -> Bool {
      FieldSyntax.isSameName(left.name, right.name)
    }

    func hash(into hasher: inout Hasher) {
      for octet in name.utf8 { hasher.combine(FieldSyntax.lowercased(octet)) }
      hasher.combine(0xFF as UInt8)
    }
  }
}

extension HTTPHeaders: RandomAccessCollection {
  /// The position of the first field, always 0.
  public var startIndex: Int { 0 }

  /// The position after the last field, which is the number of fields.
  public var endIndex: Int {
    switch storage {
    case .fields(let fields): fields.count
    case .received(let received): received.count
    }
  }

  /// The field at a position.
  public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  /// Creates headers from the pairs of a literal, in order; a name may occur several times.
  public init(dictionaryLiteral elements: (String, String)...) {
    storage = .fields(elements.map { Field(name: $0.0, value: $0.1) })
  }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
  /// The names in order, with every value masked.
  public var description: String {
    "[" + fields.map(\.description).joined(separator: ", ") + "]"
  }

  /// A mirror that shows the names only.
  public var customMirror: Mirror {
    Mirror(self, unlabeledChildren: fields.map(\.name), displayStyle: .collection)
  }
}

extension HTTPHeaders.Field: CustomStringConvertible, CustomReflectable {
  /// The name, with the value masked.
  public var description: String { "\(name): …" }

  /// A mirror that shows the name only.
  public var customMirror: Mirror {
    Mirror(self, children: ["name": name], displayStyle: .struct)
  }
}

/// All fields of a response as text.
private final class FieldTexts: Sendable {
  let fields: [HTTPHeaders.Field]

  init(_ fields: [HTTPHeaders.Field]) { self.fields = fields }
}

extension ReceivedFields {
  fileprivate var texts: FieldTexts {
    made { FieldTexts((0..<count).map { HTTPHeaders.Field(name: name(at: $0), octets: octets(at: $0)) }) }
  }
}
