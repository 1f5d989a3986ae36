import MartletBase

/// The servers that provide the service at ``HTTPClient/Configuration/baseURL``.
///
/// ```swift
/// let client = HTTPClient {
///   $0.baseURL = "https://api.example.com/v1"
///   $0.cluster = .roundRobin(
///     ["https://a.example.com", "https://b.example.com"], isOneService: true)
/// }
/// ```
///
/// Each attempt of a request to the base URL's origin is sent to one of the servers, with the same path and query. A
/// repeated attempt is sent to a server that the request has not tried, if there is one that is not left out. All
/// policies except ``RetryPolicy/off`` repeat a request at another server if no connection could be opened, whatever its
/// method. Requests to other origins are sent as usual.
///
/// A server is a URL without a path, and without user name, password, query or fragment. All servers use the scheme of
/// the base URL, and no two have the same host and port. Otherwise, and with an empty list or without a base URL, every
/// request throws ``HTTPError/Kind/invalidRequest`` before anything is sent.
public struct Cluster: Sendable, Hashable {
  enum Policy: Sendable, Hashable { case roundRobin, leastInFlight, inOrder }

  let policy: Policy
  let servers: [RequestTarget]

  /// Whether the servers share credentials, cookies and stored responses; `false` by default.
  ///
  /// If `false`, a server receives only the credentials and cookies of its own origin. Fields of the request or the
  /// client that contain secrets, other than a WebSocket's subprotocols, are sent only to a server at the base URL's
  /// origin. If `true`, credentials, cookies and stored responses belong to the base URL, and every server receives
  /// them.
  public var isOneService: Bool

  /// When a server is left out; after 3 failures in a row, for 1 second, by default.
  ///
  /// A failure is an exchange without a response, as for ``CircuitBreaker``, or a response with the status 502, 503 or
  /// 504. A server to which no connection can be opened is left out after the first failure. Then one request at a time
  /// is tried. The pause doubles with each failed try, up to a minute, or to ``CircuitBreaker``'s pause if that is
  /// longer, and is shortened at random by up to half. If all servers are left out, requests are sent to them
  /// nevertheless. ``CircuitBreaker/off`` leaves out no server.
  public var health = CircuitBreaker.afterFailures(3, pause: .seconds(1))

  /// The servers in turn.
  ///
  /// - Parameters:
  ///   - servers: The URLs of the servers, at least one.
  ///   - isOneService: Whether they share credentials, cookies and stored responses.
  /// - Returns: The cluster.
  public static func roundRobin(_ servers: [RequestTarget], isOneService: Bool = false) -> Cluster {
    Cluster(policy: .roundRobin, servers: servers, isOneService: isOneService)
  }

  /// The server with the fewest requests in progress; in turn among equal ones.
  ///
  /// A request is in progress until its body ends. Only the requests of this client, and of clients
  /// ``HTTPClient/derived(_:)`` from it with the same cluster and base URL, are counted.
  ///
  /// - Parameters:
  ///   - servers: The URLs of the servers, at least one.
  ///   - isOneService: Whether they share credentials, cookies and stored responses.
  /// - Returns: The cluster.
  public static func leastInFlight(_ servers: [RequestTarget], isOneService: Bool = false) -> Cluster {
    Cluster(policy: .leastInFlight, servers: servers, isOneService: isOneService)
  }

  /// The first server that is not left out.
  ///
  /// - Parameters:
  ///   - servers: The URLs of the servers, at least one, the preferred one first.
  ///   - isOneService: Whether they share credentials, cookies and stored responses.
  /// - Returns: The cluster.
  public static func inOrder(_ servers: [RequestTarget], isOneService: Bool = false) -> Cluster {
    Cluster(policy: .inOrder, servers: servers, isOneService: isOneService)
  }

  /// The checked URLs of the servers.
  func urls(for base: AbsoluteURL?) throws(InvalidInput) -> [AbsoluteURL] {
    guard let base else { throw InvalidInput("cluster needs baseURL: set baseURL to the URL of the service") }
    guard !servers.isEmpty else { throw InvalidInput("cluster has no servers: list at least one URL") }
    if let problem = health.problem { throw InvalidInput("cluster: \(problem.message)") }
    var urls: [AbsoluteURL] = []
    var places: [Origin: Int] = [:]
    for (index, target) in servers.enumerated() {
      let name = "server \(index + 1) of the cluster (\(target))"
      let url: AbsoluteURL
      do throws(InvalidInput) {
        url = try target.resolve(against: nil)
      } catch {
        throw InvalidInput("server \(index + 1) of the cluster: \(error.message)")
      }
      if let part = Self.surplus(of: url) {
        throw InvalidInput("\(name) has \(part): write only its scheme, host and port")
      }
      guard url.scheme == base.scheme else {
        throw InvalidInput("\(name) uses \(url.scheme), and baseURL uses \(base.scheme): use one scheme for both")
      }
      if let other = places.updateValue(index + 1, forKey: url.origin) {
        throw InvalidInput("\(name) is the same as server \(other): remove one of them")
      }
      urls.append(url)
    }
    return urls
  }

  /// The first part that the URL of a server must not have.
  private static func surplus(of url: AbsoluteURL) -> String? {
    if url.user != nil || url.password != nil { return "a user name or a password" }
    if url.path != "/" { return "a path" }
    if url.query != nil { return "a query" }
    return url.fragment == nil ? nil : "a fragment"
  }
}

extension Cluster {
  /// A request as a server of the cluster receives it.
  struct Placed {
    let hop: Hop
    /// The names of the fields that the server does not receive.
    var dropped: [String] = []
  }

  /// Moves a request to a server.
  ///
  /// A server of one service receives all fields. Another one receives those that a redirect to it would keep, and the
  /// client's default fields and a WebSocket's subprotocols, because the program lists the server itself.
  func place(_ hop: Hop, at server: AbsoluteURL, _ fields: OriginFields) throws(InvalidInput) -> Placed {
    // HSTS has changed the scheme of the request.
    let server = hop.url.isSecure && !server.isSecure ? server.secure ?? server : server
    guard server.origin != hop.origin else { return Placed(hop: hop) }
    let url = try hop.url.moved(to: server)
    var request = hop.request
    var dropped: [String] = []
    if !isOneService {
      dropped = fields.forListedServers.drop(from: &request.headers)
      request.headers.remove("Host")
      Referrer.sanitize(&request.headers, redirectedFrom: hop.url, to: url)
    }
    return Placed(hop: Hop(request, at: url), dropped: dropped)
  }
}
