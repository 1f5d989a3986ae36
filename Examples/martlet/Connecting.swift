import Foundation
import Martlet

/// How the server is reached and believed, as the command line describes it.
struct Connecting: Equatable, Sendable {
  enum Lane: String, CaseIterable, Sendable {
    case curl
    #if canImport(Darwin) || URLSession
      case urlsession, system
    #endif
  }

  /// `--cert`: a file, and what it is encrypted with.
  struct Certificate: Equatable, Sendable {
    var file: String
    var password: String?

    var isPKCS12: Bool { [".p12", ".pfx"].contains { file.lowercased().hasSuffix($0) } }
  }

  /// `nil` for the default of the library.
  var lane: Lane?
  /// `nil` for what client and server agree on.
  var version: RequestOptions.HTTPVersionPolicy?
  /// `nil` for what the environment names.
  var proxy: Proxy?
  /// Whether not even the environment's proxy is used.
  var isDirect = false
  /// The file of the roots, or `nil` for those of the system.
  var roots: String?
  var certificate: Certificate?
  /// The file of the key, or `nil` if it is in that of the certificate.
  var key: String?
  var isInsecure = false
  var addresses: [String: [String]] = [:]
  var unixSocket: String?

  /// Whether requests are not sent by the system's loader.
  var usesEngine: Bool {
    #if canImport(Darwin) || URLSession
      lane != .system
    #else
      true
    #endif
  }

  /// Tells a client.
  func apply(
    to configuration: inout HTTPClient.Configuration,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    switch lane {
    case nil: break
    #if canImport(Darwin) || URLSession
      case .urlsession: configuration.transport = .urlSession
      case .system: configuration.transport = .urlSession(loader: .system)
    #endif
    case .curl: configuration.transport = .curl
    }
    configuration.proxy = proxySettings(environment)
    configuration.tls = tls
    configuration.resolve = addresses
    configuration.unixSocket = unixSocket
  }

  private func proxySettings(_ environment: [String: String]) -> ProxySettings {
    if let proxy { return .proxy(proxy) }
    if isDirect || unixSocket != nil { return .direct }
    #if os(Linux)
      // The system's loader reads the environment itself. Where no engine can be had, it has to do without the setting.
      let isNamed = environment.contains { $0.key.lowercased().hasSuffix("_proxy") && !$0.value.isEmpty }
      return isNamed && usesEngine ? .environment : .direct
    #else
      return .direct
    #endif
  }

  private var tls: TLSSettings {
    var settings = TLSSettings.system
    if let roots { settings = .customRoots(pem: URL(fileURLWithPath: roots)) }
    if isInsecure { settings = .insecureTrustAnything }
    if let certificate {
      let file = URL(fileURLWithPath: certificate.file)
      settings.clientCertificate =
        certificate.isPKCS12
        ? .pkcs12(file, password: certificate.password)
        : .pem(certificate: file, key: key.map { URL(fileURLWithPath: $0) } ?? file, password: certificate.password)
    }
    return settings
  }
}
