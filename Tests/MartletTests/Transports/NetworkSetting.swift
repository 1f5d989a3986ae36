import Foundation

@testable import Martlet

/// A setting of a client or request that determines who responds, by which route, for whom or in which form.
enum NetworkSetting: String, CaseIterable, Sendable {
  case nothing
  case trustsAnything, ownRoots, otherRoots, moreRoots, pins, otherPins, newerTLS, missingCloseNotify
  case publicAddresses, exceptions, resolve, otherResolve, unixSocket, otherSocket
  case proxy, otherProxy, proxyUser, bypass, resolver, interface
  case certificate, otherCertificate
  case host, otherHost, coded
  case credential, otherCredential, field, otherField, partition, otherPartition

  /// Whether the setting determines who may respond for a host.
  var isAuthority: Bool {
    switch self {
    case .trustsAnything, .ownRoots, .otherRoots, .moreRoots, .pins, .otherPins, .newerTLS, .missingCloseNotify,
      .publicAddresses, .exceptions, .resolve, .otherResolve, .unixSocket, .otherSocket:
      true
    default: false
    }
  }

  /// Whether the request has its own credentials.
  var isCredential: Bool { [.credential, .otherCredential, .field, .otherField].contains(self) }

  /// Whether responses stored with this setting are only for this process.
  var endsWithProcess: Bool { isCredential || [.resolver, .certificate, .otherCertificate].contains(self) }

  @Sendable func configure(_ configuration: inout HTTPClient.Configuration) {
    switch self {
    case .trustsAnything: configuration.tls = .insecureTrustAnything
    case .ownRoots: configuration.tls = .customRoots(pem: Self.pem("CERTIFICATE", "MAA="))
    case .otherRoots: configuration.tls = .customRoots(pem: Self.pem("CERTIFICATE", "MAIFAA=="))
    case .moreRoots: configuration.tls = .system(adding: Self.pem("CERTIFICATE", "MAA="))
    case .pins: configuration.tls = .pins([Self.pin(1)])
    case .otherPins: configuration.tls = .pins([Self.pin(1), Self.pin(2)])
    case .newerTLS: configuration.tls.minimumVersion = .v1_3
    case .missingCloseNotify: configuration.tls.allowsMissingCloseNotify = true
    case .publicAddresses: configuration.guards = [.publicAddressesOnly]
    case .exceptions: configuration.guards = [.publicAddressesOnly(except: ["127.0.0.1"])]
    case .resolve: configuration.resolve = ["a.test": ["127.0.0.1"]]
    case .otherResolve: configuration.resolve = ["a.test": ["127.0.0.2"]]
    case .unixSocket: configuration.unixSocket = "/run/a"
    case .otherSocket: configuration.unixSocket = "/run/b"
    case .proxy: configuration.proxy = .proxy("http://proxy.test")
    case .otherProxy: configuration.proxy = .proxy("http://proxy.test:81")
    case .proxyUser: configuration.proxy = .proxy("http://ada:1@proxy.test")
    case .bypass: configuration.proxy = .proxy("http://proxy.test", except: ["a.test"])
    case .resolver: configuration.proxy = .resolver { _ in nil }
    case .interface: configuration.localInterface = "127.0.0.1"
    case .certificate: configuration.tls.clientCertificate = Self.certificate("MAA=")
    case .otherCertificate: configuration.tls.clientCertificate = Self.certificate("MAIFAA==")
    case .nothing, .host, .otherHost, .coded, .credential, .otherCredential, .field, .otherField, .partition,
      .otherPartition:
      break
    }
  }

  var request: HTTPRequest {
    switch self {
    case .host: .get("https://a.test/x", headers: ["Host": "b.test"])
    case .otherHost: .get("https://a.test/x", headers: ["Host": "c.test"])
    case .field: .get("https://a.test/x", headers: ["X-API-Key": "1"])
    case .otherField: .get("https://a.test/x", headers: ["X-API-Key": "2"])
    default: .get("https://a.test/x")
    }
  }

  var options: RequestOptions {
    switch self {
    case .coded: .decompression(.off)
    case .credential: .credential(.token("1"))
    case .otherCredential: .credential(.token("2"))
    case .partition: .cachePartition("1")
    case .otherPartition: .cachePartition("2")
    default: RequestOptions()
    }
  }

  static func pin(_ byte: UInt8) -> String {
    "sha256//\(Data(repeating: byte, count: 32).base64EncodedString())"
  }

  private static func certificate(_ content: String) -> TLSSettings.ClientCertificate {
    .pem(certificate: pem("CERTIFICATE", content), key: pem("PRIVATE KEY", "MAA="))
  }

  private static func pem(_ label: String, _ content: String) -> Data {
    Data("-----BEGIN \(label)-----\n\(content)\n-----END \(label)-----\n".utf8)
  }
}
