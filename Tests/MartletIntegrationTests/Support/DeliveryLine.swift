#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport

  /// How the body of a response is read.
  enum DeliveryReader: CaseIterable {
    /// As a whole.
    case quick
    /// Chunk by chunk.
    case streaming
    /// Chunk by chunk, with a pause after each of the first chunks.
    case sleeping
    /// After a delay, which pauses the transfer of a large body.
    case paused

    /// Sends a request and reads the whole response.
    func read(
      _ request: HTTPRequest, _ client: HTTPClient, _ options: RequestOptions = RequestOptions()
    ) async throws -> DeliveryLine.Answer {
      if self == .quick {
        let response = try await client.send(request, options: options)
        return DeliveryLine.Answer(
          status: response.status.rawValue, numbers: response.headers.values(of: DeliveryLine.field),
          body: response.body)
      }
      return try await client.stream(request, options: options) { response in
        var body = Data()
        if self == .paused { try await Task.sleep(for: .milliseconds(30)) }
        var pieces = 0
        for try await piece in response.body {
          body += piece
          pieces += 1
          if self == .sleeping, pieces < 8 { try await Task.sleep(for: .milliseconds(3)) }
        }
        return DeliveryLine.Answer(
          status: response.status.rawValue, numbers: response.headers.values(of: DeliveryLine.field), body: body)
      }
    }
  }

  /// How a line's client reaches its server.
  enum DeliveryWay: Sendable {
    case direct
    /// The server is a proxy that responds to requests for http URLs.
    case proxy
    /// The server is a proxy, and the tests cover its responses to CONNECT.
    case tunnel
  }

  /// A dedicated server for sequential requests, each sent after all bytes of the previous response.
  ///
  /// Only then is it certain which request a response belongs to. Bytes that arrive after the next request was sent
  /// cannot be distinguished from its response.
  final class DeliveryLine: Sendable {
    struct Answer: Sendable {
      var status: Int
      var numbers: [String]
      var body: Data
    }

    /// The field that contains the name of the response's request.
    static let field = "X-Number"

    /// The options for valid responses, however busy the machine is.
    static let patient = RequestOptions.timeout(idle: .seconds(50))

    private struct State {
      /// The remaining plans for a request, one for each time it should arrive.
      var plans: [Int: [DeliveryPlan]] = [:]
      var asked: Set<Int> = []
      var repeated = 0
    }

    /// The number of the first request for a valid response.
    static let firstNext = 1 << 40

    private let state: Shared<State>
    private let way: DeliveryWay
    let server: ByteServer

    init(_ way: DeliveryWay = .direct, _ identity: CertificateAuthority.Identity? = nil) throws {
      let state = Shared(State())
      self.way = way
      server = try ByteServer(identity) { number in
        state.withLock { state in
          let isFirst = state.asked.insert(number).inserted
          guard let plan = state.plans[number]?.first else {
            if !isFirst { state.repeated += 1 }
            // On a busy machine, the client may have timed out before the server reads its request.
            return DeliveryPlan(pieces: [], end: .reset)
          }
          state.plans[number]?.removeFirst()
          return plan
        }
      }
      self.state = state
    }

    /// The proxy settings of the line's client.
    var proxy: ProxySettings {
      switch way {
      case .direct: .direct
      case .proxy, .tunnel: .proxy(Proxy(server.url))
      }
    }

    private func target(_ number: Int) -> RequestTarget {
      switch way {
      case .direct: server.url(number)
      case .tunnel where number < Self.firstNext: RequestTarget("https://a.example:\(number)/")
      case .proxy, .tunnel: RequestTarget("http://a.example/\(number)")
      }
    }

    /// The number of requests that arrived more often than planned.
    var repeatedCount: Int { state.withLock { $0.repeated } }

    /// Returns the request's name in its responses, which cannot be guessed.
    static func name(_ number: Int) -> String {
      var generator = SeededGenerator(seed: UInt64(bitPattern: Int64(number)) &+ 0x5EED)
      let text = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }

    /// Adds the name of a request to each head in the bytes.
    static func named(_ bytes: [UInt8], _ number: Int) -> [UInt8] {
      let line = Array("\(field): \(name(number))\r\n".utf8)
      let start = Array("HTTP/1.".utf8)
      var result: [UInt8] = []
      result.reserveCapacity(bytes.count + line.count)
      var isStatusLine = false
      for (index, byte) in bytes.enumerated() {
        if byte == start[0], index == 0 || bytes[index - 1] == 10, bytes[index...].starts(with: start) {
          isStatusLine = true
        }
        result.append(byte)
        if byte == 10, isStatusLine {
          result += line
          isStatusLine = false
        }
      }
      return result
    }

    /// Requests a response and, if `waits`, waits until all of it has been sent.
    ///
    /// `sequel` is the response if the same request is repeated, as after a 407.
    func ask(
      _ number: Int, _ plan: DeliveryPlan, then sequel: DeliveryPlan? = nil, method: HTTPMethod = .get,
      _ reader: DeliveryReader, _ client: HTTPClient, options: RequestOptions = RequestOptions(), waits: Bool = true
    ) async -> Result<Answer, any Error> {
      let ended = Shared(0)
      let plans = ([plan] + (sequel.map { [$0] } ?? [])).map { plan in
        var plan = plan
        plan.onEnd = { ended.withLock { $0 += 1 } }
        return plan
      }
      state.withLock { $0.plans[number] = plans }
      let body: HTTPBody? = method == .post ? .text("body") : nil
      let result = await Result {
        try await reader.read(HTTPRequest(method, target(number), body: body), client, options)
      }
      let left = state.withLock { $0.plans.removeValue(forKey: number)?.count ?? 0 }
      if waits { await ended.wait { $0 >= plans.count - left } }
      return result
    }

    /// Returns a valid response.
    static func good(_ number: Int) -> DeliveryPlan {
      let name = name(number)
      let bytes = Array("HTTP/1.1 200 OK\r\n\(field): \(name)\r\nContent-Length: 16\r\n\r\n\(name)".utf8)
      return DeliveryPlan(pieces: [bytes], end: .keep)
    }

    /// Requests a valid response after a response that ended in a certain way.
    ///
    /// On a busy machine, the client may not know yet that the server has closed the connection.
    ///
    /// - Returns: The problem, or `nil`.
    func askWell(_ number: Int, _ client: HTTPClient, after end: DeliveryPlan.End) async -> String? {
      let name = Self.name(number)
      let options = end == .keep ? Self.patient : Self.patient.retry(.standard)
      switch await ask(number, Self.good(number), .quick, client, options: options) {
      case .success(let answer):
        let isRight = answer.status == 200 && answer.numbers == [name] && answer.body == Data(name.utf8)
        return isRight ? nil : "the next request got \(answer)"
      case .failure(let error): return "the next request failed: \(error)"
      }
    }
  }
#endif
