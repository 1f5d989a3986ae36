package import Foundation
package import Martlet

/// A change of a client's configuration, for tests that create a client on one line.
///
/// Clients created with a setting share nothing: `.cache(.memory())` creates a cache for each client. A list of
/// settings is itself a setting, and the last setting of a property wins.
package struct ClientSetting: Sendable, ExpressibleByArrayLiteral {
  package let apply: @Sendable (inout HTTPClient.Configuration) -> Void

  package init(_ apply: @escaping @Sendable (inout HTTPClient.Configuration) -> Void) { self.apply = apply }

  package init(_ settings: [ClientSetting]) {
    self.init { configuration in for setting in settings { setting.apply(&configuration) } }
  }

  package init(arrayLiteral settings: ClientSetting...) { self.init(settings) }
}

extension HTTPClient {
  /// Creates a client over a transport.
  ///
  /// - Parameters:
  ///   - transport: The transport.
  ///   - settings: The settings.
  ///   - change: Changes the configuration after all settings.
  package init(
    _ transport: any Transport, _ settings: ClientSetting..., change: @Sendable (inout Configuration) -> Void = { _ in }
  ) {
    self.init {
      $0.transport = transport
      for setting in settings { setting.apply(&$0) }
      change(&$0)
    }
  }

  /// Creates a client over the default transport.
  ///
  /// - Parameters:
  ///   - first: The first setting.
  ///   - others: The other settings.
  ///   - change: Changes the configuration after all settings.
  package init(
    _ first: ClientSetting, _ others: ClientSetting..., change: @Sendable (inout Configuration) -> Void = { _ in }
  ) {
    self.init {
      first.apply(&$0)
      for other in others { other.apply(&$0) }
      change(&$0)
    }
  }
}

// Stateful values are created separately for each client.
extension ClientSetting {
  package static func transport(_ transport: @autoclosure @escaping @Sendable () -> any Transport) -> Self {
    Self { $0.transport = transport() }
  }

  package static func clock(_ clock: @autoclosure @escaping @Sendable () -> any Clock<Duration>) -> Self {
    Self { $0.clock = clock() }
  }

  package static func cache(_ cache: @autoclosure @escaping @Sendable () -> ResponseCache) -> Self {
    Self { $0.cache = cache() }
  }

  package static func cookies(_ cookies: @autoclosure @escaping @Sendable () -> CookieStore) -> Self {
    Self { $0.cookies = cookies() }
  }

  package static func guards(_ guards: @autoclosure @escaping @Sendable () -> [RequestGuard]) -> Self {
    Self { $0.guards = guards() }
  }
}

extension ClientSetting {
  package static func accepts(_ rule: RequestOptions.StatusAcceptance) -> Self { Self { $0.accepts = rule } }
  package static func baseURL(_ url: RequestTarget?) -> Self { Self { $0.baseURL = url } }
  package static func coalesces(_ coalesces: Bool) -> Self { Self { $0.options.coalesces = coalesces } }
  package static func concurrency(_ policy: ConcurrencyPolicy) -> Self { Self { $0.concurrency = policy } }
  package static func expectsContinue(_ expects: Bool) -> Self { Self { $0.options.expectsContinue = expects } }
  package static func hedging(_ policy: HedgingPolicy) -> Self { Self { $0.options.hedging = policy } }
  package static func httpVersion(_ version: RequestOptions.HTTPVersionPolicy) -> Self {
    Self { $0.options.httpVersion = version }
  }
  package static func maximumConnectionsPerHost(_ count: Int) -> Self { Self { $0.maximumConnectionsPerHost = count } }
  package static func middleware(_ middleware: any Middleware...) -> Self { Self { $0.middleware = middleware } }
  package static func now(_ date: Date) -> Self { Self { $0.now = { date } } }
  package static func now(_ day: Day) -> Self { Self { $0.now = { day.now } } }
  package static func proxy(_ settings: ProxySettings) -> Self { Self { $0.proxy = settings } }
  package static func random(_ number: Double) -> Self { Self { $0.random = { number } } }
  package static func redirects(_ policy: RedirectPolicy) -> Self { Self { $0.redirects = policy } }
  package static func resolve(_ addresses: [String: [String]]) -> Self { Self { $0.resolve = addresses } }
  package static func retry(_ policy: RetryPolicy) -> Self { Self { $0.retry = policy } }
  package static func timeout(_ policy: TimeoutPolicy) -> Self { Self { $0.timeout = policy } }
  package static func tls(_ settings: TLSSettings) -> Self { Self { $0.tls = settings } }
  /// Trusts servers whose certificates were issued by a root.
  package static func trusting(_ root: URL) -> Self { .tls(.customRoots(pem: root)) }

  package static func proxy(_ proxy: Proxy, except hosts: [String] = []) -> Self {
    .proxy(.proxy(proxy, except: hosts))
  }

  package static func exchangeMiddleware(_ middleware: any Middleware...) -> Self {
    Self { $0.exchangeMiddleware = middleware }
  }

  package static func engineThreads(_ count: Int) -> Self { Self { $0.engineThreads = count } }

  package static func idleConnectionLifetime(_ lifetime: Duration) -> Self {
    Self { $0.idleConnectionLifetime = lifetime }
  }

  package static func instruments(_ instruments: any Instrument...) -> Self { Self { $0.instruments = instruments } }

  /// Sets the authenticator for the base URL; `nil` removes it.
  package static func authenticator(_ authenticator: (any Authenticator)?) -> Self {
    Self { $0.authenticators[.baseURL] = authenticator }
  }

  /// Changes only one property of the redirect policy: `https` may be redirected to `http`.
  package static var allowsDowngrade: Self { Self { $0.redirects.allowsDowngrade = true } }
}
