public import MartletBase

/// The storage for a client's cookies.
///
/// The value describes the storage. The jar itself is created with the client, as ``HTTPClient/cookies``. A
/// ``HTTPClient/derived(_:)`` client shares the jar unless its configuration sets another store.
public struct CookieStore: Sendable {
  enum Kind: Sendable {
    case own(CookieStorage.Keeping)
    case file(URL, keepsSessionCookies: Bool)
    case jar(CookieJar)
  }

  let kind: Kind

  /// Sends no cookies and stores none.
  public static let off = CookieStore(kind: .own(.nowhere))

  /// A jar in memory, empty for each new client.
  public static let memory = CookieStore(kind: .own(.memory))

  /// A jar in a file that other processes may share.
  ///
  /// The file is read once, when the client is created. See ``CookieJar/init(file:keepsSessionCookies:now:)``.
  ///
  /// - Parameters:
  ///   - url: The file; it is created if necessary, but its folder is not.
  ///   - keepsSessionCookies: Whether to save cookies without an expiration date.
  /// - Returns: The store.
  public static func file(_ url: URL, keepsSessionCookies: Bool = false) -> CookieStore {
    CookieStore(kind: .file(url, keepsSessionCookies: keepsSessionCookies))
  }

  /// An existing jar, to share it between clients.
  public static func jar(_ jar: CookieJar) -> CookieStore { CookieStore(kind: .jar(jar)) }

  #if canImport(Darwin)
    /// `HTTPCookieStorage.shared`, including the cookies of other parts of the program.
    ///
    /// The rules of ``CookieJar`` decide which cookies are stored and sent; the system only stores them.
    public static let system = CookieStore(kind: .own(.system))
  #endif

  func makeJar(_ now: @escaping @Sendable () -> Date) -> CookieJar {
    switch kind {
    case .own(let keeping): CookieJar(CookieStorage(keeping, now))
    case .file(let url, let keepsSession): CookieJar(file: url, keepsSessionCookies: keepsSession, now: now)
    case .jar(let jar): jar
    }
  }
}
