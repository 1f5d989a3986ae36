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

  static func container() async throws {
    let docker = HTTPClient {
      $0.unixSocket = "/var/run/docker.sock"
      $0.baseURL = "http://docker"
    }
    let attach = HTTPRequest.post(
      "/containers/web/attach",
      query: ["stream": "1", "stdin": "1", "stdout": "1", "stderr": "1"])
    try await docker.upgrade(attach, to: "tcp") { connection in
      try await connection.write(Data("all of the input".utf8))
      connection.finish()
      var buffer = Data()
      for try await chunk in connection.bytes {
        buffer += chunk
        while let frame = nextFrame(in: &buffer) {
          print(frame.stream == 2 ? "error" : "output", frame.bytes.count)
        }
      }
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

func nextFrame(in buffer: inout Data) -> (stream: UInt8, bytes: Data)? {
  let header = [UInt8](buffer.prefix(8))
  guard header.count == 8 else { return nil }
  let end = 8 + header[4...].reduce(0) { $0 << 8 | Int($1) }
  guard buffer.count >= end else { return nil }
  let bytes = Data(buffer.prefix(end).dropFirst(8))
  buffer = Data(buffer.dropFirst(end))
  return (header[0], bytes)
}
