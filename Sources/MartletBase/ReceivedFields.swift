/// The header fields of one response as octets, decoded on demand.
///
/// Most responses have a dozen fields, of which a program reads one or none.
@usableFromInline package final class ReceivedFields: Sendable {
  /// The position of a field in the octets.
  package struct FieldRange: Sendable {
    package var nameStart: Int32
    package var nameEnd: Int32
    package var valueStart: Int32
    package var valueEnd: Int32

    package init(nameStart: Int32, nameEnd: Int32, valueStart: Int32, valueEnd: Int32) {
      (self.nameStart, self.nameEnd, self.valueStart, self.valueEnd) = (nameStart, nameEnd, valueStart, valueEnd)
    }
  }

  private let octets: [UInt8]
  private let places: [FieldRange]
  private let text = Locked<(any AnyObject & Sendable)?>(nil)

  package init(_ octets: [UInt8], _ places: [FieldRange]) {
    self.octets = octets
    self.places = places
  }

  package var count: Int { places.count }

  /// An object made from all fields, cached after the first call.
  ///
  /// Callers must always use the same type.
  package func made<Text: AnyObject & Sendable>(_ make: () -> Text) -> Text {
    text.withLock { text in
      if let known = text as? Text { return known }
      let made = make()
      text = made
      return made
    }
  }

  /// The octets of a field's value.
  package func octets(at index: Int) -> ArraySlice<UInt8> {
    let place = places[index]
    return octets[Int(place.valueStart)..<Int(place.valueEnd)]
  }

  package func firstIndex(of name: String) -> Int? { places.firstIndex { isNamed(name, $0) } }

  /// The values of all fields with that name, which a closure makes from their octets.
  package func values(of name: String, _ make: (ArraySlice<UInt8>) -> String = { text($0) }) -> [String] {
    var values: [String] = []
    for index in places.indices where isNamed(name, places[index]) { values.append(make(octets(at: index))) }
    return values
  }

  package func name(at index: Int) -> String {
    let place = places[index]
    return String(decoding: octets[Int(place.nameStart)..<Int(place.nameEnd)], as: UTF8.self)
  }

  private func isNamed(_ name: String, _ place: FieldRange) -> Bool {
    let count = Int(place.nameEnd - place.nameStart)
    guard name.utf8.count == count else { return false }
    var index = Int(place.nameStart)
    for octet in name.utf8 {
      guard FieldSyntax.lowercased(octet) == FieldSyntax.lowercased(octets[index]) else { return false }
      index += 1
    }
    return true
  }

  /// The octets as UTF-8 if they are valid, otherwise as Latin-1.
  @inlinable package static func text(_ octets: some Collection<UInt8>) -> String {
    if octets.allSatisfy({ $0 < 0x80 }) { return String(decoding: octets, as: UTF8.self) }
    if let text = String(validating: octets, as: UTF8.self) { return text }
    var text = ""
    for octet in octets { text.unicodeScalars.append(Unicode.Scalar(octet)) }
    return text
  }
}
