import Foundation
import Martlet

/// The connection and trust settings from the command line.
struct Connecting: Equatable, Sendable {
  enum Lane: String, CaseIterable, Sendable {
    case curl
    #if canImport(Darwin) || URLSession
      case urlsession, system
    #endif
  }

  /// The value of `--cert`: a file and its password.
  struct Certificate: Equatable, Sendable {
    var file: String
    var password: String?

    var isPKCS12: Bool { [".p12", ".pfx"].contains { file.lowercased().hasSuffix($0) } }
  }

  /// The transport; `nil` means the library's default.
  var lane: Lane?
  /// The HTTP version; `nil` lets client and server negotiate it.
  var version: RequestOptions.HTTPVersionPolicy?
  /// The proxy; `nil` means the environment's proxy.
  var proxy: Proxy?
  /// Whether all proxies are ignored, including the environment's.
  var isDirect = false
  /// The file of the root certificates; `nil` means the system's.
  var roots: String?
  var certificate: Certificate?
  /// The file of the key; `nil` means the certificate's file.
  var key: String?
  var isInsecure = false
  var addresses: [String: [String]] = [:]
  var unixSocket: String?
  /// The maximum bytes per second in each direction.
  var rate: Int?

  /// Whether Martlet's own engine sends the requests, not the system's loader.
  var usesEngine: Bool {
    #if canImport(Darwin) || URLSession
      lane != .system
    #else
      true
    #endif
  }

  /// Applies the settings to a client's configuration.
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
    configuration.bandwidth = rate.map { .limit(down: $0, up: $0) }
  }

  private func proxySettings(_ environment: [String: String]) -> ProxySettings {
    if let proxy { return .proxy(proxy) }
    if isDirect || unixSocket != nil { return .direct }
    #if os(Linux)
      // The system's loader reads the environment itself. Without an engine, the setting cannot be applied.
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
