public import CoreMetrics
public import Martlet
import Metrics
import Synchronization

/// Records metrics of requests with swift-metrics, under OpenTelemetry's names for HTTP clients.
///
/// ```swift
/// let client = HTTPClient { $0.instruments = [MetricsInstrument()] }
/// ```
///
/// | Metric | Meaning |
/// |---|---|
/// | `http.client.request.duration` | a timer: the duration of each exchange |
/// | `http.client.active_requests` | a meter: the exchanges that are not over |
/// | `http.client.request.body.size` | a recorder: the bytes of the request's body |
/// | `http.client.response.body.size` | a recorder: the bytes of the response's body |
///
/// ``recordConnections(of:)`` adds `http.client.open_connections`, a meter with the dimension `http.connection.state`
/// (`active` or `idle`), and `http.client.queued_requests`, the requests that wait for a connection, which is not one of
/// OpenTelemetry's names.
///
/// Their dimensions are `http.request.method`, `server.address` and `server.port`. At the end of an exchange,
/// `http.response.status_code`, `network.protocol.version` and `error.type` are added if known.
public final class MetricsInstrument: Instrument {
  private struct Key: Hashable {
    let call: RequestID
    let exchange: Int
  }

  private struct Server: Hashable {
    let host: String
    let port: Int
  }

  private struct State {
    var open: [Key: [String: JSONValue]] = [:]
    var active: [[String]: Int] = [:]
    /// The servers whose connections were recorded.
    var servers: Set<Server> = []
  }

  private static let dimensions = [
    "http.request.method", "server.address", "server.port", "http.response.status_code", "network.protocol.version",
    "error.type",
  ]

  private let factory: any MetricsFactory
  private let state = Mutex(State())

  /// Creates an instrument.
  ///
  /// - Parameter factory: The backend; by default, the program's global backend.
  public init(_ factory: (any MetricsFactory)? = nil) { self.factory = factory ?? MetricsSystem.factory }

  public func observe(_ event: InstrumentEvent) {
    switch event.kind {
    case .exchangeBegan(let exchange):
      let attributes = event.attributes
      state.withLock { $0.open[Key(call: event.call.id, exchange: exchange.number)] = attributes }
      count(attributes, by: 1)
    case .head(_, let exchange):
      let attributes = event.attributes
      state.withLock {
        $0.open[Key(call: event.call.id, exchange: exchange)]?.merge(attributes) { $1 }
      }
    case .exchangeEnded(let summary, let exchange):
      let key = Key(call: event.call.id, exchange: exchange)
      guard let known = state.withLock({ $0.open.removeValue(forKey: key) }) else { return }
      count(known, by: -1)
      let dimensions = Self.dimensions(of: known.merging(event.attributes) { $1 })
      Timer(label: "http.client.request.duration", dimensions: dimensions, factory: factory)
        .recordNanoseconds(Int64(clamping: Int128(summary.duration / .nanoseconds(1))))
      Recorder(label: "http.client.request.body.size", dimensions: dimensions, factory: factory)
        .record(summary.sentBytes)
      Recorder(label: "http.client.response.body.size", dimensions: dimensions, factory: factory)
        .record(summary.receivedBytes)
    default: break
    }
  }

  /// Records the numbers of a client's connections and waiting requests, once.
  ///
  /// Counting costs nothing between calls.
  public func recordConnections(of client: HTTPClient) {
    var counts: [Server: (active: Int, idle: Int, queued: Int)] = [:]
    for pool in client.activity.current.connections {
      let known = counts[Server(host: pool.host, port: pool.port)] ?? (0, 0, 0)
      counts[Server(host: pool.host, port: pool.port)] =
        (known.active + pool.active, known.idle + pool.idle, known.queued + pool.queued)
    }
    state.withLock { state in
      for server in state.servers.union(counts.keys) {
        let count = counts[server] ?? (0, 0, 0)
        let dimensions = [("server.address", server.host), ("server.port", "\(server.port)")]
        for (name, value) in [("active", count.active), ("idle", count.idle)] {
          Meter(
            label: "http.client.open_connections", dimensions: dimensions + [("http.connection.state", name)],
            factory: factory
          ).set(value)
        }
        Meter(label: "http.client.queued_requests", dimensions: dimensions, factory: factory).set(count.queued)
      }
      state.servers = Set(counts.keys)
    }
  }

  /// Records the connections of a client repeatedly, until the task is cancelled.
  public func watchConnections(of client: HTTPClient, every interval: Duration = .seconds(10)) async throws {
    while true {
      recordConnections(of: client)
      try await Task.sleep(for: interval)
    }
  }

  /// Records under the lock, so the numbers arrive in order.
  private func count(_ attributes: [String: JSONValue], by step: Int) {
    let names: Set = ["http.request.method", "server.address", "server.port"]
    let dimensions = Self.dimensions(of: attributes.filter { names.contains($0.key) })
    state.withLock { state in
      let count = state.active[dimensions.map(\.1), default: 0] + step
      state.active[dimensions.map(\.1)] = count == 0 ? nil : count
      Meter(label: "http.client.active_requests", dimensions: dimensions, factory: factory).set(count)
    }
  }

  private static func dimensions(of attributes: [String: JSONValue]) -> [(String, String)] {
    dimensions.compactMap { name in
      guard let value = attributes[name] else { return nil }
      return value.string.map { (name, $0) } ?? value.int.map { (name, "\($0)") }
    }
  }
}
