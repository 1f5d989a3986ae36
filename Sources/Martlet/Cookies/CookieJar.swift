public import MartletBase
import Synchronization

/// Stores the cookies that servers set or the program adds, according to RFC 6265bis.
///
/// A client has one jar (``HTTPClient/cookies``), and uses it for every exchange, including each hop of a redirect
/// chain. Several clients can share a jar. A cookie from a response is sent only by clients that would have trusted the
/// response: those with the same ``HTTPClient/Configuration/tls``, ``HTTPClient/Configuration/resolve``,
/// ``HTTPClient/Configuration/unixSocket`` and ``RequestGuard/publicAddressesOnly``. Invalid cookies from servers are
/// ignored, and never cause an error.
///
/// The actor isolates no state. Requests read and store cookies without it, so they never wait for a change by the
/// program.
///
/// | Limit | |
/// |---|---|
/// | name and value | 4,096 bytes together |
/// | one attribute | 1,024 bytes |
/// | lifetime | 400 days |
/// | `Set-Cookie` fields processed in a response | 50 |
/// | cookies of a domain | 50 for each group of clients with equal settings (see above) |
/// | all cookies | 3,000 |
/// | `Cookie` field of a request | 8,190 bytes |
///
/// When a limit is exceeded, expired cookies are evicted first. If a domain has too many cookies, those without
/// `Secure` follow. After that, the least recently used cookies are evicted.
public actor CookieJar {
  nonisolated let shelf: CookieStorage
  /// The number of the jar, unique in the process.
  nonisolated let number = CookieJar.numbers.add(1, ordering: .relaxed).newValue

  private static let numbers = Atomic<Int>(0)

  init(_ shelf: CookieStorage) { self.shelf = shelf }

  /// Creates an empty jar in memory.
  ///
  /// - Parameter now: Returns the current date; for tests.
  public init(now: @escaping @Sendable () -> Date = { Date() }) { shelf = CookieStorage(.memory, now) }

  /// Creates a jar that is stored in a file.
  ///
  /// The file is read immediately. Each function that changes the jar saves the file before it returns, and each
  /// request before it delivers its response. Only the owner has access to the file (mode 0600). It is replaced
  /// atomically, even if the process is killed. Processes that share the file keep each other's changes; each receives
  /// them when it saves. A file with the suffix `.lock` is created beside it, and is not removed.
  ///
  /// If the file cannot be read, the jar is empty, and ``problem`` is the error. A file with other contents is renamed,
  /// with the suffix `.broken`, at the first change.
  ///
  /// Cookies in the file are validated like those of a program (``set(_:)``), because the responses that set them are
  /// unknown.
  ///
  /// - Parameters:
  ///   - file: The file; it is created if necessary, but its folder is not.
  ///   - keepsSessionCookies: Whether to save cookies without an expiration date, which end with the session.
  ///   - now: Returns the current date; for tests.
  public init(file: URL, keepsSessionCookies: Bool = false, now: @escaping @Sendable () -> Date = { Date() }) {
    shelf = CookieStorage(.file(CookieFile(file, keepsSessionCookies: keepsSessionCookies)), now)
  }

  /// All unexpired cookies, by domain.
  public var all: [Cookie] {
    let now = shelf.now()
    return shelf.withTable { $0.all(now) }
  }

  /// The cookies that a request would send, in order (RFC 6265bis §5.8).
  ///
  /// If clients that trust different servers share the jar, the result includes the cookies of all of them.
  ///
  /// - Parameter target: A complete URL.
  /// - Returns: The cookies; none for a URL other than http or https.
  public func cookies(for target: RequestTarget) -> [Cookie] {
    guard let url = try? target.resolve(against: nil) else { return [] }
    let now = shelf.now()
    return shelf.withTable { $0.select(for: url, .same, now: now) }
  }

  /// The cookies that a request to a target in a variable would send, in order.
  ///
  /// - Parameter target: A complete URL, as a `URL` or a `String`.
  /// - Returns: The cookies; none for a URL other than http or https.
  @_disfavoredOverload public func cookies(for target: some RequestTargetConvertible) -> [Cookie] {
    cookies(for: target.requestTarget)
  }

  /// Adds a cookie for all clients of the jar, or replaces one.
  ///
  /// The cookie replaces those with the same name, domain and path. A cookie that no server could set is rejected: one
  /// with an illegal name, value, path or host; without a host; for a public suffix or an address without `isHostOnly`;
  /// or with the prefix `__Host-` or `__Secure-`, but without the attributes that it requires.
  ///
  /// A response may only set cookies for its own host, or for a parent domain up to the registrable domain. For a
  /// program's cookie the host is unknown, so every domain is accepted that is not a public suffix. This includes
  /// domains above the public suffixes of some hosts: `sch.uk` is accepted, although names are registered below
  /// `abc.sch.uk`. All names below the domain then receive the cookie.
  ///
  /// - Parameter cookie: The cookie; an expired one removes the cookies that it would replace.
  /// - Returns: Whether it was accepted.
  @discardableResult
  public func set(_ cookie: Cookie) async -> Bool {
    let now = shelf.now()
    guard !shelf.keepsNothing, var checked = cookie.checked() else { return false }
    checked.created = now
    checked.lastAccess = now
    checked.partition = nil
    let accepted = checked
    await change { $0.put(accepted, now: now) }
    return true
  }

  /// Adds a cookie from the value of a `Set-Cookie` field, like a response.
  ///
  /// - Parameters:
  ///   - line: The value of the field (RFC 6265bis §5.6).
  ///   - target: The complete URL of the response.
  /// - Returns: Whether it was accepted.
  @discardableResult
  public func set(line: String, from target: RequestTarget) async -> Bool {
    let now = shelf.now()
    guard !shelf.keepsNothing, let url = try? target.resolve(against: nil), let parsed = SetCookie(line, now: now)
    else { return false }
    return await change { $0.receive(parsed, from: url, now: now) == nil }
  }

  /// Adds a cookie from the value of a `Set-Cookie` field, like a response from a URL in a variable.
  ///
  /// - Parameters:
  ///   - line: The value of the field (RFC 6265bis §5.6).
  ///   - target: The complete URL of the response, as a `URL` or a `String`.
  /// - Returns: Whether it was accepted.
  @discardableResult
  @_disfavoredOverload public func set(line: String, from target: some RequestTargetConvertible) async -> Bool {
    await set(line: line, from: target.requestTarget)
  }

  /// Removes the cookie with the same name, domain and path.
  ///
  /// A cookie that a jar returned is removed for the clients that send it; a cookie that the program created, for all
  /// clients.
  ///
  /// - Parameter cookie: The cookie.
  /// - Returns: Whether the jar contained it.
  @discardableResult
  public func remove(_ cookie: Cookie) async -> Bool { await change { $0.remove(cookie.key) } }

  /// Removes the cookies for which a closure returns `true`.
  ///
  /// - Parameter matches: Receives each cookie, in the caller's isolation.
  public func removeAll(where matches: (Cookie) -> Bool) async {
    // User code must not run under the lock.
    let now = shelf.now()
    let picked = shelf.withTable { $0.all(now) }.filter(matches).map(\.key)
    await change { table in
      for key in picked { table.remove(key) }
    }
  }

  /// Removes all cookies.
  ///
  /// - Parameter sessionOnly: Whether to keep cookies with an expiration date.
  public func removeAll(sessionOnly: Bool = false) async {
    await change { $0.removeAll { !sessionOnly || $0.isSessionCookie } }
  }

  // MARK: The file

  /// Saves pending changes, and loads the changes of other processes.
  ///
  /// The jar's own changes are saved automatically: call this method to retry after a failure, or to load the changes
  /// of other processes. A jar without a file does nothing.
  ///
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/fileFailed``, for example if another process holds the file's
  ///   lock for more than two seconds. Unsaved changes stay in memory, and are saved with the next change.
  public func save() async throws { try await shelf.save(isAsked: true) }

  /// The error of the last attempt to read or save the file; `nil` after a success.
  public var problem: HTTPError? { shelf.lastProblem }

  /// Changes the cookies, and saves them; ``problem`` reports whether that failed.
  private func change<Result: Sendable>(_ body: @Sendable (inout CookieTable) -> Result) async -> Result {
    let result = shelf.withTable(body)
    try? await shelf.save(isAsked: false)
    return result
  }

  // MARK: cookies.txt

  /// Adds the cookies of a `cookies.txt` file.
  ///
  /// The format is that of Netscape, curl, wget and many browser extensions. Malformed lines, expired cookies and
  /// cookies that ``set(_:)`` rejects are skipped. The hosts that set the cookies are unknown, so their domains are
  /// validated as by ``set(_:)``, and not like those of a response.
  ///
  /// - Parameter text: The contents of the file. The prefix `#HttpOnly_` of a domain has the same meaning as in curl.
  /// - Returns: The number of accepted cookies.
  @discardableResult
  public func add(netscape text: String) async -> Int {
    let now = shelf.now()
    guard !shelf.keepsNothing else { return 0 }
    let cookies = NetscapeCookies.parse(text, now: now)
    await change { $0.put(cookies, now: now) }
    return cookies.count
  }

  /// The cookies as a `cookies.txt` file, which curl and others read.
  ///
  /// The format has no `SameSite`. Cookies without a name, with a tab in a field, or with octets that are not UTF-8 are
  /// left out. The text contains secrets: restrict access to a file with it.
  public var netscape: String { NetscapeCookies.text(all) }
}
