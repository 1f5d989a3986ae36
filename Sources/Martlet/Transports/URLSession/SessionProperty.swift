#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif
  #if canImport(Security)
    import Network
  #endif

  /// A property of a session's configuration that a program must not change.
  ///
  /// The client's promises depend on it, or it has no effect. The names are those of the properties.
  enum SessionProperty: String, CaseIterable, Sendable {
    case httpCookieStorage, httpCookieAcceptPolicy, httpShouldSetCookies
    case urlCache, requestCachePolicy
    case urlCredentialStorage
    case httpAdditionalHeaders
    case timeoutIntervalForRequest, timeoutIntervalForResource
    case httpMaximumConnectionsPerHost
    case connectionProxyDictionary
    case identifier, isDiscretionary
    #if canImport(FoundationNetworking)
      case networkServiceType, allowsCellularAccess
    #else
      case proxyConfigurations
      case sessionSendsLaunchEvents, sharedContainerIdentifier
      case tlsMinimumSupportedProtocolVersion
      case allowsExpensiveNetworkAccess, allowsConstrainedNetworkAccess
    #endif

    /// The problem of a configuration; `changed` are the properties that the program has changed.
    ///
    /// `hasProxy` is whether the client has its own proxy setting.
    static func problem(_ changed: [SessionProperty], hasProxy: Bool) -> InvalidInput? {
      guard let property = changed.first(where: { $0.isForbidden(hasProxy: hasProxy) }) else { return nil }
      // Not with a colon, because masks would take the reason for the value of a field such as `httpCookieStorage`.
      return InvalidInput("the closure of .urlSession changes \(property.rawValue), but \(property.reason)")
    }

    /// The properties with different values.
    static func changed(
      from original: URLSessionConfiguration, to configuration: URLSessionConfiguration
    ) -> [SessionProperty] {
      allCases.filter { !$0.isSame(original, configuration) }
    }

    private func isForbidden(hasProxy: Bool) -> Bool {
      #if canImport(FoundationNetworking)
        true
      #else
        hasProxy || self != .connectionProxyDictionary && self != .proxyConfigurations
      #endif
    }

    /// The reason, and the setting to use instead.
    private var reason: String {
      switch self {
      case .httpCookieStorage, .httpCookieAcceptPolicy, .httpShouldSetCookies:
        return "the client handles cookies; set the client's 'cookies' instead"
      case .urlCache: return "the client has its own cache; set the client's 'cache' instead"
      case .requestCachePolicy: return "the client has its own cache; set 'cache' of the request's options instead"
      case .urlCredentialStorage:
        return "the client handles credentials; set the client's 'authenticators' instead"
      case .httpAdditionalHeaders:
        return "redirects, caching and logs would not see these fields; set the client's 'headers' instead"
      case .timeoutIntervalForRequest, .timeoutIntervalForResource:
        return "the client enforces time limits; set the client's 'timeout' instead"
      case .httpMaximumConnectionsPerHost:
        return "the client limits connections; set the client's 'maximumConnectionsPerHost' instead"
      case .identifier, .isDiscretionary: return Self.background
      #if canImport(FoundationNetworking)
        case .connectionProxyDictionary, .networkServiceType, .allowsCellularAccess:
          return "Foundation on Linux ignores it"
      #else
        case .connectionProxyDictionary, .proxyConfigurations:
          return "the client has a proxy; set only the client's 'proxy'"
        case .sessionSendsLaunchEvents, .sharedContainerIdentifier: return Self.background
        case .tlsMinimumSupportedProtocolVersion:
          return "the client has its own minimum; set its 'tls.minimumVersion' instead"
        case .allowsExpensiveNetworkAccess:
          return "the client decides; set 'allowsExpensiveNetworks' of its 'dataBudget' instead"
        case .allowsConstrainedNetworkAccess:
          return "the client decides; set 'allowsConstrainedNetworks' of its 'dataBudget' instead"
      #endif
      }
    }

    private static let background = "it is for background sessions, which a client does not use"

    private func isSame(_ one: URLSessionConfiguration, _ other: URLSessionConfiguration) -> Bool {
      switch self {
      case .httpCookieStorage: one.httpCookieStorage === other.httpCookieStorage
      case .httpCookieAcceptPolicy: one.httpCookieAcceptPolicy == other.httpCookieAcceptPolicy
      case .httpShouldSetCookies: one.httpShouldSetCookies == other.httpShouldSetCookies
      case .urlCache: one.urlCache === other.urlCache
      case .requestCachePolicy: one.requestCachePolicy == other.requestCachePolicy
      case .urlCredentialStorage: one.urlCredentialStorage === other.urlCredentialStorage
      case .httpAdditionalHeaders: Self.isSame(one.httpAdditionalHeaders, other.httpAdditionalHeaders)
      case .timeoutIntervalForRequest: one.timeoutIntervalForRequest == other.timeoutIntervalForRequest
      case .timeoutIntervalForResource: one.timeoutIntervalForResource == other.timeoutIntervalForResource
      case .httpMaximumConnectionsPerHost: one.httpMaximumConnectionsPerHost == other.httpMaximumConnectionsPerHost
      case .connectionProxyDictionary: Self.isSame(one.connectionProxyDictionary, other.connectionProxyDictionary)
      case .identifier: one.identifier == other.identifier
      case .isDiscretionary: one.isDiscretionary == other.isDiscretionary
      #if canImport(FoundationNetworking)
        case .networkServiceType: one.networkServiceType == other.networkServiceType
        case .allowsCellularAccess: one.allowsCellularAccess == other.allowsCellularAccess
      #else
        // The client's own configuration has none.
        case .proxyConfigurations: one.proxyConfigurations.count == other.proxyConfigurations.count
        case .sessionSendsLaunchEvents: one.sessionSendsLaunchEvents == other.sessionSendsLaunchEvents
        case .sharedContainerIdentifier: one.sharedContainerIdentifier == other.sharedContainerIdentifier
        case .tlsMinimumSupportedProtocolVersion:
          one.tlsMinimumSupportedProtocolVersion == other.tlsMinimumSupportedProtocolVersion
        case .allowsExpensiveNetworkAccess: one.allowsExpensiveNetworkAccess == other.allowsExpensiveNetworkAccess
        case .allowsConstrainedNetworkAccess:
          one.allowsConstrainedNetworkAccess == other.allowsConstrainedNetworkAccess
      #endif
      }
    }

    private static func isSame(_ one: [AnyHashable: Any]?, _ other: [AnyHashable: Any]?) -> Bool {
      NSDictionary(dictionary: one ?? [:]).isEqual(to: other ?? [:])
    }
  }
#endif
