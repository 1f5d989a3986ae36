extension BidirectionalCollection<UInt8> {
  /// The octets without the beginning of a UTF-8 character whose end is missing.
  ///
  /// For text whose bytes were truncated at a limit. Other invalid octets are kept.
  public var withoutPartialCharacter: SubSequence {
    var index = endIndex
    for count in 1...3 where index > startIndex {
      formIndex(before: &index)
      let length =
        switch self[index] {
        case 0x80...0xBF: 0
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
      if length > 0 { return length > count ? self[..<index] : self[...] }
    }
    return self[...]
  }
}
