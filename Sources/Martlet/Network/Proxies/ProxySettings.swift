public import MartletBase
import Synchronization

/// The proxy settings of a client.
///
/// The default is ``direct``: the environment is not read unless you choose ``environment``.
///
/// ```swift
/// let client = HTTPClient { $0.proxy = .proxy("http://proxy.example:3128", except: ["localhost", ".example.com"]) }
/// ```
///
/// A request that cannot be sent through its proxy fails; it is never sent directly instead. With a setting other than
/// ``direct``, a `Proxy-Authorization` header field is sent only with a request that a proxy receives in absolute form.
/// Any other request with this field throws ``HTTPError/Kind/invalidRequest``, because the server would receive it.
///
/// A proxy that requires authentication gets the credentials of its URL, otherwise those of the authenticator for
/// ``Authenticators/OriginPattern/proxy(_:)`` or ``Authenticators/OriginPattern/everywhere``. If there are none, or
/// they are rejected, the request fails with ``HTTPError/Kind/authenticationFailed``, which names the proxy.
///
/// On Apple platforms, http URLs are tunneled as well, so a proxy must allow `CONNECT` to their ports. Credentials must be
/// those of the proxy's URL: with an authenticator for the proxy, requests throw ``HTTPError/Kind/unsupported``. The
/// connections of the 16 most recently used proxies are kept. On Linux, the system's loader
/// (`.urlSession(loader: .system)`) supports only ``direct``, and throws ``HTTPError/Kind/unsupported`` otherwise.
public struct ProxySettings: Sendable {
  enum Rule: Sendable, Equatable {
    case none
    case environment
    case fixed(Proxy, NoProxy)
    case resolver(Resolver)
  }

  /// A closure, which is equal only to itself.
  final class Resolver: Sendable, Equatable {
    private static let numbers = Atomic(0)

    let number = numbers.add(1, ordering: .relaxed).newValue
    let resolve: @Sendable (URL) async throws -> Proxy?

    init(_ resolve: @escaping @Sendable (URL) async throws -> Proxy?) { self.resolve = resolve }

    static func == (left: Resolver, right: Resolver) -> Bool { left === right }
  }

  let rule: Rule

  /// Uses no proxy; the default.
  ///
  /// On Apple platforms, the system's proxy settings apply.
  public static let direct = ProxySettings(rule: .none)

  /// The proxies that the environment names when the client is created.
  ///
  /// `https_proxy` is for https URLs, `http_proxy` for http URLs, `all_proxy` for both; hosts in `no_proxy` are reached
  /// directly. All but `http_proxy` are also read in upper case. In a CGI process, with `REQUEST_METHOD` in its
  /// environment, nothing is read, because a client of the server could set the variables. A value without a scheme is
  /// an `http` proxy. Malformed entries of `no_proxy` cover no host; ``HTTPClient/diagnostics`` lists them.
  public static let environment = ProxySettings(rule: .environment)

  /// One proxy for all hosts except some.
  ///
  /// - Parameters:
  ///   - proxy: The proxy.
  ///   - hosts: The hosts to reach directly. `example.com` and `.example.com` match this name and all its subdomains,
  ///     `10.1.2.3` or `::1` an address, `10.0.0.0/8`, `192.168.*` or `fd00::/8` a network, `<local>` names without a
  ///     dot, `*` everything; a port may follow a name or an address (`a.example:8080`, `[::1]:8080`). Names are
  ///     compared, never resolved.
  /// - Returns: The settings. A malformed host makes every request throw ``HTTPError/Kind/invalidRequest``.
  public static func proxy(_ proxy: Proxy, except hosts: [String] = []) -> ProxySettings {
    ProxySettings(rule: .fixed(proxy, NoProxy(hosts)))
  }

  /// A closure that returns the proxy for each request.
  ///
  /// - Parameter resolve: Receives the scheme, host and port of the destination as a URL with the path `/`, and returns
  ///   the proxy, or `nil` for none. An error that it throws, unless it is an ``HTTPError``, fails the request with
  ///   ``HTTPError/Kind/cannotConnect`` and is its underlying error. Its running time counts only toward the total
  ///   limit of the call.
  /// - Returns: The settings.
  public static func resolver(_ resolve: @escaping @Sendable (URL) async throws -> Proxy?) -> ProxySettings {
    ProxySettings(rule: .resolver(Resolver(resolve)))
  }

  /// Whether there is never a proxy.
  var isNone: Bool { if case .none = rule { true } else { false } }

  var problem: InvalidInput? {
    guard case .fixed(let proxy, let except) = rule else { return nil }
    return proxy.problem ?? except.problem
  }
}

extension ProxySettings: CustomStringConvertible {
  /// The settings, without credentials.
  public var description: String {
    switch rule {
    case .none: "none"
    case .environment: "environment"
    case .fixed(let proxy, _): "\(proxy)"
    case .resolver: "resolver"
    }
  }
}

/// Chooses the proxy of each request.
struct ProxyRouter: Sendable {
  private let rule: ProxySettings.Rule
  private let environment: Result<ProxyEnvironment, InvalidInput>?

  /// Reads the environment if the settings require it.
  init(_ settings: ProxySettings) {
    rule = settings.rule
    environment =
      rule == .environment
      ? Result { () throws(InvalidInput) in try ProxyEnvironment(ProcessInfo.processInfo.environment) } : nil
  }

  var isDirect: Bool { if case .none = rule { true } else { false } }

  /// Environment settings that have no effect, for ``HTTPClient/Diagnostics``.
  var warnings: [String] { (try? environment?.get())?.warnings ?? [] }

  /// The proxy for an origin, or `nil` for none.
  ///
  /// Throws ``InvalidInput``, or an error from one of the program's closures.
  func proxy(for origin: Origin, abort source: AbortSource) async throws -> Proxy? {
    switch rule {
    case .none: return nil
    case .fixed(let proxy, let except):
      if let problem = proxy.problem ?? except.problem { throw problem }
      return except.covers(origin.host, port: origin.port) ? nil : proxy
    case .environment: return try environment?.get().proxy(for: origin)
    case .resolver(let resolver):
      guard let url = Self.url(of: origin) else { return nil }
      let proxy: Proxy?
      do {
        proxy = try await withAbort(source) { try await resolver.resolve(url) }
      } catch let error as HTTPError {
        throw error
      } catch {
        try source.check()
        if error is CancellationError { throw error }
        throw HTTPError(.cannotConnect, "the proxy resolver failed", phase: .queued, underlying: error)
      }
      if let problem = proxy?.problem { throw problem }
      return proxy
    }
  }

  private static func url(of origin: Origin) -> URL? {
    let isUsual = origin.port == (origin.scheme == "https" ? 443 : 80)
    return URL(string: "\(origin.scheme)://\(origin.host)\(isUsual ? "" : ":\(origin.port)")/")
  }
}
