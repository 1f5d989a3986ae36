/// What a child process is asked to measure.
struct Job: Codable {
  var client: Client
  var workload: Workload
  var servers: Servers

  /// How long small requests are sent.
  var seconds = 0.8
  var warmUpSeconds = 0.25
}

/// Where the servers and their files are.
struct Servers: Codable {
  /// The port of nginx for HTTP.
  var plain: Int
  /// The port of nginx for TLS on connections that are kept.
  var tls: Int
  /// The port of nginx for TLS where each response ends its connection.
  var tlsOnce: Int
  /// The port of nginx for HTTP/2 over TLS.
  var http2: Int
  /// The port of the server that nginx cannot be.
  var own: Int
  /// The certificates of the system and the one made for this run, in one file.
  var bundle: String
  /// A file of `bodyLength` bytes.
  var file: String

  static let smallLength = 13
  static let bodyLength = 1 << 30
  /// Of the bodies that come 100 at a time.
  static let middleLength = 1_000_000

  /// Slept by a slow reader for each `pauseLength` bytes.
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
  var upload: String { "http://127.0.0.1:\(own)/upload" }
}

/// What a child process has measured.
struct Measurement: Codable {
  var requests = 0
  var seconds = 0.0
  var cpuSeconds = 0.0
  /// Above the process that has sent one request and idles.
  var peakBytes = 0
  /// The processor time of 1,000 waiting requests, as a part of one core.
  var waitingCores: Double?
  /// Descriptors that are open after all requests have been cancelled, more than before.
  var descriptorsLeft: Int?
}

/// A line from a child process.
enum Outcome: Codable {
  case measured(Measurement)
  case impossible(String)
  case failed(String)
}
