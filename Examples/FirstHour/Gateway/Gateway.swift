// Gateway UPSTREAM-URL PATH
// Forwards a request as a server framework's handler would; here the body goes to standard output.
import Foundation
import Martlet

extension HTTPHeaders {
  /// The header fields without hop-by-hop fields (RFC 9110 §7.6.1).
  var endToEnd: HTTPHeaders {
    let ownNames = [
      "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
      "Transfer-Encoding", "Upgrade",
    ]
    var fields = self
    for name in values(of: "Connection") + ownNames { fields.remove(name) }
    return fields
  }
}

struct Forwarder: Sendable {
  private let upstream: HTTPClient

  init(upstream url: URL, host: String) {
    // `URL.host()` returns an IPv6 address without its brackets.
    let name = host.contains(":") ? "[\(host)]" : host
    // Without a port, the guard would allow all ports of the host.
    let port = url.port ?? (url.scheme?.lowercased() == "http" ? 80 : 443)
    upstream = HTTPClient {
      $0.baseURL = RequestTarget(url)
      $0.guards = [.allowedHosts(["\(name):\(port)"])]
      $0.accepts = .any
      $0.redirects = .off
      $0.retry = .off
      $0.cookies = .off
      $0.cache = .off
      $0.options.decompression = .off
      $0.maximumConnectionsPerHost = 256
      $0.maximumConnections = 512
    }
  }

  /// Returns when the head has arrived; the body is read from upstream only as fast as the caller reads it.
  func handle(
    path: String, headers: [(name: String, value: String)]
  ) async throws -> (status: HTTPStatus, headers: HTTPHeaders, body: ResponseBody) {
    var incoming: HTTPHeaders = [:]
    for field in headers { incoming.append(field.value, for: field.name) }
    var outgoing = incoming.endToEnd
    outgoing["Host"] = nil
    outgoing["Content-Length"] = nil
    outgoing.append("1.1 gateway", for: "Via")
    let response = try await upstream.stream(
      HTTPRequest(.get, RequestTarget(text: path), headers: outgoing), options: .timeout(.seconds(60)))
    return (response.status, response.headers.endToEnd, response.body)
  }

  static func status(for error: HTTPError) -> HTTPStatus {
    switch error.kind {
    case .timedOut: .gatewayTimeout
    case .invalidRequest, .refusedByGuard: .badRequest
    default: .badGateway
    }
  }
}

@main enum Gateway {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count == 2, let url = URL(string: arguments[0]), let host = url.host() else {
      note("usage: Gateway UPSTREAM-URL PATH")
      exit(64)
    }
    let forwarder = Forwarder(upstream: url, host: host)
    do {
      let answer = try await forwarder.handle(
        path: arguments[1],
        headers: [("Accept", "*/*"), ("Connection", "keep-alive, X-Hop"), ("X-Hop", "1"), ("Host", "gateway.example")])
      note("\(answer.status)")
      for field in answer.headers { note("\(field.name): \(field.value)") }
      for try await piece in answer.body { try FileHandle.standardOutput.write(contentsOf: piece) }
    } catch let error as HTTPError {
      note("\(Forwarder.status(for: error)): \(error)")
      exit(1)
    }
  }

  static func note(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }
}
