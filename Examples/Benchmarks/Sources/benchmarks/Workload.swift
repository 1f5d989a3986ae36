/// A measured workload.
enum Workload: String, CaseIterable, Codable {
  case getSequential = "get-sequential"
  case get64 = "get-64"
  case get256 = "get-256"
  case get1024 = "get-1024"
  case download = "download-1g"
  case copiedDownload = "download-1g-copied"
  case slowDownload = "download-1g-slow"
  case buffered = "download-1g-memory"
  case upload = "upload-1g"
  case cacheMemory = "cache-memory"
  case cacheDisk = "cache-disk"
  case tlsKept = "tls-kept"
  case tlsNew = "tls-new"
  case tls64 = "tls-64"
  case tlsDownload = "tls-download-1g"
  case tlsUpload = "tls-upload-1g"
  case threads2 = "threads-2"
  case http2 = "h2-64"
  case http2Downloads = "h2-downloads"
  case creation = "client-creation"
  case idleClients = "idle-clients"
  case inFlight = "in-flight-1000"
  case cancel
  case socketEcho = "ws-echo"
  case socketEcho64 = "ws-echo-64"
  case socketEchoCompressed = "ws-echo-compressed"
  case socketSend = "ws-send-1g"
  case socketReceive = "ws-receive-1g"
  case socketSendCompressed = "ws-send-1g-compressed"
  case socketReceiveCompressed = "ws-receive-1g-compressed"
  case idleSockets = "ws-idle-10000"

  static let idleClientCount = 100

  /// The number of requests at a time.
  var concurrency: Int {
    switch self {
    case .get64, .tls64, .http2, .socketEcho64: 64
    case .get256: 256
    case .get1024: 1024
    case .http2Downloads: 100
    case .threads2: 2
    case .inFlight, .cancel: 1000
    case .idleSockets: 10_000
    default: 1
    }
  }

  /// Whether each request is a gigabyte, so megabytes per second say more than requests.
  var isTransfer: Bool {
    [
      .download, .copiedDownload, .slowDownload, .buffered, .upload, .tlsDownload, .tlsUpload, .threads2, .socketSend,
      .socketReceive, .socketSendCompressed, .socketReceiveCompressed,
    ].contains(self)
  }

  /// Whether WebSockets transport messages.
  var isSocket: Bool { rawValue.hasPrefix("ws-") }

  /// Whether messages are compressed.
  var isCompressed: Bool { rawValue.hasSuffix("-compressed") }

  /// Whether responses arrive over one HTTP/2 connection.
  var isHTTP2: Bool { self == .http2 || self == .http2Downloads }

  /// Whether the workload needs a cache.
  var isCached: Bool { self == .cacheMemory || self == .cacheDisk }

  var isTLS: Bool {
    [.tlsKept, .tlsNew, .tls64, .tlsDownload, .tlsUpload, .threads2].contains(self) || isHTTP2
  }

  var summary: String {
    switch self {
    case .getSequential: "GET of 13 bytes, one after the other"
    case .get64: "GET of 13 bytes, 64 at a time"
    case .get256: "GET of 13 bytes, 256 at a time"
    case .get1024: "GET of 13 bytes, 1,024 at a time"
    case .download: "1 GiB down, streamed and thrown away"
    case .copiedDownload: "1 GiB down from a server that copies it, without `sendfile`"
    case .slowDownload: "1 GiB down to a reader that sleeps 1 ms for each 256 KiB"
    case .buffered: "1 GiB down into memory"
    case .upload: "1 GiB up from a file"
    case .cacheMemory: "GET of 13 bytes that are fresh in a cache in memory, one after the other"
    case .cacheDisk: "GET of 13 bytes that are fresh in a cache on disk, one after the other"
    case .tlsKept: "GET of 13 bytes over one TLS connection, one after the other"
    case .tlsNew: "GET of 13 bytes, each over a new TLS connection, one after the other"
    case .tls64: "GET of 13 bytes over TLS, 64 at a time"
    case .tlsDownload: "1 GiB down over TLS, streamed and thrown away"
    case .tlsUpload: "1 GiB up over TLS from a file"
    case .threads2: "2 downloads of 1 GiB over TLS at a time, by a client that may use two threads for its connections"
    case .http2: "GET of 13 bytes over one HTTP/2 connection over TLS, 64 at a time"
    case .http2Downloads: "GET of 1 MB into memory over one HTTP/2 connection over TLS, 100 at a time"
    case .creation: "a client made, one GET, the client dropped"
    case .idleClients: "100 clients made, one GET by each, and all of them kept"
    case .inFlight: "1,000 GETs at a time, each answered after a second"
    case .cancel: "1,000 GETs that wait, cancelled at once"
    case .socketEcho: "a message of 100 bytes and its echo, one after the other"
    case .socketEcho64: "messages of 100 bytes and their echoes, over 64 WebSockets at a time"
    case .socketEchoCompressed: "a compressed message of 64 KiB and its echo, one after the other"
    case .socketSend: "1 GiB up in messages of 64 KiB"
    case .socketReceive: "1 GiB down in messages of 64 KiB"
    case .socketSendCompressed: "1 GiB up in compressed messages of 64 KiB (before compression)"
    case .socketReceiveCompressed: "1 GiB down in compressed messages of 64 KiB (after expansion)"
    case .idleSockets: "10,000 WebSockets, opened and kept for two seconds"
    }
  }
}

/// A measured client.
enum Client: String, CaseIterable, Codable {
  case urlSession = "urlsession"
  case martletURLSession = "martlet-urlsession"
  case martletCurl = "martlet-curl"
  case asyncHTTPClient = "async-http-client"
  case nio
  case curlTasks = "libcurl-tasks"
  case curlLoop = "libcurl-loop"

  var summary: String {
    switch self {
    case .urlSession: "URLSession as it comes with the toolchain, `data(for:)`"
    case .martletURLSession: "Martlet with its default transport, `client.get`"
    case .martletCurl: "Martlet with `transport: .curl`, `client.get`"
    case .asyncHTTPClient: "AsyncHTTPClient, `execute` and the collected body"
    case .nio: "SwiftNIO's WebSocket over `NIOAsyncChannel`, with zlib where messages are compressed; WebSocket only"
    case .curlTasks: "the same C loop on its own thread, and a Swift task that waits for each request; small GETs only"
    case .curlLoop: "a C loop over libcurl's multi interface and epoll, on the calling thread: the ceiling"
    }
  }
}
