import Foundation
import Martlet

/// Samples from the article on upgrades.
///
/// They are compiled but not run, because they need a server with another protocol.
private enum UpgradeSamples {
  static func attach(_ client: HTTPClient) async throws {
    let request = HTTPRequest.post("/containers/web/attach", query: ["stream": "1"])
    let connection = try await client.upgrade(request, to: "tcp").connection
    try await connection.write(Data("ls\n".utf8))
    connection.finish()
    for try await chunk in connection.bytes { print(chunk.count, "bytes") }
  }

  static func branch(_ client: HTTPClient) async throws {
    switch try await client.upgrade("/feed", to: "example/1") {
    case .upgraded(let connection): try await connection.write(Data("subscribe\n".utf8))
    case .response(let response): print("no upgrade:", response.status)
    }
  }

  static func manage(_ client: HTTPClient, _ scope: RequestScope) {
    let handle = client.startUpgrade("/feed", to: "example/1") { connection in
      for try await chunk in connection.bytes { print(chunk.count, "bytes") }
    }
    scope.add(handle)
  }

  static func comment(_ client: HTTPClient, _ id: String, _ show: (Data) -> Void) async throws {
    let connection = try await client.upgrade(.post("/containers/\(id)/attach"), to: "tcp").connection
    try await connection.write(Data("ls\n".utf8))
    for try await chunk in connection.bytes { show(chunk) }
  }
}
