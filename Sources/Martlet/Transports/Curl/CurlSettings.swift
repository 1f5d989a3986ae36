#if os(Linux)
  import CurlEngine
  import MartletBase

  // A client's settings, in the form that the engine accepts.

  extension CurlConnectionSettings {
    init(_ settings: TransportSettings, for group: ConnectionGroup) {
      self.init(settings)
      // The slot limits the requests; after them, an upgraded connection counts no longer.
      if group == .upgraded { (perHost, total) = (0, 0) }
    }

    init(_ settings: TransportSettings) {
      let interface = settings.localInterface.map { name in
        guard let address = IPAddress(name) else { return "if!\(name)" }
        return "host!\(address.bytes.count == 16 && name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name)"
      }
      let refusal = settings.addresses.map { policy in
        { @Sendable (octets: [UInt8]) -> String? in
          let address = IPAddress(bytes: octets)
          return policy.refusal(of: address).map { "\(address.text) is \($0.rawValue)" }
        }
      }
      let (seconds, attoseconds) = settings.idleConnectionLifetime.clampedComponents
      let whole = min(max(0, seconds), 1 << 30)
      let age = settings.maximumConnectionAge.map { max($0, .microseconds(1)).clampedComponents }
      self.init(
        unixSocket: settings.unixSocket, interface: interface,
        maximumIdleTime: Int(whole) + (attoseconds > 0 ? 1 : 0),
        maximumAge: age.map { min($0.seconds, 1 << 30) * 1_000_000 + $0.attoseconds / 1_000_000_000_000 },
        shufflesAddresses: settings.shufflesAddresses,
        isKept: settings.idleConnectionLifetime > .zero,
        idleLifetime: whole * 1_000_000 + attoseconds / 1_000_000_000_000,
        // libcurl counts everything that uses a proxy as one host; the limiter limits each host.
        perHost: settings.proxy.isNone ? settings.maximumConnectionsPerHost : settings.maximumConnections,
        hostLimit: settings.maximumConnectionsPerHost, total: settings.maximumConnections,
        tls: CurlTLSSettings(settings.tls),
        addressRefusal: refusal, answerPace: settings.answerPace, receiveMarks: settings.receiveMarks)
    }
  }

  extension CurlTLSSettings {
    init(_ settings: TLSSettings) {
      let identity: Identity? =
        switch settings.clientCertificate?.source {
        case .pem(let certificate, let key): .pem(certificate: certificate.bytes, key: key.bytes)
        case .pkcs12(let material): .pkcs12(material.bytes)
        // Only Apple platforms have it.
        case .keychain, nil: nil
        }
      let trust: Trust =
        switch settings.trust {
        case .system: .system
        case .systemAnd(let material): .systemAnd(material.bytes)
        case .only(let material): .only(material.bytes)
        case .anything: .anything
        }
      self.init(
        trust: trust, requiresTLS13: settings.minimumVersion != .v1_2,
        pins: settings.normalizedPins?.joined(separator: ";"), needsEnd: !settings.allowsMissingCloseNotify,
        identity: identity, password: settings.clientCertificate?.password ?? "")
    }
  }
#endif
