import Foundation
import Martlet
import MartletTesting

extension VariableTests {
  /// Removes a file that was downloaded to the temporary folder.
  private static func remove(_ file: DownloadedFile) throws { try FileManager.default.removeItem(at: file.url) }

  static let ways: [Way] = [
    Way(
      testDescription: "get",
      literal: { _ = try await $0.get("/u/\($1)") },
      url: { _ = try await $0.get($1) },
      text: { _ = try await $0.get($1) }),
    Way(
      testDescription: "head",
      literal: { _ = try await $0.head("/u/\($1)") },
      url: { _ = try await $0.head($1) },
      text: { _ = try await $0.head($1) }),
    Way(
      testDescription: "delete",
      literal: { _ = try await $0.delete("/u/\($1)") },
      url: { _ = try await $0.delete($1) },
      text: { _ = try await $0.delete($1) }),
    Way(
      testDescription: "post",
      literal: { _ = try await $0.post("/u/\($1)") },
      url: { _ = try await $0.post($1) },
      text: { _ = try await $0.post($1) }),
    Way(
      testDescription: "put",
      literal: { _ = try await $0.put("/u/\($1)") },
      url: { _ = try await $0.put($1) },
      text: { _ = try await $0.put($1) }),
    Way(
      testDescription: "patch",
      literal: { _ = try await $0.patch("/u/\($1)") },
      url: { _ = try await $0.patch($1) },
      text: { _ = try await $0.patch($1) }),
    Way(
      testDescription: "get as Sendable",
      literal: { _ = try await $0.get("/u/\($1)", as: Item.self) },
      url: { _ = try await $0.get($1, as: Item.self) },
      text: { _ = try await $0.get($1, as: Item.self) }),
    Way(
      testDescription: "get as own",
      literal: { _ = try await $0.get("/u/\($1)", as: OwnItem.self) },
      url: { _ = try await $0.get($1, as: OwnItem.self) },
      text: { _ = try await $0.get($1, as: OwnItem.self) }),
  ]

  static let bodyWays: [Way] = [
    Way(
      testDescription: "delete as Sendable",
      literal: { _ = try await $0.delete("/u/\($1)", body: .text("b"), as: Item.self) },
      url: { _ = try await $0.delete($1, body: .text("b"), as: Item.self) },
      text: { _ = try await $0.delete($1, body: .text("b"), as: Item.self) }),
    Way(
      testDescription: "delete as own",
      literal: { _ = try await $0.delete("/u/\($1)", as: OwnItem.self) },
      url: { _ = try await $0.delete($1, as: OwnItem.self) },
      text: { _ = try await $0.delete($1, as: OwnItem.self) }),
    Way(
      testDescription: "post as Sendable",
      literal: { _ = try await $0.post("/u/\($1)", body: .text("b"), as: Item.self) },
      url: { _ = try await $0.post($1, body: .text("b"), as: Item.self) },
      text: { _ = try await $0.post($1, body: .text("b"), as: Item.self) }),
    Way(
      testDescription: "post as own",
      literal: { _ = try await $0.post("/u/\($1)", as: OwnItem.self) },
      url: { _ = try await $0.post($1, as: OwnItem.self) },
      text: { _ = try await $0.post($1, as: OwnItem.self) }),
    Way(
      testDescription: "put as Sendable",
      literal: { _ = try await $0.put("/u/\($1)", body: .text("b"), as: Item.self) },
      url: { _ = try await $0.put($1, body: .text("b"), as: Item.self) },
      text: { _ = try await $0.put($1, body: .text("b"), as: Item.self) }),
    Way(
      testDescription: "put as own",
      literal: { _ = try await $0.put("/u/\($1)", as: OwnItem.self) },
      url: { _ = try await $0.put($1, as: OwnItem.self) },
      text: { _ = try await $0.put($1, as: OwnItem.self) }),
    Way(
      testDescription: "patch as Sendable",
      literal: { _ = try await $0.patch("/u/\($1)", body: .text("b"), as: Item.self) },
      url: { _ = try await $0.patch($1, body: .text("b"), as: Item.self) },
      text: { _ = try await $0.patch($1, body: .text("b"), as: Item.self) }),
    Way(
      testDescription: "patch as own",
      literal: { _ = try await $0.patch("/u/\($1)", as: OwnItem.self) },
      url: { _ = try await $0.patch($1, as: OwnItem.self) },
      text: { _ = try await $0.patch($1, as: OwnItem.self) }),
  ]

  static let callbackWays: [Way] = [
    Way(
      testDescription: "get callback",
      literal: { _ = try await $0.get("/u/\($1)") { _ in }.value },
      url: { _ = try await $0.get($1) { _ in }.value },
      text: { _ = try await $0.get($1) { _ in }.value }),
    Way(
      testDescription: "get JSON callback",
      literal: { _ = try await $0.get("/u/\($1)", as: Item.self) { _ in }.value },
      url: { _ = try await $0.get($1, as: Item.self) { _ in }.value },
      text: { _ = try await $0.get($1, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "get own callback",
      literal: { _ = try await $0.get("/u/\($1)", as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.get($1, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.get($1, as: OwnItem.self) { _ in }.value }),
    Way(
      testDescription: "head callback",
      literal: { _ = try await $0.head("/u/\($1)") { _ in }.value },
      url: { _ = try await $0.head($1) { _ in }.value },
      text: { _ = try await $0.head($1) { _ in }.value }),
    Way(
      testDescription: "delete callback",
      literal: { _ = try await $0.delete("/u/\($1)") { _ in }.value },
      url: { _ = try await $0.delete($1) { _ in }.value },
      text: { _ = try await $0.delete($1) { _ in }.value }),
    Way(
      testDescription: "delete JSON callback",
      literal: { _ = try await $0.delete("/u/\($1)", as: Item.self) { _ in }.value },
      url: { _ = try await $0.delete($1, as: Item.self) { _ in }.value },
      text: { _ = try await $0.delete($1, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "delete own callback",
      literal: { _ = try await $0.delete("/u/\($1)", as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.delete($1, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.delete($1, as: OwnItem.self) { _ in }.value }),
    Way(
      testDescription: "post callback",
      literal: { _ = try await $0.post("/u/\($1)") { _ in }.value },
      url: { _ = try await $0.post($1) { _ in }.value },
      text: { _ = try await $0.post($1) { _ in }.value }),
    Way(
      testDescription: "post JSON callback",
      literal: { _ = try await $0.post("/u/\($1)", as: Item.self) { _ in }.value },
      url: { _ = try await $0.post($1, as: Item.self) { _ in }.value },
      text: { _ = try await $0.post($1, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "post own callback",
      literal: { _ = try await $0.post("/u/\($1)", as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.post($1, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.post($1, as: OwnItem.self) { _ in }.value }),
    Way(
      testDescription: "put callback",
      literal: { _ = try await $0.put("/u/\($1)") { _ in }.value },
      url: { _ = try await $0.put($1) { _ in }.value },
      text: { _ = try await $0.put($1) { _ in }.value }),
    Way(
      testDescription: "put JSON callback",
      literal: { _ = try await $0.put("/u/\($1)", as: Item.self) { _ in }.value },
      url: { _ = try await $0.put($1, as: Item.self) { _ in }.value },
      text: { _ = try await $0.put($1, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "put own callback",
      literal: { _ = try await $0.put("/u/\($1)", as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.put($1, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.put($1, as: OwnItem.self) { _ in }.value }),
    Way(
      testDescription: "patch callback",
      literal: { _ = try await $0.patch("/u/\($1)") { _ in }.value },
      url: { _ = try await $0.patch($1) { _ in }.value },
      text: { _ = try await $0.patch($1) { _ in }.value }),
    Way(
      testDescription: "patch JSON callback",
      literal: { _ = try await $0.patch("/u/\($1)", as: Item.self) { _ in }.value },
      url: { _ = try await $0.patch($1, as: Item.self) { _ in }.value },
      text: { _ = try await $0.patch($1, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "patch own callback",
      literal: { _ = try await $0.patch("/u/\($1)", as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.patch($1, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.patch($1, as: OwnItem.self) { _ in }.value }),
  ]

  static let requestWays: [Way] = [
    Way(
      testDescription: "send",
      literal: { _ = try await $0.send("/u/\($1)") },
      url: { _ = try await $0.send($1) },
      text: { _ = try await $0.send($1) }),
    Way(
      testDescription: "start",
      literal: { _ = try await $0.start("/u/\($1)").value },
      url: { _ = try await $0.start($1).value },
      text: { _ = try await $0.start($1).value }),
    Way(
      testDescription: "stream",
      literal: { _ = try await $0.stream("/u/\($1)").text },
      url: { _ = try await $0.stream($1).text },
      text: { _ = try await $0.stream($1).text }),
    Way(
      testDescription: "stream closure",
      literal: { _ = try await $0.stream("/u/\($1)") { try await $0.text } },
      url: { _ = try await $0.stream($1) { try await $0.text } },
      text: { _ = try await $0.stream($1) { try await $0.text } }),
    Way(
      testDescription: "download",
      literal: { try remove(await $0.download("/u/\($1)", options: .timeout(.seconds(5)).retry(.off))) },
      url: { try remove(await $0.download($1, options: .timeout(.seconds(5)).retry(.off))) },
      text: { try remove(await $0.download($1, options: .timeout(.seconds(5)).retry(.off))) }),
    Way(
      testDescription: "startDownload",
      literal: { try remove(await $0.startDownload("/u/\($1)").value) },
      url: { try remove(await $0.startDownload($1).value) },
      text: { try remove(await $0.startDownload($1).value) }),
    Way(
      testDescription: "serverSentEvents",
      literal: { for try await _ in $0.serverSentEvents("/u/\($1)", options: .reconnect(.never)) {} },
      url: { for try await _ in $0.serverSentEvents($1, options: .reconnect(.never)) {} },
      text: { for try await _ in $0.serverSentEvents($1, options: .reconnect(.never)) {} }),
    Way(
      testDescription: "queue",
      literal: { _ = try await RequestQueue(client: $0).add("/u/\($1)").value },
      url: { _ = try await RequestQueue(client: $0).add($1).value },
      text: { _ = try await RequestQueue(client: $0).add($1).value }),
    Way(
      testDescription: "queue download",
      literal: { try remove(await RequestQueue(client: $0).download("/u/\($1)").value) },
      url: { try remove(await RequestQueue(client: $0).download($1).value) },
      text: { try remove(await RequestQueue(client: $0).download($1).value) }),
    Way(
      testDescription: "scope",
      literal: {
        let scope = RequestScope(client: $0)
        _ = try await scope.start("/u/\($1)").value
        withExtendedLifetime(scope) {}
      },
      url: {
        let scope = RequestScope(client: $0)
        _ = try await scope.start($1).value
        withExtendedLifetime(scope) {}
      },
      text: {
        let scope = RequestScope(client: $0)
        _ = try await scope.start($1).value
        withExtendedLifetime(scope) {}
      }),
    Way(
      testDescription: "request get",
      literal: { _ = try await $0.send(.get("/u/\($1)")) },
      url: { _ = try await $0.send(.get($1)) },
      text: { _ = try await $0.send(.get($1)) }),
    Way(
      testDescription: "request head",
      literal: { _ = try await $0.send(.head("/u/\($1)")) },
      url: { _ = try await $0.send(.head($1)) },
      text: { _ = try await $0.send(.head($1)) }),
    Way(
      testDescription: "request delete",
      literal: { _ = try await $0.send(.delete("/u/\($1)")) },
      url: { _ = try await $0.send(.delete($1)) },
      text: { _ = try await $0.send(.delete($1)) }),
    Way(
      testDescription: "request post",
      literal: { _ = try await $0.send(.post("/u/\($1)")) },
      url: { _ = try await $0.send(.post($1)) },
      text: { _ = try await $0.send(.post($1)) }),
    Way(
      testDescription: "request put",
      literal: { _ = try await $0.send(.put("/u/\($1)")) },
      url: { _ = try await $0.send(.put($1)) },
      text: { _ = try await $0.send(.put($1)) }),
    Way(
      testDescription: "request patch",
      literal: { _ = try await $0.send(.patch("/u/\($1)")) },
      url: { _ = try await $0.send(.patch($1)) },
      text: { _ = try await $0.send(.patch($1)) }),
    Way(
      testDescription: "request init",
      literal: { _ = try await $0.send(HTTPRequest(.get, "/u/\($1)")) },
      url: { _ = try await $0.send(HTTPRequest(.get, $1)) },
      text: { _ = try await $0.send(HTTPRequest(.get, $1)) }),
  ]
}
