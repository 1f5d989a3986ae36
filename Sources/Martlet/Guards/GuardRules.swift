/// The combined rules of a configuration's guards.
///
/// The rules are a value, so they can be tested with a table.
struct GuardRules: Sendable {
  private(set) var requiresHTTPS = false
  private(set) var allowed: [AllowedHosts] = []
  private(set) var store: RequestGuard.HSTSStore?
  private(set) var addresses: AddressPolicy?
  /// The first problem in the guards.
  private(set) var problem: InvalidInput?

  init(_ guards: [RequestGuard]) {
    for guardian in guards {
      switch guardian.kind {
      case .httpsOnly: requiresHTTPS = true
      case .hsts(let store):
        if self.store.map({ $0 != store }) ?? false {
          problem = problem ?? InvalidInput("guards contains hsts with two stores")
        }
        self.store = store
      case .publicAddressesOnly(let policy):
        if addresses.map({ $0 != policy }) ?? false {
          problem = problem ?? InvalidInput("guards contains publicAddressesOnly with two lists of exceptions")
        }
        problem = problem ?? policy.problem
        addresses = policy
      case .allowedHosts(let hosts):
        problem = problem ?? hosts.problem
        allowed.append(hosts)
      }
    }
  }

  /// The reason why a URL is rejected, or `nil`.
  ///
  /// Addresses are checked later, when they are known.
  func refusal(of url: AbsoluteURL) -> String? {
    if requiresHTTPS && !url.isSecure { return "httpsOnly refuses \(url.host): the URL is not https" }
    guard allowed.allSatisfy({ $0.allows(url.host, port: url.effectivePort) }) else {
      return "allowedHosts refuses \(url.host) at port \(url.effectivePort): it is not in the list"
    }
    return nil
  }
}
