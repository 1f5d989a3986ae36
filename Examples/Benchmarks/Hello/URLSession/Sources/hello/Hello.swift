import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@main struct Hello {
  static func main() async throws {
    guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
      fatalError("usage: hello URL")
    }
    print(String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self))
  }
}
