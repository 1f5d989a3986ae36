import CMartletShim
package import MartletBase

package struct CurlTLSSettings: Sendable {
  package enum Trust: Equatable {
    /// libcurl's own roots.
    case system
    /// libcurl's own roots, and others as PEM.
    case systemAnd(Data)
    case only(Data)
    case anything
  }

  /// The client's identity, as the contents of files.
  package enum Identity {
    case pem(certificate: Data, key: Data)
    case pkcs12(Data)
  }

  package var trust: Trust
  /// Whether TLS 1.3 is the minimum version; otherwise 1.2 is.
  package var requiresTLS13: Bool
  /// Public keys, one of which the server's certificate must have.
  ///
  /// In the format of `CURLOPT_PINNEDPUBLICKEY`.
  package var pins: String?
  /// Whether the end of a connection ends a body only after `close_notify`.
  package var needsEnd: Bool
  package var identity: Identity?
  /// The password of the identity's key; may be empty.
  package var password: String

  package init(
    trust: Trust, requiresTLS13: Bool, pins: String? = nil, needsEnd: Bool,
    identity: Identity? = nil, password: String
  ) {
    self.trust = trust
    self.requiresTLS13 = requiresTLS13
    self.pins = pins
    self.needsEnd = needsEnd
    self.identity = identity
    self.password = password
  }
}

// Shows only the trust, because no dump may show a password or a key.
extension CurlTLSSettings: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(trust)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The TLS settings and resumable sessions of one loop.
///
/// The contents of files that the settings name are passed to libcurl as files in memory. libcurl then reads them once
/// for all connections (7.87 and later cache only what they parsed of a CA file), every TLS library that it may be
/// built with can read them, and the loop never waits for a disk. Used under the loop's lock.
package final class CurlTLS {
  private struct Identity {
    let type: String
    let certificate: MemoryFile
    let key: MemoryFile?
  }

  private static let folder = "/proc/self/fd/"

  let settings: CurlTLSSettings
  private let version: Int
  private let roots: MemoryFile?
  private let identity: Identity?
  /// The shared TLS sessions.
  ///
  /// Before 8.10 each handle has its own sessions, and the next transfer may use another handle.
  private let sessions: UnsafeMutableRawPointer

  /// Prepares valid settings; `nil` if the roots cannot be read, or no memory or descriptors are left.
  init?(_ settings: CurlTLSSettings) {
    self.settings = settings
    // CURL_SSLVERSION_TLSv1_2 and CURL_SSLVERSION_TLSv1_3: both set the minimum version.
    version = settings.requiresTLS13 ? 7 : 6
    switch settings.trust {
    case .system, .anything: roots = nil
    case .only(let bytes):
      guard let file = MemoryFile(bytes) else { return nil }
      roots = file
    case .systemAnd(let bytes):
      guard let file = CurlTLS.systemRoots(and: bytes).flatMap({ MemoryFile($0) }) else { return nil }
      roots = file
    }
    switch settings.identity {
    case nil: identity = nil
    case .pem(let certificate, let key):
      guard let certificate = MemoryFile(certificate), let key = MemoryFile(key) else { return nil }
      identity = Identity(type: "PEM", certificate: certificate, key: key)
    case .pkcs12(let bytes):
      guard let file = MemoryFile(bytes) else { return nil }
      identity = Identity(type: "P12", certificate: file, key: nil)
    }
    guard let sessions = martlet_share_new() else { return nil }
    self.sessions = sessions
  }

  deinit { martlet_share_free(sessions) }

  /// libcurl's own roots and other ones; `nil` if the former cannot be read.
  ///
  /// If libcurl knows only a folder of roots, it stays in use in addition to the file of added roots.
  static func systemRoots(and bytes: Data) -> Data? {
    guard let path = martlet_curl_ca_file() else { return bytes }
    guard let system = try? Data(contentsOf: URL(filePath: String(cString: path))) else { return nil }
    return system + Data("\n".utf8) + bytes
  }

  /// Applies the settings to a handle without TLS settings.
  func apply(to options: inout EasyOptions) {
    options.set(martlet_opt_ssl_version, version)
    if let guarding = martlet_tls_guard(settings.needsEnd) {
      options.set(martlet_opt_ssl_context_function, to: guarding)
    }
    options.set(martlet_opt_share, to: sessions)
    applyRoots(martlet_opt_ca_info, martlet_opt_ca_path, &options)
    if settings.trust == .anything {
      options.set(martlet_opt_ssl_verify_peer, 0)
      options.set(martlet_opt_ssl_verify_host, 0)
      // They would be parsed nevertheless.
      options.set(martlet_opt_ca_info, nil)
      options.set(martlet_opt_ca_path, nil)
    }
    if let pins = settings.pins { options.set(martlet_opt_pinned_public_key, pins) }
    if let identity {
      options.set(martlet_opt_ssl_cert_type, identity.type)
      options.set(martlet_opt_ssl_cert, identity.certificate.path)
      // Without a password, OpenSSL asks for one on the terminal. GnuTLS treats an empty one as a password.
      if !CurlLibrary.hasGnuTLS || !settings.password.isEmpty {
        options.set(martlet_opt_key_password, settings.password)
      }
      if let key = identity.key {
        options.set(martlet_opt_ssl_key_type, identity.type)
        options.set(martlet_opt_ssl_key, key.path)
      }
    }
  }

  /// Applies the settings for TLS to a proxy.
  ///
  /// The proxy's certificate is checked even if the server's is not.
  func applyToProxy(_ options: inout EasyOptions) {
    options.set(martlet_opt_proxy_ssl_version, version)
    applyRoots(martlet_opt_proxy_ca_info, martlet_opt_proxy_ca_path, &options)
  }

  /// Sets the roots that replace libcurl's own, if there are any.
  private func applyRoots(_ file: Int, _ folder: Int, _ options: inout EasyOptions) {
    guard let roots else { return }
    options.set(file, roots.path)
    if case .only = settings.trust { options.set(folder, characters: martlet_curl_no_ca_path()) }
  }

  /// libcurl's text, without the names of files in memory.
  static func readable(_ text: String) -> String {
    guard let name = text.firstRange(of: folder) else { return text }
    return text[..<name.lowerBound] + "memory" + readable(String(text[name.upperBound...].drop(while: \.isNumber)))
  }

  /// Bytes with a path, which is valid while the object lives.
  private final class MemoryFile {
    private let descriptor: CInt
    let path: String

    init?(_ bytes: Data) {
      descriptor = bytes.withUnsafeBytes { martlet_memory_file($0.baseAddress, $0.count) }
      guard descriptor >= 0 else { return nil }
      path = "\(CurlTLS.folder)\(descriptor)"
    }

    deinit { martlet_close(descriptor) }
  }
}
