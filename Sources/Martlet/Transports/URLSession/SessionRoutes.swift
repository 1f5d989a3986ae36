#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The proxy of a request, which a session has for all of its requests.
  enum SessionRoute: Hashable, Sendable {
    /// The system's settings decide.
    case system
    /// No proxy, even if the system's settings name one.
    case direct
    case proxy(Proxy)

    var proxy: Proxy? { if case .proxy(let proxy) = self { proxy } else { nil } }
  }

  /// A session and its delegate, which finds an exchange by the session's own task identifiers.
  struct RoutedSession: Sendable {
    let session: URLSession
    let bridge: URLSessionBridge
  }

  /// The values of the keys that were used last.
  struct RecentlyUsed<Key: Equatable & Sendable, Value: Sendable>: Sendable {
    private let maximumCount: Int
    /// The most recently used entry is the last one.
    private var entries: [(key: Key, value: Value)] = []

    /// `maximumCount` is at least 1.
    init(maximumCount: Int) { self.maximumCount = maximumCount }

    var values: [Value] { entries.map(\.value) }

    /// The value of a key, which becomes the most recently used one.
    mutating func use(_ key: Key) -> Value? {
      guard let index = entries.lastIndex(where: { $0.key == key }) else { return nil }
      if index != entries.count - 1 { entries.append(entries.remove(at: index)) }
      return entries.last?.value
    }

    /// Adds a key; returns the value that it replaces, or the least recently used one if there are too many.
    mutating func insert(_ value: Value, for key: Key) -> Value? {
      let index = entries.firstIndex { $0.key == key } ?? (entries.count < maximumCount ? nil : entries.startIndex)
      let removed = index.map { entries.remove(at: $0).value }
      entries.append((key, value))
      return removed
    }
  }
#endif
