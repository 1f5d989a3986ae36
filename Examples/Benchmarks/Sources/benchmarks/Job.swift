/// The task of a child process.
struct Job: Codable {
  var client: Client
  var workload: Workload
  var servers: Servers

  /// The duration of a run of small requests.
  var seconds = 0.8
  var warmUpSeconds = 0.25
}

/// The ports of the servers and the paths of their files.
struct Servers: Codable {
  /// The port of nginx for HTTP.
  var plain: Int
  /// The port of nginx for persistent TLS connections.
  var tls: Int
  /// The port of nginx for TLS connections that each serve one request.
  var tlsOnce: Int
  /// The port of nginx for HTTP/2 over TLS.
  var http2: Int
  /// The port of the server for tasks that nginx cannot do.
  var own: Int
  /// The port of the WebSocket server.
  var socket: Int
  /// The system's certificates and the certificate created for this run, in one file.
  var bundle: String
  /// A file of `bodyLength` bytes.
  var file: String

  static let smallLength = 13
  static let bodyLength = 1 << 30
  /// The length of the bodies that are requested 100 at a time.
  static let middleLength = 1_000_000

  /// How long a slow reader sleeps for each `pauseLength` bytes.
  static let pause = Duration.milliseconds(1)
  static let pauseLength = 256 << 10

  var small: String { "http://127.0.0.1:\(plain)/small" }
  var big: String { "http://127.0.0.1:\(plain)/big" }
  var bigCopied: String { "http://127.0.0.1:\(plain)/copied/big" }
  var smallTLS: String { "https://127.0.0.1:\(tls)/small" }
  var bigTLS: String { "https://127.0.0.1:\(tls)/big" }
  var uploadTLS: String { "https://127.0.0.1:\(tls)/upload" }
  var smallHTTP2: String { "https://127.0.0.1:\(http2)/small" }
  var middleHTTP2: String { "https://127.0.0.1:\(http2)/middle" }
  var smallTLSOnce: String { "https://127.0.0.1:\(tlsOnce)/small" }
  var held: String { "http://127.0.0.1:\(own)/held" }
  var never: String { "http://127.0.0.1:\(own)/never" }
  var echo: String { "ws://127.0.0.1:\(socket)/echo" }
  var sink: String { "ws://127.0.0.1:\(socket)/sink" }
  var source: String { "ws://127.0.0.1:\(socket)/source" }
  var upload: String { "http://127.0.0.1:\(own)/upload" }
}

/// The result of a child process.
struct Measurement: Codable {
  var requests = 0
  var seconds = 0.0
  var cpuSeconds = 0.0
  /// The peak memory above that of the idle process after one request.
  var peakBytes = 0
  /// The processor time of 1,000 waiting requests, as a part of one core.
  var waitingCores: Double?
  /// The number of additional open descriptors after all requests have been cancelled.
  var descriptorsLeft: Int?
}

/// A line from a child process.
enum Outcome: Codable {
  case measured(Measurement)
  case impossible(String)
  case failed(String)
}
