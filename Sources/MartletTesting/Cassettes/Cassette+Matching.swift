public import Martlet
import MartletHAR

extension Cassette {
  /// The parts of a request that must equal those of an entry.
  ///
  /// ```swift
  /// let cassette = Cassette(file, matching: .standard.ignoring(queryItems: ["timestamp"]))
  /// ```
  public struct Matching: Sendable, Hashable {
    var comparesOrigin = true
    var comparesBody = true
    var ignoredItems: Set<String> = []
    var headers: [String] = []

    /// Method, URL and body.
    public static let standard = Matching()

    /// Ignores bodies.
    public func ignoringBody() -> Matching { with { $0.comparesBody = false } }

    /// Ignores scheme, host and port: for a test server whose port changes.
    public func ignoringOrigin() -> Matching { with { $0.comparesOrigin = false } }

    /// Ignores query items, such as a time or a random number.
    ///
    /// - Parameter names: Their names.
    /// - Returns: The matching.
    public func ignoring(queryItems names: [String]) -> Matching { with { $0.ignoredItems.formUnion(names) } }

    /// Also compares header fields.
    ///
    /// - Parameter names: Their names.
    /// - Returns: The matching.
    public func comparing(headers names: [String]) -> Matching { with { $0.headers += names } }

    private func with(_ change: (inout Matching) -> Void) -> Matching {
      var copy = self
      change(&copy)
      return copy
    }

    /// Returns the compared parts of a key.
    func reduced(_ key: HARKey) -> HARKey {
      var key = key
      if !comparesOrigin { key.origin = "" }
      if !comparesBody { key.body = .none }
      key.query.removeAll { ignoredItems.contains($0.name) }
      return key
    }

    /// Describes how two requests differ; a smaller weight means a smaller difference.
    ///
    /// The text is created only for the nearest entry, because each entry of a file is compared.
    static func difference(_ asked: HARKey, _ found: HARKey) -> (weight: Int, text: () -> String) {
      var (weight, texts) = (0, [() -> String]())
      func record(_ isEqual: Bool, _ cost: Int, _ text: @autoclosure @escaping () -> String) {
        guard !isEqual else { return }
        weight += cost
        texts.append(text)
      }
      record(asked.path == found.path, 8, "the path is '\(asked.path)' instead of '\(found.path)'")
      record(asked.origin == found.origin, 6, "the origin is '\(asked.origin)' instead of '\(found.origin)'")
      record(asked.method == found.method, 4, "the method is \(asked.method) instead of \(found.method)")
      record(asked.query == found.query, 2, "the query is \(text(asked.query)) instead of \(text(found.query))")
      for name in Set(asked.headers.keys).union(found.headers.keys).sorted() {
        let (one, other) = (asked.headers[name], found.headers[name])
        record(one == other, 2, "the field '\(name)' is \(text(one)) instead of \(text(other))")
      }
      record(asked.body == found.body, 1, difference(asked.body, found.body))
      return (weight, { [texts] in texts.map { $0() }.joined(separator: ", ") })
    }

    private static func text(_ query: [Query.Item]) -> String {
      let items = query.map { item in item.value.map { "\(item.name)=\($0)" } ?? item.name }
      return items.isEmpty ? "empty" : "'\(shortened(items.joined(separator: "&")))'"
    }

    private static func text(_ value: String?) -> String { value.map { "'\(shortened($0))'" } ?? "missing" }

    private static func difference(_ asked: HARKey.Body, _ found: HARKey.Body) -> String {
      switch (asked, found) {
      case (.none, _): return "the body is missing"
      case (_, .none): return "there is a body, and none was recorded"
      case (.text(let one), .text(let other)):
        let place = zip(one.unicodeScalars, other.unicodeScalars).prefix { $0 == $1 }.count
        func part(_ text: String) -> String {
          let rest = text.unicodeScalars.dropFirst(max(place - 10, 0))
          return String(String.UnicodeScalarView(rest.prefix(40)))
        }
        return "the body has '\(part(one))' instead of '\(part(other))' at character \(place + 1)"
      default: return "the bytes of the body differ"
      }
    }

    private static func shortened(_ text: String) -> String {
      text.unicodeScalars.count <= 100 ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(100))) + "…"
    }
  }

  /// A fault in a replayed response.
  @nonexhaustive public enum Fault: Sendable {
    /// The head is delayed by this duration.
    case delay(Duration)
    /// The body ends with `HTTPError.Kind.connectionLost` after a number of bytes.
    case cut(after: Int)
    /// The response has this status and no body; its entry is used by a later request.
    case status(HTTPStatus)
    /// The request fails; its entry is used by a later request.
    case failure(HTTPError.Kind)
  }
}
