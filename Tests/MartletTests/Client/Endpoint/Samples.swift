import Foundation
import Martlet
import MartletTesting

/// An API of a few endpoints, as a program would write it.
enum Forge {
  struct User: Codable, Equatable, Sendable { var id = 1 }
  struct Item: Codable, Equatable, Sendable { var name: String }

  /// A minimal endpoint.
  struct GetUser: Endpoint {
    typealias Output = User
    var target: RequestTarget { "/user" }
  }

  struct GetItem: FeedEndpoint {
    typealias Output = String
    var number = 0
    var target: RequestTarget { "/items/\(number)" }
  }

  struct GetNews: FeedEndpoint {
    typealias Output = Data
    var target: RequestTarget { "/news" }
  }

  /// A generic endpoint: each specialization is a separate type.
  struct List<Element: Decodable & Sendable>: Endpoint {
    typealias Output = [Element]
    var target: RequestTarget { "/list" }
  }

  /// Never responds; throws when its task is cancelled.
  static func hang() async throws -> StubResponse {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    for await _ in stream {}
    continuation.finish()
    throw CancellationError()
  }
}

/// A family of endpoints.
protocol FeedEndpoint: Endpoint {}
