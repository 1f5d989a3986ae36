import CMartletShim
package import Foundation

/// How the connections of an engine are to be secured.
package struct CurlTLSSettings: Sendable {
  package enum Trust {
    /// libcurl's own roots.
    case system
    /// Those and others.
    case systemAnd
    case only
    case anything
  }

  /// Who the client is, as the bytes of files.
  package enum Identity {
    case pem(certificate: Data, key: Data)
    case pkcs12(Data)
  }

  package var trust: Trust
  /// The roots in place of libcurl's own, as PEM, or `nil` if they cannot be read.
  ///
  /// Asked for by a loop that starts.
  package var roots: @Sendable () -> Data?
  /// Whether TLS 1.3 is the oldest version that is spoken; 1.2 else.
  package var requiresTLS13: Bool
  /// Public keys of which the server's certificate has to have one, as `CURLOPT_PINNEDPUBLICKEY` takes them.
  package var pins: String?
  /// Whether the end of a connection ends a body only if TLS was ended first.
  package var needsEnd: Bool
  package var identity: Identity?
  /// That of the identity's key; may be empty.
  package var password: String

  package init(
    trust: Trust, roots: @escaping @Sendable () -> Data?, requiresTLS13: Bool, pins: String? = nil, needsEnd: Bool,
    identity: Identity? = nil, password: String
  ) {
    self.trust = trust
    self.roots = roots
    self.requiresTLS13 = requiresTLS13
    self.pins = pins
    self.needsEnd = needsEnd
    self.identity = identity
    self.password = password
  }
}

// Shows nothing of its own, so that no dump leaks a password or a key.
extension CurlTLSSettings: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(trust)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// How the connections of one loop are secured, and the sessions of TLS that they resume.
///
/// What was read from files when it was named is handed to libcurl as files in memory: from those it reads once for all
/// connections (7.87 and later keep what they parsed of a CA file, and of nothing else), every TLS library that it may
/// be built with can read them, and the loop never waits for a disk. Used under the lock of the loop.
package final class CurlTLS {
  private struct Identity {
    let type: String
    let certificate: MemoryFile
    let key: MemoryFile?
    package let password: String
  }

  private static let folder = "/proc/self/fd/"

  private let trust: CurlTLSSettings.Trust
  private let version: Int
  private let roots: MemoryFile?
  private let pins: String?
  package let needsEnd: Bool
  private let identity: Identity?
  /// Before 8.10 each handle has sessions of its own, which the next transfer need not get.
  private let sessions: UnsafeMutableRawPointer

  /// Prepares settings without a problem; `nil` if the system has no memory or no descriptors for it.
  init?(_ settings: CurlTLSSettings) {
    trust = settings.trust
    // CURL_SSLVERSION_TLSv1_2 and CURL_SSLVERSION_TLSv1_3: both are the oldest version that is spoken.
    version = settings.requiresTLS13 ? 7 : 6
    pins = settings.pins
    needsEnd = settings.needsEnd
    switch settings.trust {
    case .system, .anything: roots = nil
    case .only, .systemAnd:
      guard let bytes = settings.roots(), let file = MemoryFile(bytes) else { return nil }
      roots = file
    }
    switch settings.identity {
    case nil: identity = nil
    case .pem(let certificate, let key):
      guard let certificate = MemoryFile(certificate), let key = MemoryFile(key) else { return nil }
      identity = Identity(type: "PEM", certificate: certificate, key: key, password: settings.password)
    case .pkcs12(let bytes):
      guard let file = MemoryFile(bytes) else { return nil }
      identity = Identity(type: "P12", certificate: file, key: nil, password: settings.password)
    }
    guard let sessions = martlet_share_new() else { return nil }
    self.sessions = sessions
  }

  deinit { martlet_share_free(sessions) }

  /// The roots that libcurl trusts by itself, and others; `nil` if its own cannot be read.
  ///
  /// Where libcurl knows only a folder of roots, that stays in use beside the file of those that are added.
  package static func systemRoots(and bytes: Data) -> Data? {
    guard let path = martlet_curl_ca_file() else { return bytes }
    guard let system = try? Data(contentsOf: URL(filePath: String(cString: path))) else { return nil }
    return system + Data("\n".utf8) + bytes
  }

  /// Sets up a handle on which nothing about TLS was set; returns libcurl's code.
  func apply(to easy: UnsafeMutableRawPointer) -> CInt {
    var code: CInt = 0
    func number(_ option: Int, _ value: Int) {
      if code == 0 { code = martlet_easy_set_number(easy, CInt(option), value) }
    }
    func text(_ option: Int, _ value: String?) {
      if code == 0 { code = martlet_easy_set_text(easy, CInt(option), value) }
    }
    number(martlet_opt_ssl_version, version)
    if code == 0, let guarding = martlet_tls_guard() {
      code = martlet_easy_set_pointer(easy, CInt(martlet_opt_ssl_context_function), guarding)
    }
    if code == 0 { code = martlet_easy_set_pointer(easy, CInt(martlet_opt_share), sessions) }
    switch trust {
    case .system: break
    case .systemAnd: text(martlet_opt_ca_info, roots?.path)
    case .only:
      text(martlet_opt_ca_info, roots?.path)
      if code == 0 { code = martlet_easy_set_text(easy, CInt(martlet_opt_ca_path), martlet_curl_no_ca_path()) }
    case .anything:
      number(martlet_opt_ssl_verify_peer, 0)
      number(martlet_opt_ssl_verify_host, 0)
      // They would be parsed all the same.
      text(martlet_opt_ca_info, nil)
      text(martlet_opt_ca_path, nil)
    }
    if let pins { text(martlet_opt_pinned_public_key, pins) }
    if let identity {
      text(martlet_opt_ssl_cert_type, identity.type)
      text(martlet_opt_ssl_cert, identity.certificate.path)
      // OpenSSL asks for a password on the terminal if it has been told none, and GnuTLS takes the empty one for one.
      if !CurlLibrary.hasGnuTLS || !identity.password.isEmpty { text(martlet_opt_key_password, identity.password) }
      if let key = identity.key {
        text(martlet_opt_ssl_key_type, identity.type)
        text(martlet_opt_ssl_key, key.path)
      }
    }
    return code
  }

  /// Sets up a handle for TLS to a proxy, which has to be who it says it is also where a server need not be; returns
  /// libcurl's code.
  func applyToProxy(_ easy: UnsafeMutableRawPointer) -> CInt {
    var code = martlet_easy_set_number(easy, CInt(martlet_opt_proxy_ssl_version), version)
    switch trust {
    case .system, .anything: break
    case .systemAnd, .only:
      if code == 0 { code = martlet_easy_set_text(easy, CInt(martlet_opt_proxy_ca_info), roots?.path) }
      if code == 0, case .only = trust {
        code = martlet_easy_set_text(easy, CInt(martlet_opt_proxy_ca_path), martlet_curl_no_ca_path())
      }
    }
    return code
  }

  /// What libcurl says, without the names of files that the program has never seen.
  static func readable(_ text: String) -> String {
    guard let name = text.range(of: folder) else { return text }
    return text[..<name.lowerBound] + "memory" + readable(String(text[name.upperBound...].drop(while: \.isNumber)))
  }

  /// Bytes that can be opened by a path, as long as this lives.
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
