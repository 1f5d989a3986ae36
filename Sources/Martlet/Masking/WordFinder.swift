/// Finds lower-case words in text, in one step per octet (Aho and Corasick, 1975).
///
/// The states are the prefixes of the words. In each state, an octet leads to the longest prefix with which the octets
/// up to it end.
struct WordFinder: Sendable {
  /// The lower-case letters, and one symbol for all other octets.
  private static let letters = 27

  /// The next state, by state and letter.
  private let next: [UInt16]
  /// The states in which a word has been found.
  private let isEnd: [Bool]

  init(_ words: [String]) {
    let none = [Int](repeating: 0, count: Self.letters)
    var tree = [none]
    var isEnd = [false]
    for word in words {
      var state = 0
      for octet in word.utf8 {
        let letter = Self.letter(octet)
        if tree[state][letter] == 0 {
          tree[state][letter] = tree.count
          tree.append(none)
          isEnd.append(false)
        }
        state = tree[state][letter]
      }
      isEnd[state] = true
    }
    // Where a word does not continue, the longest other prefix does; shorter prefixes are processed first.
    var other = [Int](repeating: 0, count: tree.count)
    var queue = tree[0].filter { $0 != 0 }
    var head = 0
    while head < queue.count {
      let state = queue[head]
      head += 1
      isEnd[state] = isEnd[state] || isEnd[other[state]]
      for letter in 0..<Self.letters {
        let following = tree[other[state]][letter]
        if tree[state][letter] == 0 {
          tree[state][letter] = following
        } else {
          other[tree[state][letter]] = following
          queue.append(tree[state][letter])
        }
      }
    }
    next = tree.joined().map { UInt16(clamping: $0) }
    self.isEnd = isEnd
  }

  /// Whether text contains one of the words.
  func finds(in octets: [UInt8]) -> Bool {
    var state = 0
    for octet in octets {
      state = Int(next[state * Self.letters + Self.letter(octet)])
      if isEnd[state] { return true }
    }
    return false
  }

  private static func letter(_ octet: UInt8) -> Int { 0x61...0x7A ~= octet ? Int(octet) - 0x61 : 26 }
}
