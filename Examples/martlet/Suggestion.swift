/// Finds the known word that a user may have meant.
enum Suggestion {
  /// Finds the candidate nearest to a word.
  ///
  /// A candidate that begins with the word counts as one change. A word of up to four letters allows one change, a
  /// longer word two.
  ///
  /// - Parameters:
  ///   - word: The word, without hyphens or separators.
  ///   - candidates: The known words.
  /// - Returns: The candidate, or `nil` if all are too different.
  static func nearest(to word: String, in candidates: some Collection<String>) -> String? {
    let word = word.lowercased()
    guard (2...40).contains(word.count) else { return nil }
    let limit = word.count <= 4 ? 1 : 2
    let ranked = candidates.map { candidate in
      let isBeginning = word.count > 2 && candidate.count > word.count && candidate.hasPrefix(word)
      return (isBeginning ? 1 : distance(word, candidate), candidate)
    }
    // On a tie, prefers the candidate with the same first letter, which is rarely wrong. Then prefers the candidate of
    // the same length, because letters are transposed more often than omitted.
    func rank(_ guess: (Int, String)) -> (Int, Int, Int, String) {
      (guess.0, guess.1.first == word.first ? 0 : 1, abs(guess.1.count - word.count), guess.1)
    }
    return ranked.filter { $0.0 <= limit && $0.0 < $0.1.count }.min { rank($0) < rank($1) }?.1
  }

  /// The number of letters added, removed, changed or transposed between two words.
  static func distance(_ word: String, _ other: String) -> Int {
    let (source, target) = (Array(word), Array(other))
    var before: [Int] = []
    var previous: [Int] = []
    var row = Array(0...target.count)
    for index in source.indices {
      (before, previous) = (previous, row)
      row[0] = index + 1
      for column in target.indices {
        let changed = previous[column] + (source[index] == target[column] ? 0 : 1)
        row[column + 1] = min(changed, previous[column + 1] + 1, row[column] + 1)
        guard index > 0, column > 0, source[index] == target[column - 1], source[index - 1] == target[column] else {
          continue
        }
        row[column + 1] = min(row[column + 1], before[column - 1] + 1)
      }
    }
    return row[target.count]
  }
}
