#if canImport(Darwin) || URLSession
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The facts of a `URLSessionTaskTransactionMetrics` that the client uses.
  struct TransactionFacts {
    var protocolName: String?
    var remoteAddress: String?
    var remotePort: Int?
    var localAddress: String?
    var localPort: Int?
    var isReused = false
    var start: Date?
    var lookup: (start: Date?, end: Date?)
    /// Includes the TLS handshake.
    var connect: (start: Date?, end: Date?)
    var tls: (start: Date?, end: Date?)
    var requestEnd: Date?

    /// The facts in the form of the client.
    ///
    /// With a reused connection, only ``requestEnd`` counts. A time that the session does not report, or that is
    /// negative because the system's clock was set, is `nil`.
    var measurement: ExchangeMeasurement {
      var measurement = ExchangeMeasurement()
      measurement.httpVersion = protocolName.flatMap(Self.version)
      if remoteAddress != nil || localAddress != nil || isReused {
        measurement.connection = HTTPResponse.Connection(
          remoteAddress: remoteAddress, remotePort: remotePort, localAddress: localAddress, localPort: localPort,
          isReused: isReused)
      }
      measurement.timing.sent = Self.time(start, requestEnd)
      guard !isReused else { return measurement }
      measurement.timing.nameLookup = Self.time(lookup.start, lookup.end)
      measurement.timing.connect = Self.time(lookup.start ?? connect.start, tls.start ?? connect.end)
      measurement.timing.tls = Self.time(tls.start, tls.end)
      return measurement
    }

    /// The version for a protocol's ALPN identifier (RFC 7301 §6).
    static func version(_ name: String) -> HTTPVersion? {
      switch name.lowercased() {
      case "http/1.0": .http1_0
      case "http/1.1": .http1_1
      case "h2", "h2c": .http2
      // Drafts have a suffix, such as `h3-29`.
      case let name where name == "h3" || name.hasPrefix("h3-"): HTTPVersion("3")
      default: nil
      }
    }

    private static func time(_ start: Date?, _ end: Date?) -> Duration? {
      guard let start, let end, end >= start else { return nil }
      return .seconds(end.timeIntervalSince(start))
    }
  }

  extension TransactionFacts {
    init(_ metrics: URLSessionTaskTransactionMetrics) {
      protocolName = metrics.networkProtocolName
      remoteAddress = metrics.remoteAddress
      localAddress = metrics.localAddress
      // A number on Apple platforms, a text on Linux.
      remotePort = metrics.remotePort.flatMap { Int("\($0)") }
      localPort = metrics.localPort.flatMap { Int("\($0)") }
      isReused = metrics.isReusedConnection
      start = metrics.fetchStartDate
      lookup = (metrics.domainLookupStartDate, metrics.domainLookupEndDate)
      connect = (metrics.connectStartDate, metrics.connectEndDate)
      tls = (metrics.secureConnectionStartDate, metrics.secureConnectionEndDate)
      requestEnd = metrics.requestEndDate
    }
  }
#endif
