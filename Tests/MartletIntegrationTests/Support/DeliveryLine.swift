#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport

  /// How the body of an answer is read.
  enum DeliveryReader: CaseIterable {
    /// As a whole.
    case quick
    /// Piece by piece.
    case streaming
    /// Piece by piece, with a pause after each of the first ones.
    case sleeping
    /// Not at all for a while, so that the transfer is paused if there is much.
    case paused

    /// Sends a request and reads the answer to its end.
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
    /// The server is a proxy, and answers for http URLs.
    case proxy
    /// The server is a proxy, and what is tried are its answers to CONNECT.
    case tunnel
  }

  /// A server of its own for requests that are made one after the other, each after all bytes of the answer before it.
  ///
  /// Only then it is sure which request an answer belongs to: what comes on a connection after the next request was sent is
  /// that one's answer, for all that anybody can tell.
  final class DeliveryLine: Sendable {
    struct Answer: Sendable {
      var status: Int
      var numbers: [String]
      var body: Data
    }

    /// The field in which an answer carries the name of its request.
    static let field = "X-Number"

    /// For what is right, however busy the machine is.
    static let patient = RequestOptions.timeout(idle: .seconds(50))

    private struct State {
      /// What is left of the plans for a request: one for each time that it is to come.
      var plans: [Int: [DeliveryPlan]] = [:]
      var asked: Set<Int> = []
      var repeated = 0
    }

    /// The number of the first request for a good answer.
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
            // On a busy machine the client may have given up before its request is read.
            return DeliveryPlan(pieces: [], end: .reset)
          }
          state.plans[number]?.removeFirst()
          return plan
        }
      }
      self.state = state
    }

    /// What the line's client has for a proxy.
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

    /// How many requests came more often than they were to.
    var repeatedCount: Int { state.withLock { $0.repeated } }

    /// The name of a request in its answers, which nobody guesses.
    static func name(_ number: Int) -> String {
      var generator = SeededGenerator(seed: UInt64(bitPattern: Int64(number)) &+ 0x5EED)
      let text = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }

    /// Adds the name of a request to each head in some bytes.
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

    /// Asks for an answer, and if `waits`, waits until all of it was sent.
    ///
    /// The sequel is the answer to the same request if it comes once more, as it does after a 407.
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

    /// A good answer.
    static func good(_ number: Int) -> DeliveryPlan {
      let name = name(number)
      let bytes = Array("HTTP/1.1 200 OK\r\n\(field): \(name)\r\nContent-Length: 16\r\n\r\n\(name)".utf8)
      return DeliveryPlan(pieces: [bytes], end: .keep)
    }

    /// Asks for a good answer, after an answer that has ended in some way.
    ///
    /// Of a connection that the server has closed a busy machine may not have told the client yet.
    ///
    /// - Returns: What is wrong with what came, if anything is.
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
