import MartletBase

/// The stored form of a credential and its protection space.
struct CredentialRecord: Codable {
  var scheme: String
  var host: String
  var port: Int
  var realm: String?
  var isProxy: Bool
  var user: String?
  var password: String?
  var token: String?
  var refreshToken: String?
  /// Seconds since 1970.
  var expires: Double?
  var isPreemptive: Bool
  var domain: String?
  var isKerberosTicket: Bool?
  var isAllowedWithoutTLS: Bool?

  init(_ credential: Credential, for space: ProtectionSpace) {
    scheme = space.scheme
    host = space.host
    port = space.port
    realm = space.realm
    isProxy = space.isProxy
    user = credential.user
    password = credential.password
    token = credential.token
    refreshToken = credential.refreshToken
    expires = credential.expires?.timeIntervalSince1970
    isPreemptive = credential.isPreemptive
    domain = credential.domain
    isKerberosTicket = credential.isKerberosTicket ? true : nil
    isAllowedWithoutTLS = credential.isAllowedWithoutTLS ? true : nil
  }

  var space: ProtectionSpace {
    ProtectionSpace(scheme: scheme, host: host, port: port, realm: realm, isProxy: isProxy)
  }

  var credential: Credential {
    if let token {
      return .token(
        token, refreshToken: refreshToken, expires: expires.map { Date(timeIntervalSince1970: $0) },
        isPreemptive: isPreemptive)
    }
    let isAllowedWithoutTLS = isAllowedWithoutTLS ?? false
    if isKerberosTicket == true { return .ticket(isAllowedWithoutTLS: isAllowedWithoutTLS) }
    if let domain {
      return .user(
        user ?? "", password: password ?? "", domain: domain, isAllowedWithoutTLS: isAllowedWithoutTLS)
    }
    return .user(user ?? "", password: password ?? "", isPreemptive: isPreemptive)
  }
}
