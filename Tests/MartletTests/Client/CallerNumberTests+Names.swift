import Foundation

extension CallerNumberTests {
  /// Returns the variables and functions that accept a number.
  static func names(of page: String) -> Set<String> {
    var names: Set<String> = []
    for line in page.split(separator: "\n") {
      let parts = line.components(separatedBy: "  |  ")
      guard parts.count == 2 else { continue }
      var words = parts[1].split(separator: " ")
      words.removeAll { ["nonisolated", "@discardableResult", "static", "indirect"].contains($0) }
      let kind = words.first?.prefix { $0.isLetter }
      var declaration = parts[1]
      switch kind {
      case "var" where !declaration.hasSuffix("{ get }"): break
      case "func", "init":
        if let end = declaration.range(of: " -> ", options: .backwards) {
          declaration = String(declaration[..<end.lowerBound])
        }
      default: continue
      }
      let types = declaration.split { !$0.isLetter && !$0.isNumber }
      if types.contains(where: { ["Int", "Int64", "Double", "Duration", "TimeInterval", "Date"].contains($0) }) {
        names.insert(parts[0])
      }
    }
    return names
  }
}
