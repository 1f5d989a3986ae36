// GraphQL [COUNTRY-CODE]
// A query with variables, typed data, and errors whose details have any shape.
import Foundation
import Martlet

struct GraphQLAnswer<Value: Decodable & Sendable>: Decodable, Sendable {
  var data: Value?
  var errors: [GraphQLError]?
}

struct GraphQLError: Decodable, Sendable, Error, CustomStringConvertible {
  var message: String
  /// The path of field names and list indexes.
  var path: [JSONValue]?
  var extensions: JSONValue?

  var description: String {
    let place = (path ?? []).map { $0.string ?? $0.int.map { "\($0)" } ?? "?" }.joined(separator: ".")
    let code = extensions?["code"].string
    return message + (place.isEmpty ? "" : " at \(place)") + (code.map { " (\($0))" } ?? "")
  }
}

struct GraphQLFailure: Error {
  var errors: [GraphQLError]
}

struct GraphQLClient: Sendable {
  var url: URL
  var http: HTTPClient

  /// Sends a query; throws if the response has no data.
  ///
  /// With data, the errors concern individual fields.
  func query<Value: Decodable & Sendable>(
    _ query: String, variables: JSONValue, as type: Value.Type
  ) async throws -> (data: Value, errors: [GraphQLError]) {
    // A query changes nothing, so the POST may be retried.
    let answer = try await http.post(
      RequestTarget(url), body: .json(["query": .string(query), "variables": variables]),
      options: .retry(.backoff(attempts: 3)).isIdempotent(), as: GraphQLAnswer<Value>.self)
    guard let data = answer.data else { throw GraphQLFailure(errors: answer.errors ?? []) }
    return (data, answer.errors ?? [])
  }
}

struct CountryData: Decodable, Sendable {
  struct Country: Decodable, Sendable {
    var name: String
    var capital: String?
    var languages: [Language]
  }
  struct Language: Decodable, Sendable { var name: String }
  var country: Country?
}

@main enum GraphQL {
  static func main() async throws {
    let code = CommandLine.arguments.dropFirst().first ?? "CH"
    let address = ProcessInfo.processInfo.environment["GRAPHQL_URL"] ?? "https://countries.trevorblades.com/"
    guard let url = URL(string: address) else {
      fail("GRAPHQL_URL is not a URL", code: 64)
    }
    let graph = GraphQLClient(url: url, http: HTTPClient { $0.headers["Accept"] = "application/json" })
    do {
      let (data, errors) = try await graph.query(
        "query($code: ID!) { country(code: $code) { name capital languages { name } } }",
        variables: ["code": .string(code)], as: CountryData.self)
      for error in errors { note("warning: \(error)") }
      guard let country = data.country else {
        fail("there is no country '\(code)'", code: 1)
      }
      print(country.name, country.capital ?? "no capital", separator: "\t")
      print(country.languages.map(\.name).joined(separator: ", "))
    } catch let failure as GraphQLFailure {
      for error in failure.errors { note("error: \(error)") }
      fail("the response has no data", code: 1)
    } catch let error as HTTPError {
      // Some servers respond with 400 and the same JSON.
      let answer = error.decoded(as: GraphQLAnswer<JSONValue>.self)
      fail(answer?.errors?.map(\.description).joined(separator: "\n") ?? error.description, code: 1)
    }
  }

  static func note(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }

  static func fail(_ message: String, code: Int32) -> Never {
    note(message)
    exit(code)
  }
}
