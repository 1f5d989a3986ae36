import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

// W24
@Suite(.hangLimit) struct EndpointEventTests {
  private let client = HTTPClient.stubbed(
    StubTransport { request in
      switch request.url?.path() {
      case "/user": .json(#"{"id":1}"#)
      case "/items/404": .status(404)
      default: .text(request.url?.lastPathComponent ?? "")
      }
    })

  private static func text(_ event: EndpointEvent<String>?) -> String {
    switch event {
    case .succeeded(let output): output
    case .failed(let error): "failed \((error as? HTTPError)?.status?.rawValue ?? 0)"
    case .dropped(let count): "missed \(count)"
    case nil: "end"
    }
  }

  @Test func `every listener receives all successes and failures of its endpoint type`() async throws {
    var first = client.events(of: Forge.GetItem.self).makeAsyncIterator()
    var second = client.events(of: Forge.GetItem.self).makeAsyncIterator()

    _ = try await client.send(Forge.GetItem(number: 1))
    _ = try await client.send(Forge.GetUser())
    _ = try? await client.start(Forge.GetItem(number: 404)).value
    _ = try await client.sendAll([Forge.GetItem(number: 2)])
    let scope = RequestScope(client: client)
    _ = try await scope.start(Forge.GetItem(number: 3)).value

    for expected in ["1", "failed 404", "2", "3"] {
      #expect(await Self.text(first.next()) == expected)
      #expect(await Self.text(second.next()) == expected)
    }
  }

  @Test func `a slow listener loses the oldest events and receives their count`() async throws {
    var slow = client.events(of: Forge.GetItem.self, bufferingNewest: 2).makeAsyncIterator()
    var patient = client.events(of: Forge.GetItem.self, bufferingNewest: 10).makeAsyncIterator()

    for number in 1...5 { _ = try await client.send(Forge.GetItem(number: number)) }

    for expected in ["missed 3", "4", "5"] { #expect(await Self.text(slow.next()) == expected) }
    for expected in ["1", "2", "3", "4", "5"] { #expect(await Self.text(patient.next()) == expected) }
    _ = try await client.send(Forge.GetItem(number: 6))
    #expect(await Self.text(slow.next()) == "6")
  }

  @Test func `reports the output of recover instead of the error`() async throws {
    struct Forgiving: Endpoint {
      typealias Output = String
      var target: RequestTarget { "/items/404" }
      func recover(from error: HTTPError) throws -> String { "nothing" }
    }
    var events = client.events(of: Forgiving.self).makeAsyncIterator()

    _ = try await client.send(Forgiving())
    _ = try await client.start(Forgiving()).value

    for _ in 0..<2 { #expect(await Self.text(events.next()) == "nothing") }
  }

  @Test func `does not report cancelled requests`() async throws {
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { request in
        await gate.pass()
        return .text(request.url?.lastPathComponent ?? "")
      })
    var events = client.events(of: Forge.GetItem.self).makeAsyncIterator()
    let cancelled = client.start(Forge.GetItem(number: 1))
    let awaited = Task { try await client.send(Forge.GetItem(number: 2)) }
    await client.wait { client.activity.current.running.count == 2 }

    cancelled.cancel()
    awaited.cancel()
    _ = try? await awaited.value
    gate.open()
    _ = try await client.send(Forge.GetItem(number: 3))

    #expect(await Self.text(events.next()) == "3")
  }

  @Test func `cancelling the listener's task ends the stream`() async throws {
    let events = client.events(of: Forge.GetItem.self)
    let seen = Log<String>()
    let listening = Task {
      for await event in events { seen.add(Self.text(event)) }
      return "ended"
    }
    _ = try await client.send(Forge.GetItem(number: 1))
    await seen.wait(for: 1)

    listening.cancel()

    #expect(await listening.value == "ended")
    #expect(seen.elements == ["1"])
  }
}
