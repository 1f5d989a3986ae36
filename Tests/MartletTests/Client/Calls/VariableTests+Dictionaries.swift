import Foundation
import Martlet
import MartletTesting

extension VariableTests {
  private static let fields = ["B": "2", "A": "1"]
  private static let items = ["n": ["2", "1"], "m": ["b c"]]

  static let asyncDictionaryWays: [Way] = [
    Way(
      testDescription: "get",
      literal: { _ = try await $0.get("/u/\($1)", query: items, headers: fields) },
      url: { _ = try await $0.get($1, query: items, headers: fields) },
      text: { _ = try await $0.get($1, query: items, headers: fields) }),
    Way(
      testDescription: "request get",
      literal: { _ = try await $0.send(.get("/u/\($1)", query: items, headers: fields)) },
      url: { _ = try await $0.send(.get(RequestTarget($1), query: items, headers: fields)) },
      text: { _ = try await $0.send(.get(RequestTarget($1), query: items, headers: fields)) }),
    Way(
      testDescription: "get as Sendable",
      literal: { _ = try await $0.get("/u/\($1)", query: items, headers: fields, as: Item.self) },
      url: { _ = try await $0.get($1, query: items, headers: fields, as: Item.self) },
      text: { _ = try await $0.get($1, query: items, headers: fields, as: Item.self) }),
    Way(
      testDescription: "get as own",
      literal: { _ = try await $0.get("/u/\($1)", query: items, headers: fields, as: OwnItem.self) },
      url: { _ = try await $0.get($1, query: items, headers: fields, as: OwnItem.self) },
      text: { _ = try await $0.get($1, query: items, headers: fields, as: OwnItem.self) }),
    Way(
      testDescription: "head",
      literal: { _ = try await $0.head("/u/\($1)", query: items, headers: fields) },
      url: { _ = try await $0.head($1, query: items, headers: fields) },
      text: { _ = try await $0.head($1, query: items, headers: fields) }),
    Way(
      testDescription: "request head",
      literal: { _ = try await $0.send(.head("/u/\($1)", query: items, headers: fields)) },
      url: { _ = try await $0.send(.head(RequestTarget($1), query: items, headers: fields)) },
      text: { _ = try await $0.send(.head(RequestTarget($1), query: items, headers: fields)) }),
    Way(
      testDescription: "delete",
      literal: { _ = try await $0.delete("/u/\($1)", query: items, headers: fields) },
      url: { _ = try await $0.delete($1, query: items, headers: fields) },
      text: { _ = try await $0.delete($1, query: items, headers: fields) }),
    Way(
      testDescription: "request delete",
      literal: { _ = try await $0.send(.delete("/u/\($1)", query: items, headers: fields)) },
      url: { _ = try await $0.send(.delete(RequestTarget($1), query: items, headers: fields)) },
      text: { _ = try await $0.send(.delete(RequestTarget($1), query: items, headers: fields)) }),
    Way(
      testDescription: "delete as Sendable",
      literal: { _ = try await $0.delete("/u/\($1)", query: items, headers: fields, as: Item.self) },
      url: { _ = try await $0.delete($1, query: items, headers: fields, as: Item.self) },
      text: { _ = try await $0.delete($1, query: items, headers: fields, as: Item.self) }),
    Way(
      testDescription: "delete as own",
      literal: { _ = try await $0.delete("/u/\($1)", query: items, headers: fields, as: OwnItem.self) },
      url: { _ = try await $0.delete($1, query: items, headers: fields, as: OwnItem.self) },
      text: { _ = try await $0.delete($1, query: items, headers: fields, as: OwnItem.self) }),
    Way(
      testDescription: "post",
      literal: { _ = try await $0.post("/u/\($1)", query: items, headers: fields) },
      url: { _ = try await $0.post($1, query: items, headers: fields) },
      text: { _ = try await $0.post($1, query: items, headers: fields) }),
    Way(
      testDescription: "request post",
      literal: { _ = try await $0.send(.post("/u/\($1)", query: items, headers: fields)) },
      url: { _ = try await $0.send(.post(RequestTarget($1), query: items, headers: fields)) },
      text: { _ = try await $0.send(.post(RequestTarget($1), query: items, headers: fields)) }),
    Way(
      testDescription: "post as Sendable",
      literal: { _ = try await $0.post("/u/\($1)", query: items, headers: fields, as: Item.self) },
      url: { _ = try await $0.post($1, query: items, headers: fields, as: Item.self) },
      text: { _ = try await $0.post($1, query: items, headers: fields, as: Item.self) }),
    Way(
      testDescription: "post as own",
      literal: { _ = try await $0.post("/u/\($1)", query: items, headers: fields, as: OwnItem.self) },
      url: { _ = try await $0.post($1, query: items, headers: fields, as: OwnItem.self) },
      text: { _ = try await $0.post($1, query: items, headers: fields, as: OwnItem.self) }),
    Way(
      testDescription: "put",
      literal: { _ = try await $0.put("/u/\($1)", query: items, headers: fields) },
      url: { _ = try await $0.put($1, query: items, headers: fields) },
      text: { _ = try await $0.put($1, query: items, headers: fields) }),
    Way(
      testDescription: "request put",
      literal: { _ = try await $0.send(.put("/u/\($1)", query: items, headers: fields)) },
      url: { _ = try await $0.send(.put(RequestTarget($1), query: items, headers: fields)) },
      text: { _ = try await $0.send(.put(RequestTarget($1), query: items, headers: fields)) }),
    Way(
      testDescription: "put as Sendable",
      literal: { _ = try await $0.put("/u/\($1)", query: items, headers: fields, as: Item.self) },
      url: { _ = try await $0.put($1, query: items, headers: fields, as: Item.self) },
      text: { _ = try await $0.put($1, query: items, headers: fields, as: Item.self) }),
    Way(
      testDescription: "put as own",
      literal: { _ = try await $0.put("/u/\($1)", query: items, headers: fields, as: OwnItem.self) },
      url: { _ = try await $0.put($1, query: items, headers: fields, as: OwnItem.self) },
      text: { _ = try await $0.put($1, query: items, headers: fields, as: OwnItem.self) }),
    Way(
      testDescription: "patch",
      literal: { _ = try await $0.patch("/u/\($1)", query: items, headers: fields) },
      url: { _ = try await $0.patch($1, query: items, headers: fields) },
      text: { _ = try await $0.patch($1, query: items, headers: fields) }),
    Way(
      testDescription: "request patch",
      literal: { _ = try await $0.send(.patch("/u/\($1)", query: items, headers: fields)) },
      url: { _ = try await $0.send(.patch(RequestTarget($1), query: items, headers: fields)) },
      text: { _ = try await $0.send(.patch(RequestTarget($1), query: items, headers: fields)) }),
    Way(
      testDescription: "patch as Sendable",
      literal: { _ = try await $0.patch("/u/\($1)", query: items, headers: fields, as: Item.self) },
      url: { _ = try await $0.patch($1, query: items, headers: fields, as: Item.self) },
      text: { _ = try await $0.patch($1, query: items, headers: fields, as: Item.self) }),
    Way(
      testDescription: "patch as own",
      literal: { _ = try await $0.patch("/u/\($1)", query: items, headers: fields, as: OwnItem.self) },
      url: { _ = try await $0.patch($1, query: items, headers: fields, as: OwnItem.self) },
      text: { _ = try await $0.patch($1, query: items, headers: fields, as: OwnItem.self) }),
  ]

  static let callbackDictionaryWays: [Way] = [
    Way(
      testDescription: "get callback",
      literal: { _ = try await $0.get("/u/\($1)", query: items, headers: fields) { _ in }.value },
      url: { _ = try await $0.get(RequestTarget($1), query: items, headers: fields) { _ in }.value },
      text: { _ = try await $0.get(RequestTarget($1), query: items, headers: fields) { _ in }.value }),
    Way(
      testDescription: "get Sendable callback",
      literal: { _ = try await $0.get("/u/\($1)", query: items, headers: fields, as: Item.self) { _ in }.value },
      url: { _ = try await $0.get(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value },
      text: { _ = try await $0.get(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "get own callback",
      literal: { _ = try await $0.get("/u/\($1)", query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.get(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.get(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value }),
    Way(
      testDescription: "head callback",
      literal: { _ = try await $0.head("/u/\($1)", query: items, headers: fields) { _ in }.value },
      url: { _ = try await $0.head(RequestTarget($1), query: items, headers: fields) { _ in }.value },
      text: { _ = try await $0.head(RequestTarget($1), query: items, headers: fields) { _ in }.value }),
    Way(
      testDescription: "delete callback",
      literal: { _ = try await $0.delete("/u/\($1)", query: items, headers: fields) { _ in }.value },
      url: { _ = try await $0.delete(RequestTarget($1), query: items, headers: fields) { _ in }.value },
      text: { _ = try await $0.delete(RequestTarget($1), query: items, headers: fields) { _ in }.value }),
    Way(
      testDescription: "delete Sendable callback",
      literal: { _ = try await $0.delete("/u/\($1)", query: items, headers: fields, as: Item.self) { _ in }.value },
      url: { _ = try await $0.delete(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value },
      text: { _ = try await $0.delete(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "delete own callback",
      literal: { _ = try await $0.delete("/u/\($1)", query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      url: {
        _ = try await $0.delete(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value
      },
      text: {
        _ = try await $0.delete(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value
      }),
    Way(
      testDescription: "post callback",
      literal: { _ = try await $0.post("/u/\($1)", query: items, headers: fields) { _ in }.value },
      url: { _ = try await $0.post(RequestTarget($1), query: items, headers: fields) { _ in }.value },
      text: { _ = try await $0.post(RequestTarget($1), query: items, headers: fields) { _ in }.value }),
    Way(
      testDescription: "post Sendable callback",
      literal: { _ = try await $0.post("/u/\($1)", query: items, headers: fields, as: Item.self) { _ in }.value },
      url: { _ = try await $0.post(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value },
      text: { _ = try await $0.post(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "post own callback",
      literal: { _ = try await $0.post("/u/\($1)", query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.post(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.post(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value }
    ),
    Way(
      testDescription: "put callback",
      literal: { _ = try await $0.put("/u/\($1)", query: items, headers: fields) { _ in }.value },
      url: { _ = try await $0.put(RequestTarget($1), query: items, headers: fields) { _ in }.value },
      text: { _ = try await $0.put(RequestTarget($1), query: items, headers: fields) { _ in }.value }),
    Way(
      testDescription: "put Sendable callback",
      literal: { _ = try await $0.put("/u/\($1)", query: items, headers: fields, as: Item.self) { _ in }.value },
      url: { _ = try await $0.put(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value },
      text: { _ = try await $0.put(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "put own callback",
      literal: { _ = try await $0.put("/u/\($1)", query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      url: { _ = try await $0.put(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      text: { _ = try await $0.put(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value }),
    Way(
      testDescription: "patch callback",
      literal: { _ = try await $0.patch("/u/\($1)", query: items, headers: fields) { _ in }.value },
      url: { _ = try await $0.patch(RequestTarget($1), query: items, headers: fields) { _ in }.value },
      text: { _ = try await $0.patch(RequestTarget($1), query: items, headers: fields) { _ in }.value }),
    Way(
      testDescription: "patch Sendable callback",
      literal: { _ = try await $0.patch("/u/\($1)", query: items, headers: fields, as: Item.self) { _ in }.value },
      url: { _ = try await $0.patch(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value },
      text: { _ = try await $0.patch(RequestTarget($1), query: items, headers: fields, as: Item.self) { _ in }.value }),
    Way(
      testDescription: "patch own callback",
      literal: { _ = try await $0.patch("/u/\($1)", query: items, headers: fields, as: OwnItem.self) { _ in }.value },
      url: {
        _ = try await $0.patch(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value
      },
      text: {
        _ = try await $0.patch(RequestTarget($1), query: items, headers: fields, as: OwnItem.self) { _ in }.value
      }),
  ]
}
