/// Restricts the destinations of a client's requests.
///
/// ```swift
/// let client = HTTPClient { $0.guards = [.httpsOnly, .publicAddressesOnly] }
/// ```
///
/// No guard is on by default. A guard checks every exchange, including each redirect hop and each attempt. It makes no
/// difference whether a caller, a redirect, middleware or a name lookup chose the destination. All guards must agree. A
/// refused exchange throws ``HTTPError/Kind/refusedByGuard`` with the host in its message, and nothing is sent to that
/// host.
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
  /// Together with ``hsts``, http URLs of HSTS hosts are changed to https first.
  public static let httpsOnly = RequestGuard(kind: .httpsOnly)

  /// Applies HTTP Strict Transport Security (RFC 6797), with known hosts in memory.
  public static let hsts = RequestGuard.hsts(.memory)

  /// Applies HTTP Strict Transport Security (RFC 6797).
  ///
  /// A host's `Strict-Transport-Security` field applies for at most ten years. It counts only over https, not for IP
  /// addresses, and not with ``TLSSettings/insecureTrustAnything``. An http URL of a known HSTS host is changed to
  /// https before cookies and credentials are chosen: port 80 becomes 443, and any other port is kept.
  /// ``HTTPResponse/finalRequest`` and the event ``RequestEvent/upgraded(host:)`` show the change. Up to 1,000 hosts
  /// are stored; beyond that, the least recently updated one is removed.
  ///
  /// - Parameter store: The storage for known HSTS hosts.
  /// - Returns: The guard.
  public static func hsts(_ store: RequestGuard.HSTSStore) -> RequestGuard { RequestGuard(kind: .hsts(store)) }

  /// Allows only addresses of the public internet.
  ///
  /// See ``publicAddressesOnly(except:)``.
  public static let publicAddressesOnly = RequestGuard.publicAddressesOnly(except: [])

  /// Allows only addresses of the public internet, and exceptions.
  ///
  /// Refused are loopback, private, provider-shared, link-local, multicast, broadcast, unspecified, reserved,
  /// documentation and benchmark addresses, those of cloud metadata services, and IPv6 addresses that lead to one of
  /// them (mapped, NAT64, 6to4, Teredo). The guard checks the resolved address right before connecting to it, so a name
  /// that later resolves to another address (DNS rebinding) does not pass. If a name has several addresses, the refused
  /// ones are skipped.
  ///
  /// Requires the engine on Linux, because URLSession reports an address only after it has connected. Elsewhere, and with a custom transport, requests throw
  /// ``HTTPError/Kind/unsupported``; so do requests through a proxy, which resolves names itself. Cannot be combined
  /// with ``HTTPClient/Configuration/unixSocket``.
  ///
  /// - Parameter exceptions: Addresses, such as `127.0.0.1`, and networks, such as `10.1.0.0/16`. Any other text makes
  ///   every request throw ``HTTPError/Kind/invalidRequest``.
  /// - Returns: The guard.
  public static func publicAddressesOnly(except exceptions: [String]) -> RequestGuard {
    RequestGuard(kind: .publicAddressesOnly(AddressPolicy(except: exceptions)))
  }

  /// Allows only the listed hosts.
  ///
  /// With several such guards, a host must be in every list. An empty list allows nothing.
  ///
  /// - Parameter hosts: Host names, such as `api.example.com`; `*.example.com` for all subdomains of `example.com`, but
  ///   not `example.com` itself; IP addresses. Each allows any port, or only its own: `api.example.com:8443`. Letter
  ///   case, the spelling of international names and a trailing dot do not matter. Any other text makes every request
  ///   throw ``HTTPError/Kind/invalidRequest``.
  /// - Returns: The guard.
  public static func allowedHosts(_ hosts: [String]) -> RequestGuard {
    RequestGuard(kind: .allowedHosts(AllowedHosts(hosts)))
  }
}
