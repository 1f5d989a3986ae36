import Foundation
import HTTPTypes
import OpenAPIRuntime

/// A client in the shape of those that Swift OpenAPI Generator generates, written by hand.
struct PetsClient: Sendable {
  struct Pet: Codable, Hashable {
    var name: String
  }

  enum GetPetOutput {
    case ok(Pet, HTTPFields)
    case notFound(Data)
    case undocumented(statusCode: Int, HTTPFields, HTTPBody?)
  }

  struct Part {
    var name: String
    var filename: String?
    var body: HTTPBody
  }

  struct Unexpected: Error {}

  let serverURL: URL
  let transport: any ClientTransport

  /// `GET /pets/{id}`.
  func getPet(id: String, tags: [String] = []) async throws -> GetPetOutput {
    try await send("getPet") {
      let query = tags.map { "tag=\(Self.escaped($0))" }.joined(separator: "&")
      var request = Self.request(.get, "/pets/\(Self.escaped(id))" + (query.isEmpty ? "" : "?\(query)"))
      request.headerFields[.accept] = "application/json"
      return (request, nil)
    } deserializer: { response, body in
      switch response.status.code {
      case 200:
        let pet = try JSONDecoder().decode(Pet.self, from: await Self.bytes(body))
        return .ok(pet, response.headerFields)
      case 404: return .notFound(try await Self.bytes(body))
      default: return .undocumented(statusCode: response.status.code, response.headerFields, body)
      }
    }
  }

  /// `POST /pets`.
  func createPet(_ pet: Pet) async throws -> Pet {
    try await send("createPet") {
      var request = Self.request(.post, "/pets")
      request.headerFields[.contentType] = "application/json; charset=utf-8"
      let json = try JSONEncoder().encode(pet)
      request.headerFields[.contentLength] = "\(json.count)"
      return (request, HTTPBody(json))
    } deserializer: { response, body in
      guard response.status.code == 201 else { throw Unexpected() }
      return try JSONDecoder().decode(Pet.self, from: await Self.bytes(body))
    }
  }

  /// `GET /export`.
  func export() async throws -> HTTPBody? {
    try await send("export") {
      (Self.request(.get, "/export"), nil)
    } deserializer: {
      $1
    }
  }

  /// `PUT /import`.
  func `import`(_ pets: HTTPBody) async throws -> (status: Int, body: HTTPBody?) {
    try await send("import") {
      var request = Self.request(.put, "/import")
      request.headerFields[.contentType] = "application/jsonl"
      return (request, pets)
    } deserializer: {
      ($0.status.code, $1)
    }
  }

  /// `POST /pets/{id}/photos`.
  func uploadPhotos(id: String, _ parts: [Part], boundary: String) async throws -> Int {
    try await send("uploadPhotos") {
      var request = Self.request(.post, "/pets/\(Self.escaped(id))/photos")
      request.headerFields[.contentType] = "multipart/form-data; boundary=\(boundary)"
      let isRepeatable = parts.allSatisfy { $0.body.iterationBehavior == .multiple }
      let chunks = MultipartChunks(parts: parts, boundary: boundary)
      return (request, HTTPBody(chunks, length: .unknown, iterationBehavior: isRepeatable ? .multiple : .single))
    } deserializer: { response, _ in
      response.status.code
    }
  }

  /// `HEAD /pets`.
  func head() async throws -> (HTTPResponse, HTTPBody?) {
    try await send("head") {
      (Self.request(.head, "/pets"), nil)
    } deserializer: {
      ($0, $1)
    }
  }

  private func send<Output>(
    _ operationID: String, serializer: () throws -> (HTTPRequest, HTTPBody?),
    deserializer: (HTTPResponse, HTTPBody?) async throws -> Output
  ) async throws -> Output {
    let (request, body) = try serializer()
    let response = try await transport.send(request, body: body, baseURL: serverURL, operationID: operationID)
    return try await deserializer(response.0, response.1)
  }

  private static func request(_ method: HTTPRequest.Method, _ path: String) -> HTTPRequest {
    HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
  }

  private static func bytes(_ body: HTTPBody?) async throws -> Data {
    guard let body else { return Data() }
    return try await Data(collecting: body, upTo: .max)
  }

  /// Unreserved characters are sent as they are (RFC 3986 §2.3).
  private static func escaped(_ text: String) -> String {
    let unreserved = CharacterSet(charactersIn: "-._~").union(.alphanumerics)
    return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
  }
}

/// The chunks of a multipart body, read from its parts when they are sent.
private struct MultipartChunks: AsyncSequence {
  let parts: [PetsClient.Part]
  let boundary: String

  struct AsyncIterator: AsyncIteratorProtocol {
    let boundary: String
    var parts: ArraySlice<PetsClient.Part>
    var body: HTTPBody.Iterator?
    var isOver = false

    mutating func next() async throws -> ArraySlice<UInt8>? {
      if body != nil {
        if let chunk = try await body?.next() { return chunk }
        body = nil
        return ArraySlice("\r\n".utf8)
      }
      if let part = parts.popFirst() {
        body = part.body.makeAsyncIterator()
        let filename = part.filename.map { "; filename=\"\($0)\"" } ?? ""
        let field = "Content-Disposition: form-data; name=\"\(part.name)\"\(filename)"
        return ArraySlice("--\(boundary)\r\n\(field)\r\n\r\n".utf8)
      }
      defer { isOver = true }
      return isOver ? nil : ArraySlice("--\(boundary)--\r\n".utf8)
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(boundary: boundary, parts: parts[...]) }
}
