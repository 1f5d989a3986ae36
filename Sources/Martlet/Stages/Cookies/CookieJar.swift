public import Foundation
import Synchronization

/// Keeps cookies by the rules of the standard (RFC 6265bis): what servers set, and what a program adds itself.
///
/// A client has one (``HTTPClient/cookies``) and asks it for every exchange, so for each hop of a redirect. One jar may
/// serve several clients; what a response has set goes with requests of clients that would have trusted it, too: those
/// with the same ``HTTPClient/Configuration/tls``, ``HTTPClient/Configuration/resolve``,
/// ``HTTPClient/Configuration/unixSocket`` and ``RequestGuard/publicAddressesOnly``. Nothing that a server sends makes it fail: what breaks a rule is not kept.
///
/// | Limit | |
/// |---|---|
/// | name and value | 4,096 bytes together |
/// | one attribute | 1,024 bytes |
/// | lifetime | 400 days |
/// | `Set-Cookie` fields looked at in a response | 50 |
/// | cookies of a domain | 50, of each such group of clients |
/// | cookies in all | 3,000 |
/// | `Cookie` field of a request | 8,190 bytes |
///
/// When there are too many, what has ended goes first, then in a crowded domain what is not `Secure`, then what was not
/// used for longest.
public actor CookieJar {
  nonisolated let shelf: CookieShelf
  /// Its number, unique in the process.
  nonisolated let number = CookieJar.numbers.add(1, ordering: .relaxed).newValue

  private static let numbers = Atomic<Int>(0)

  init(_ shelf: CookieShelf) { self.shelf = shelf }

  /// Makes an empty jar in memory.
  ///
  /// - Parameter now: The date, for tests.
  public init(now: @escaping @Sendable () -> Date = { Date() }) { shelf = CookieShelf(.memory, now) }

  /// Makes a jar that is kept in a file.
  ///
  /// The file is read at once. Each function that changes something saves it before it returns, and so does a request
  /// before its response is delivered. The file is for its owner only (0600), is replaced as a whole, and is never half
  /// written, even if the process is killed. Processes that share it keep what others have saved; each sees it when it
  /// saves itself. Beside the file there is one with `.lock` after its name, which stays.
  ///
  /// A file that cannot be read leaves the jar empty, and ``problem`` tells why. One that is no file of cookies is
  /// renamed, with `.broken` after its name, at the first change.
  ///
  /// A cookie of the file is judged as one of a program (``set(_:)``): the response that has set it is not known.
  ///
  /// - Parameters:
  ///   - file: The file; it is made if it is not there, its folder is not.
  ///   - keepsSessionCookies: Whether cookies without a date, which end with the session, are saved too.
  ///   - now: The date, for tests.
  public init(file: URL, keepsSessionCookies: Bool = false, now: @escaping @Sendable () -> Date = { Date() }) {
    shelf = CookieShelf(.file(CookieFile(file, keepsSessionCookies: keepsSessionCookies)), now)
  }

  /// All cookies that have not ended, by domain.
  public var all: [Cookie] {
    let now = shelf.now()
    return shelf.withTable { $0.all(now) }
  }

  /// The cookies that a request would send, in their order (RFC 6265bis §5.8).
  ///
  /// Those of all clients, if clients that trust different servers share the jar.
  ///
  /// - Parameter target: A whole URL.
  /// - Returns: The cookies; none for a URL that is not one of http or https.
  public func cookies(for target: RequestTarget) -> [Cookie] {
    guard let url = try? target.resolve(against: nil) else { return [] }
    let now = shelf.now()
    return shelf.withTable { $0.select(for: url, .same, now: now) }
  }

  /// Adds a cookie for all clients of the jar, or replaces the one of the same name, domain and path.
  ///
  /// What no server could set is refused: an illegal name, value, path or host, no host, a public suffix or an address
  /// that is not host-only, a name that begins with `__Host-` or `__Secure-` without what that promises.
  ///
  /// A response may only set a cookie for its own host, or for a domain above it up to the registrable domain. Which host
  /// a program means is not known, so that any domain is accepted that is no public suffix: also one that lies above the
  /// public suffix of some hosts, such as `sch.uk` (of `abc.sch.uk` names can be registered), whose names then all get it.
  ///
  /// - Parameter cookie: The cookie; one that has ended removes the one that it would replace.
  /// - Returns: Whether it was accepted.
  @discardableResult
  public func set(_ cookie: Cookie) async -> Bool {
    let now = shelf.now()
    guard !shelf.keepsNothing, var checked = cookie.checked() else { return false }
    checked.created = now
    checked.lastAccess = now
    checked.partition = nil
    let accepted = checked
    shelf.withTable { $0.put(accepted, now: now) }
    await saveQuietly()
    return true
  }

  /// Adds what the value of a `Set-Cookie` field says, as if a response had come with it.
  ///
  /// - Parameters:
  ///   - line: The value of the field (RFC 6265bis §5.6).
  ///   - target: The whole URL that it came from.
  /// - Returns: Whether it was accepted.
  @discardableResult
  public func set(line: String, from target: RequestTarget) async -> Bool {
    let now = shelf.now()
    guard !shelf.keepsNothing, let url = try? target.resolve(against: nil), let parsed = SetCookie(line, now: now)
    else { return false }
    let isAccepted = shelf.withTable { $0.receive(parsed, from: url, now: now) }
    await saveQuietly()
    return isAccepted
  }

  /// Removes the cookie of the same name, domain and path.
  ///
  /// One that a jar has given out is removed for the clients that it goes with, one that was made for all.
  ///
  /// - Parameter cookie: The cookie.
  /// - Returns: Whether it was there.
  @discardableResult
  public func remove(_ cookie: Cookie) async -> Bool {
    let isRemoved = shelf.withTable { $0.remove(cookie.key) }
    await saveQuietly()
    return isRemoved
  }

  /// Removes the cookies that a closure picks.
  ///
  /// - Parameter matches: Gets each cookie.
  public func removeAll(where matches: @Sendable (Cookie) -> Bool) async {
    // User code does not run under the lock.
    let now = shelf.now()
    let picked = shelf.withTable { $0.all(now) }.filter(matches).map(\.key)
    shelf.withTable { table in
      for key in picked { table.remove(key) }
    }
    await saveQuietly()
  }

  /// Removes all cookies.
  ///
  /// - Parameter sessionOnly: Whether those with a date stay.
  public func removeAll(sessionOnly: Bool = false) async {
    shelf.withTable { $0.removeAll { !sessionOnly || $0.isSessionCookie } }
    await saveQuietly()
  }

  // MARK: The file

  /// Saves what is not saved yet, and takes over what other processes have saved.
  ///
  /// Not needed for own changes, unless saving them has failed. Does nothing in a jar that is not kept in a file.
  ///
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/file``, also when another process holds the file's lock for more
  ///   than two seconds; what was not saved stays in memory and is tried again with the next change.
  public func save() async throws { try await shelf.save(isAsked: true) }

  /// What kept the file from being read or saved the last time; `nil` if nothing did.
  public var problem: HTTPError? { shelf.lastProblem }

  private func saveQuietly() async { try? await shelf.save(isAsked: false) }

  // MARK: cookies.txt

  /// Takes the cookies of a `cookies.txt`, the file of Netscape, curl, wget and many browsers' extensions.
  ///
  /// What is not a line of seven fields, has ended, or could not be ``set(_:)`` is left out. The hosts that have set the
  /// cookies are not known: their domains are judged as ``set(_:)`` judges them, and not as those of a response.
  ///
  /// - Parameter text: The text of the file; `#HttpOnly_` before a domain is understood as curl does.
  /// - Returns: How many cookies were accepted.
  @discardableResult
  public func add(netscape text: String) async -> Int {
    let now = shelf.now()
    guard !shelf.keepsNothing else { return 0 }
    let cookies = NetscapeCookies.parse(text, now: now)
    shelf.withTable { table in
      for cookie in cookies { table.put(cookie, now: now) }
    }
    await saveQuietly()
    return cookies.count
  }

  /// The cookies as a `cookies.txt`, which curl and others read.
  ///
  /// The format has no `SameSite`; cookies without a name, or with a tab in a field, cannot be written in it and are left
  /// out. It holds secrets: write it to a file that nobody else can read.
  public var netscape: String { NetscapeCookies.text(all) }
}
