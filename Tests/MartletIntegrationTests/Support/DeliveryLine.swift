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
      var plans: [Int: DeliveryPlan] = [:]
      var asked: Set<Int> = []
      var repeated = 0
    }

    private let state: Shared<State>
    let server: ByteServer

    init() throws {
      let state = Shared(State())
      server = try ByteServer { number in
        state.withLock { state in
          if !state.asked.insert(number).inserted { state.repeated += 1 }
          // On a busy machine the client may have given up before its request is read.
          return state.plans.removeValue(forKey: number) ?? DeliveryPlan(pieces: [], end: .reset)
        }
      }
      self.state = state
    }

    /// How many requests came more than once.
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

    /// Asks for an answer, and waits until all of it was sent.
    func ask(
      _ number: Int, _ plan: DeliveryPlan, method: HTTPMethod = .get, _ reader: DeliveryReader, _ client: HTTPClient,
      options: RequestOptions = RequestOptions()
    ) async -> Result<Answer, any Error> {
      let isOver = Shared(false)
      var plan = plan
      plan.onEnd = { isOver.withLock { $0 = true } }
      state.withLock { [plan] in $0.plans[number] = plan }
      let body: HTTPBody? = method == .post ? .text("body") : nil
      let result = await Result {
        try await reader.read(HTTPRequest(method, server.url(number), body: body), client, options)
      }
      let wasAsked = state.withLock { $0.plans.removeValue(forKey: number) == nil }
      if wasAsked { await isOver.wait { $0 } }
      return result
    }

    /// Asks for a good answer.
    ///
    /// - Returns: What is wrong with what came, if anything is.
    func askWell(_ number: Int, _ client: HTTPClient) async -> String? {
      let name = Self.name(number)
      let bytes = Array("HTTP/1.1 200 OK\r\n\(Self.field): \(name)\r\nContent-Length: 16\r\n\r\n\(name)".utf8)
      let plan = DeliveryPlan(pieces: [bytes], end: .keep)
      switch await ask(number, plan, .quick, client, options: Self.patient) {
      case .success(let answer):
        let isRight = answer.status == 200 && answer.numbers == [name] && answer.body == Data(name.utf8)
        return isRight ? nil : "the next request got \(answer)"
      case .failure(let error): return "the next request failed: \(error)"
      }
    }
  }
#endif
