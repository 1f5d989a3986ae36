// Declarations that the project uses from Darwin and Apple's frameworks, and that Linux lacks or declares with other types.
// Code is compiled against them, and never run.

@_exported import AppleStat
@_exported import AppleStatCall
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking
@_exported import Glibc

private func never() -> Never { fatalError("there is nothing to run") }

// MARK: Files

public typealias Path = UnsafePointer<CChar>?
public typealias stat = AppleStat.stat
@discardableResult public func lstat(_: Path, _: UnsafeMutablePointer<stat>!) -> Int32 { never() }
@discardableResult public func fstat(_: Int32, _: UnsafeMutablePointer<stat>!) -> Int32 { never() }
@discardableResult public func fstatat(_: Int32, _: Path, _: UnsafeMutablePointer<stat>!, _: Int32) -> Int32 { never() }
public typealias mode_t = UInt16
// For a literal, Linux's own function is preferred.
@_disfavoredOverload @discardableResult public func fchmod(_: Int32, _: mode_t) -> Int32 { never() }
@_disfavoredOverload public func open(_: UnsafePointer<CChar>, _: Int32, _: mode_t) -> Int32 { never() }
@_disfavoredOverload public func openat(_: Int32, _: UnsafePointer<CChar>, _: Int32, _: mode_t) -> Int32 { never() }
public var S_IFMT: UInt16 { 0o170000 }
public var S_IFREG: UInt16 { 0o100000 }
public var S_IFDIR: UInt16 { 0o040000 }
public var S_IFLNK: UInt16 { 0o120000 }
public var S_IFIFO: UInt16 { 0o010000 }
public var S_IFSOCK: UInt16 { 0o140000 }

public struct statvfs {
  public var f_bsize: UInt = 0, f_frsize: UInt = 0
  public var f_blocks: UInt32 = 0, f_bfree: UInt32 = 0, f_bavail: UInt32 = 0, f_files: UInt32 = 0, f_ffree: UInt32 = 0
  public init() {}
}
@discardableResult public func fstatvfs(_: Int32, _: UnsafeMutablePointer<statvfs>!) -> Int32 { never() }

public var F_FULLFSYNC: Int32 { 51 }
public var RENAME_SWAP: Int32 { 2 }
public var RENAME_EXCL: Int32 { 4 }
@discardableResult public func renamex_np(_: Path, _: Path, _: UInt32) -> Int32 { never() }
@discardableResult public func renameatx_np(_: Int32, _: Path, _: Int32, _: Path, _: UInt32) -> Int32 { never() }
@discardableResult public func sysctlbyname(
  _: Path, _: UnsafeMutableRawPointer!, _: UnsafeMutablePointer<Int>!, _: UnsafeMutableRawPointer!, _: Int
) -> Int32 { never() }

// MARK: Sockets

public var SOCK_STREAM: Int32 { 1 }
public var SOCK_DGRAM: Int32 { 2 }
public var SHUT_RD: Int32 { 0 }
public var SHUT_WR: Int32 { 1 }
public var SHUT_RDWR: Int32 { 2 }
public var IPPROTO_TCP: Int32 { 6 }
public var SO_NOSIGPIPE: Int32 { 0x1022 }
public typealias sa_family_t = UInt8
public struct sockaddr {
  public var sa_len: UInt8 = 0, sa_family: sa_family_t = 0
  public init() {}
}
public struct sockaddr_in {
  public var sin_len: UInt8 = 0, sin_family: sa_family_t = 0, sin_port: UInt16 = 0, sin_addr = in_addr()
  public init() {}
}
public struct sockaddr_in6 {
  public var sin6_len: UInt8 = 0, sin6_family: sa_family_t = 0, sin6_port: UInt16 = 0, sin6_flowinfo: UInt32 = 0
  public var sin6_addr = in6_addr(), sin6_scope_id: UInt32 = 0
  public init() {}
}
public struct linger { public init(l_onoff: Int32, l_linger: Int32) {} }
public struct timeval {
  public var tv_sec: Int = 0, tv_usec: Int32 = 0
  public init() {}
  public init(tv_sec: Int, tv_usec: Int32) {}
}
public struct addrinfo {
  public var ai_flags: Int32 = 0, ai_family: Int32 = 0, ai_socktype: Int32 = 0, ai_protocol: Int32 = 0
  public var ai_addrlen: socklen_t = 0, ai_canonname: UnsafeMutablePointer<CChar>!
  public var ai_addr: UnsafeMutablePointer<sockaddr>!, ai_next: UnsafeMutablePointer<addrinfo>!
  public init() {}
}
@discardableResult public func socket(_: Int32, _: Int32, _: Int32) -> Int32 { never() }
@discardableResult public func bind(_: Int32, _: UnsafePointer<sockaddr>!, _: socklen_t) -> Int32 { never() }
@discardableResult public func connect(_: Int32, _: UnsafePointer<sockaddr>!, _: socklen_t) -> Int32 { never() }
@discardableResult public func shutdown(_: Int32, _: Int32) -> Int32 { never() }
@discardableResult public func getsockname(
  _: Int32, _: UnsafeMutablePointer<sockaddr>!, _: UnsafeMutablePointer<socklen_t>!
) -> Int32 { never() }
@discardableResult public func getaddrinfo(
  _: Path, _: Path, _: UnsafePointer<addrinfo>!, _: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>!
) -> Int32 { never() }
public func freeaddrinfo(_: UnsafeMutablePointer<addrinfo>!) { never() }

// MARK: Threads and terminals

public struct _opaque_pthread_t {}
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public func pthread_self() -> pthread_t { never() }

public typealias tcflag_t = UInt
public struct termios: Sendable {
  public var c_iflag: tcflag_t = 0, c_oflag: tcflag_t = 0, c_cflag: tcflag_t = 0, c_lflag: tcflag_t = 0
  public init() {}
}
@discardableResult public func tcgetattr(_: Int32, _: UnsafeMutablePointer<termios>!) -> Int32 { never() }
@discardableResult public func tcsetattr(_: Int32, _: Int32, _: UnsafePointer<termios>!) -> Int32 { never() }

// MARK: Foundation

public struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
  public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}
extension URLSessionConfiguration {
  public var allowsExpensiveNetworkAccess: Bool { get { never() } set { never() } }
  public var allowsConstrainedNetworkAccess: Bool { get { never() } set { never() } }
  public var sessionSendsLaunchEvents: Bool { get { never() } set { never() } }
}
// All properties that the type has only on Apple's platforms, up to macOS 26.1; `URLRequestTests` reads them.
extension URLRequest {
  public var allowsExpensiveNetworkAccess: Bool { get { never() } set { never() } }
  public var allowsConstrainedNetworkAccess: Bool { get { never() } set { never() } }
  public var allowsUltraConstrainedNetworkAccess: Bool { get { never() } set { never() } }
  public var allowsPersistentDNS: Bool { get { never() } set { never() } }
  public var assumesHTTP3Capable: Bool { get { never() } set { never() } }
  public var attribution: UInt { get { never() } set { never() } }
  public var cookiePartitionIdentifier: String? { get { never() } set { never() } }
  public var requiresDNSSECValidation: Bool { get { never() } set { never() } }
}
extension HTTPCookie { public var sameSitePolicy: HTTPCookieStringPolicy? { never() } }
extension HTTPCookiePropertyKey { public static let sameSitePolicy = HTTPCookiePropertyKey(rawValue: "SameSite") }
extension URLSessionConfiguration {
  public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t { get { never() } set { never() } }
  public var proxyConfigurations: [ProxyConfiguration] { get { never() } set { never() } }
}
public let (NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate) = ("", "")
extension URLProtectionSpace { public var serverTrust: SecTrust? { never() } }
extension URLCredential {
  public convenience init(trust: SecTrust) { never() }
  public convenience init(identity: SecIdentity, certificates: [Any]?, persistence: URLCredential.Persistence) {
    never()
  }
}

// MARK: Network, and the part of Security for its TLS

public struct ProxyConfiguration: Hashable, Sendable {
  public init(httpCONNECTProxy: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) { never() }
  public init(socksv5Proxy: NWEndpoint) { never() }
  public var allowFailover: Bool { get { never() } set { never() } }
  public func applyCredential(username: String, password: String) { never() }
}
public enum NWEndpoint: Hashable, Sendable {
  public enum Host: Hashable, Sendable {
    case name(String)
    public init(_: String) { never() }
  }
  public struct Port: Hashable, Sendable { public init?(rawValue: UInt16) { never() } }
  case hostPort(host: Host, port: Port)
}
public enum NWProtocolTLS {
  public class Options {
    public init() {}
    public var securityProtocolOptions: sec_protocol_options_t { never() }
  }
}
public enum tls_protocol_version_t: UInt16, Sendable { case TLSv12 = 0x0303, TLSv13 = 0x0304 }
public class sec_protocol_options_t {}
public class sec_protocol_metadata_t {}
public class sec_trust_t {}
public typealias sec_protocol_verify_complete_t = (Bool) -> Void
public typealias sec_protocol_verify_t = (
  sec_protocol_metadata_t, sec_trust_t, @escaping sec_protocol_verify_complete_t
) -> Void
public func sec_protocol_options_set_min_tls_protocol_version(_: sec_protocol_options_t, _: tls_protocol_version_t) {
  never()
}
public func sec_protocol_options_set_verify_block(
  _: sec_protocol_options_t, _: @escaping sec_protocol_verify_t, _: DispatchQueue
) { never() }
public func sec_trust_copy_ref(_: sec_trust_t) -> Unmanaged<SecTrust> { never() }

// MARK: Security, where `as String`, `as CFDictionary` and the like are bridges

public typealias CFDictionary = [String: Any]
public typealias CFArray = [Any]
public typealias CFData = Data
public typealias CFString = String
public typealias CFTypeRef = AnyObject
public class CFError {}
public func CFErrorCopyDescription(_: CFError!) -> CFString! { never() }
public func CFGetTypeID(_: CFTypeRef!) -> UInt { never() }
public typealias OSStatus = Int32
public let (kSecClass, kSecClassGenericPassword, kSecAttrService, kSecAttrAccount) = ("", "", "", "")
public let (kSecAttrAccessGroup, kSecUseDataProtectionKeychain, kSecReturnData, kSecMatchLimit) = ("", "", "", "")
public let (kSecMatchLimitOne, kSecValueData, kSecAttrAccessible) = ("", "", "")
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = ""
public var errSecSuccess: OSStatus { 0 }
public var errSecItemNotFound: OSStatus { -25300 }
public func SecItemCopyMatching(_: CFDictionary, _: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { never() }
public func SecItemAdd(_: CFDictionary, _: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { never() }
public func SecItemUpdate(_: CFDictionary, _: CFDictionary) -> OSStatus { never() }
public func SecItemDelete(_: CFDictionary) -> OSStatus { never() }

// None of these types is Sendable here, because the frameworks do not promise it.
public class SecTrust {}
public class SecCertificate {}
public class SecIdentity {}
public enum SecTrustResultType: UInt32, Sendable {
  case invalid = 0, proceed = 1, deny = 3, unspecified = 4, recoverableTrustFailure = 5, fatalTrustFailure = 6
  case otherError = 7
}
public let (kSecImportExportPassphrase, kSecImportToMemoryOnly) = ("", "")
public let (kSecImportItemIdentity, kSecImportItemCertChain) = ("", "")
public let (kSecClassIdentity, kSecAttrLabel, kSecMatchLimitAll) = ("", "", "")
public let (kSecReturnRef, kSecReturnAttributes, kSecValueRef) = ("", "", "")
public func SecIdentityGetTypeID() -> UInt { never() }
public func SecPKCS12Import(_: CFData, _: CFDictionary, _: UnsafeMutablePointer<CFArray?>) -> OSStatus { never() }
public func SecCertificateCreateWithData(_: Void?, _: CFData) -> SecCertificate? { never() }
public func SecCertificateCopyData(_: SecCertificate) -> CFData { never() }
public func SecTrustCopyCertificateChain(_: SecTrust) -> CFArray? { never() }
public func SecTrustSetAnchorCertificates(_: SecTrust, _: CFArray?) -> OSStatus { never() }
public func SecTrustSetAnchorCertificatesOnly(_: SecTrust, _: Bool) -> OSStatus { never() }
public func SecTrustGetTrustResult(_: SecTrust, _: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus { never() }
public func SecTrustEvaluateWithError(_: SecTrust, _: UnsafeMutablePointer<CFError?>?) -> Bool { never() }
public func SecTrustEvaluateAsyncWithError(
  _: SecTrust, _: DispatchQueue, _: @escaping (SecTrust, Bool, CFError?) -> Void
) -> OSStatus { never() }

// MARK: CryptoKit and UniformTypeIdentifiers

public class SecKey {}
public enum SecKeyAlgorithm { case rsaSignatureMessagePKCS1v15SHA256 }
public let (kSecAttrKeyType, kSecAttrKeyTypeRSA, kSecAttrKeyClass, kSecAttrKeyClassPrivate) = ("", "", "", "")
public func SecKeyCreateWithData(_: CFData, _: CFDictionary, _: UnsafeMutableRawPointer?) -> SecKey? { never() }
public func SecKeyCreateSignature(_: SecKey, _: SecKeyAlgorithm, _: CFData, _: UnsafeMutableRawPointer?) -> CFData? {
  never()
}
public enum P256 {
  public enum Signing {
    public struct PublicKey: Sendable { public var x963Representation: Data { never() } }
    public struct ECDSASignature: Sendable { public var rawRepresentation: Data { never() } }
    public struct PrivateKey: Sendable {
      public init(compactRepresentable: Bool = true) { never() }
      public init(pemRepresentation: String) throws { never() }
      public var publicKey: PublicKey { never() }
      public func signature(for: some DataProtocol) throws -> ECDSASignature { never() }
    }
  }
}
public enum Curve25519 {
  public enum Signing {
    public struct PublicKey: Sendable { public var rawRepresentation: Data { never() } }
    public struct PrivateKey: Sendable {
      public init(rawRepresentation: some ContiguousBytes) throws { never() }
      public var publicKey: PublicKey { never() }
      public func signature(for: some DataProtocol) throws -> Data { never() }
    }
  }
}
public struct SHA256Digest: Sequence, Sendable, Hashable {
  public func makeIterator() -> Array<UInt8>.Iterator { never() }
}
public struct SHA256: Sendable {
  public init() {}
  public mutating func update(data: some DataProtocol) {}
  public func finalize() -> SHA256Digest { never() }
  public static func hash(data: some DataProtocol) -> SHA256Digest { never() }
}
public struct UTType: Sendable, Hashable {
  public init?(filenameExtension: String, conformingTo: UTType = .data) { never() }
  public static var data: UTType { never() }
  public var preferredMIMEType: String? { never() }
}
