import Foundation
import MartletTestTraits
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The trait that gives a test its cassette.
@Suite(.hangLimit) struct CassetteTraitTests {
  private static let settings: ClientSetting = [.baseURL("http://example.test"), .cache(.off)]

  @Test(.cassette("greeting", mode: .replay)) func `each test has its own cassette`() async throws {
    let cassette = try #require(Cassette.current)

    #expect(try await HTTPClient(.cassette, Self.settings).get("/hello").text == "Hello")

    #expect(cassette.file.lastPathComponent == "greeting.har" && cassette.entryCount == 1 && cassette.unused.isEmpty)
  }

  @Test(.cassette("greeting", mode: .replay), arguments: 0..<200)
  func `each case of a test begins with all entries`(_ number: Int) async throws {
    #expect(try await HTTPClient(.cassette, Self.settings).get("/hello").text == "Hello")
    #expect(Cassette.current?.unused.isEmpty == true)
  }

  @Test func `without the trait, the error of a request names it`() async throws {
    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient(.cassette, Self.settings).get("/hello")
    }

    #expect(error.kind == .unsupported)
    #expect(error.message == "no cassette belongs to the running test: add the trait .cassette(_:) to it")
  }

  @Test(.cassette("greeting", mode: .replay)) func `a client may outlive the scope in which it was made`() async throws
  {
    let client = HTTPClient(.cassette, Self.settings)
    let text = try await Cassette.$current.withValue(nil) { try await client.get("/hello").text }

    #expect(text == "Hello")
  }

  private static let shared = HTTPClient(.cassette, Self.settings)

  @Test(.cassette("greeting", mode: .replay), arguments: 0..<3)
  func `a client shared by all tests uses the cassette of each test`(_ number: Int) async throws {
    #expect(try await Self.shared.get("/hello").text == "Hello")
    #expect(Cassette.current?.unused.isEmpty == true)
  }
}
