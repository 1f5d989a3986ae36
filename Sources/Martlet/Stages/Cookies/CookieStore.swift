public import Foundation

/// Where a client stores cookies.
///
/// A description: the jar itself is made with the client, which has it as ``HTTPClient/cookies``. Clients that are
/// ``HTTPClient/derived(_:)`` from one share its jar until they are given another store.
public struct CookieStore: Sendable {
  enum Kind: Sendable {
    case none
    case memory
    case file(URL, keepsSessionCookies: Bool)
    case jar(CookieJar)
    #if canImport(Darwin)
      case system
    #endif
  }

  let kind: Kind

  /// Sends no cookies and stores none.
  public static let off = CookieStore(kind: .none)

  /// A jar in memory, empty with each new client.
  public static let memory = CookieStore(kind: .memory)

  /// A jar in a file, which other processes may share.
  ///
  /// The file is read once, when the client is made. See ``CookieJar/init(file:keepsSessionCookies:now:)``.
  ///
  /// - Parameters:
  ///   - url: The file; it is made if it is not there, its folder is not.
  ///   - keepsSessionCookies: Whether cookies without a date are saved too.
  /// - Returns: The store.
  public static func file(_ url: URL, keepsSessionCookies: Bool = false) -> CookieStore {
    CookieStore(kind: .file(url, keepsSessionCookies: keepsSessionCookies))
  }

  /// An existing jar, to share it between clients.
  public static func jar(_ jar: CookieJar) -> CookieStore { CookieStore(kind: .jar(jar)) }

  #if canImport(Darwin)
    /// `HTTPCookieStorage.shared`, with whatever other parts of the program put into it.
    ///
    /// What is stored and sent is decided by the rules of ``CookieJar``; the system only keeps it.
    public static let system = CookieStore(kind: .system)
  #endif

  func makeJar(_ now: @escaping @Sendable () -> Date) -> CookieJar {
    switch kind {
    case .none: CookieJar(CookieShelf(.nowhere, now))
    case .memory: CookieJar(now: now)
    case .file(let url, let keepsSession): CookieJar(file: url, keepsSessionCookies: keepsSession, now: now)
    case .jar(let jar): jar
    #if canImport(Darwin)
      case .system: CookieJar(CookieShelf(.system, now))
    #endif
    }
  }
}
