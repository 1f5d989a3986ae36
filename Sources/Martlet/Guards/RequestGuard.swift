/// Keeps the requests of a client from going where they must not, whatever asks for it: a caller, a redirect, a
/// middleware, or a name's address.
///
/// ```swift
/// let client = HTTPClient { $0.guards = [.httpsOnly, .publicAddressesOnly] }
/// ```
///
/// None is on by default. Each is asked for every exchange, so for every hop of a redirect and every attempt, and all
/// have to agree. What one refuses is ``HTTPError/Kind/refusedByGuard``, with the host in its message, and not a byte
/// is sent to it.
public struct RequestGuard: Sendable {
  enum Kind: Sendable {
    case httpsOnly
    case hsts(RequestGuard.HSTSStore)
    case publicAddressesOnly(AddressPolicy)
    case allowedHosts(AllowedHosts)
  }

  let kind: Kind

  /// Allows only https URLs.
  ///
  /// Together with ``hsts`` an http URL of a host that wants https is made an https one first.
  public static let httpsOnly = RequestGuard(kind: .httpsOnly)

  /// Applies HTTP Strict Transport Security (RFC 6797), with hosts in memory.
  public static let hsts = RequestGuard.hsts(.memory)

  /// Applies HTTP Strict Transport Security (RFC 6797).
  ///
  /// What hosts say in `Strict-Transport-Security` counts for ten years at most. It is believed over https only, not of
  /// IP addresses, and not with ``TLSSettings/insecureTrustAnything``. An http URL of such a host is made an https one
  /// before cookies and credentials are chosen: port 80 becomes 443, another one stays. The response tells it by its
  /// ``HTTPResponse/finalRequest``, a handle by ``RequestEvent/upgraded(host:)``. Up to 1,000 hosts are remembered;
  /// then the one that was heard of longest ago is forgotten.
  ///
  /// - Parameter store: Where they are remembered.
  /// - Returns: The guard.
  public static func hsts(_ store: RequestGuard.HSTSStore) -> RequestGuard { RequestGuard(kind: .hsts(store)) }

  /// Allows only addresses of the public internet.
  ///
  /// See ``publicAddressesOnly(except:)``.
  public static let publicAddressesOnly = RequestGuard.publicAddressesOnly(except: [])

  /// Allows only addresses of the public internet, and exceptions.
  ///
  /// Refused are addresses that are loopback, private, shared by a provider, link-local, multicast, broadcast,
  /// unspecified, reserved, for documentation or for benchmarks, those of clouds' metadata services, and IPv6 addresses
  /// that lead to one of them (mapped, NAT64, 6to4, Teredo). What is judged is the address that a connection is about
  /// to be opened to, after the name was looked up, so a name that resolves to something else the next time does not
  /// pass. If a name has several addresses, those that are refused are skipped.
  ///
  /// On the engine of Linux. Elsewhere, and with a transport of one's own, requests throw
  /// ``HTTPError/Kind/unsupported``, and so does a request that would go through a proxy, which looks up names itself.
  /// Not together with ``HTTPClient/Configuration/unixSocket``.
  ///
  /// - Parameter exceptions: Addresses, such as `127.0.0.1`, and networks, such as `10.1.0.0/16`. One that is neither
  ///   fails every request with ``HTTPError/Kind/invalidRequest``.
  /// - Returns: The guard.
  public static func publicAddressesOnly(except exceptions: [String]) -> RequestGuard {
    RequestGuard(kind: .publicAddressesOnly(AddressPolicy(except: exceptions)))
  }

  /// Allows only certain hosts.
  ///
  /// With several such guards a host has to be in each list. An empty list allows nothing.
  ///
  /// - Parameter hosts: Names, such as `api.example.com`; `*.example.com` for all names below `example.com`, which is
  ///   not one of them; IP addresses; each at any port, or with one: `api.example.com:8443`. Spelling does not matter:
  ///   letter case, international names, a dot at the end. What is none of these fails every request with
  ///   ``HTTPError/Kind/invalidRequest``.
  /// - Returns: The guard.
  public static func allowedHosts(_ hosts: [String]) -> RequestGuard {
    RequestGuard(kind: .allowedHosts(AllowedHosts(hosts)))
  }
}
