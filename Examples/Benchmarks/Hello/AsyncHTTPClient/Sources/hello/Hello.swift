import AsyncHTTPClient

@main struct Hello {
  static func main() async throws {
    guard CommandLine.arguments.count == 2 else { fatalError("usage: hello URL") }
    let request = HTTPClientRequest(url: CommandLine.arguments[1])
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
    print(String(buffer: try await response.body.collect(upTo: 1 << 20)))
  }
}
