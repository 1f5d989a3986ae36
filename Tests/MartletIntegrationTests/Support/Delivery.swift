#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport

  /// A response that is sent and read in a certain way, and its expected result.
  struct Delivery: Sendable {
    typealias Check = @Sendable (Result<DeliveryLine.Answer, any Error>) -> String?

    private static let workers = 32
    private static let stray = DeliveryLine.named(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTRAY".utf8), -1)

    let name: String
    let number: Int
    let plan: DeliveryPlan
    /// The response if the request is repeated.
    let sequel: DeliveryPlan?
    let reader: DeliveryReader
    let check: Check

    /// Returns the seed of this run and records it.
    static func seed(_ name: String) -> UInt64 {
      let seed = Figures.setting("MARTLET_FUZZ_SEED") ?? Int.random(in: 0...Int.max)
      Figures.record("\(name): MARTLET_FUZZ_SEED=\(seed)")
      return UInt64(bitPattern: Int64(seed))
    }

    /// A response: its name, its bytes, and whether an unrequested response may follow them.
    typealias Answer = (name: String, bytes: [UInt8], isFollowed: Bool)

    /// Returns deliveries of each response with a pause at each position; a random selection without
    /// `MARTLET_STRESS=1`.
    ///
    /// - Parameters:
    ///   - answers: The responses.
    ///   - seed: The seed of the random choices.
    ///   - end: The state of the connection after a response.
    ///   - isAskedTwice: Whether the request is repeated and then gets a valid response.
    ///   - name: Inserts a request's name into a response.
    ///   - check: Returns what is wrong with the result of a response, or `nil`.
    /// - Returns: The deliveries for ``run(_:_:)``.
    static func all(
      _ answers: [Answer], seed: UInt64, end: DeliveryPlan.End = .close, isAskedTwice: Bool = false,
      name: @escaping ([UInt8], Int) -> [UInt8] = DeliveryLine.named,
      check: @escaping @Sendable (_ name: String, Result<DeliveryLine.Answer, any Error>) -> String?
    ) -> [Delivery] {
      var generator = SeededGenerator(seed: seed)
      var all: [Delivery] = []
      for answer in answers {
        let named = { (number: Int) in name(answer.bytes, number) }
        func add(_ plan: (Int) -> DeliveryPlan) {
          // In a tunnel request, a proxy sees only the port, so the number must be a port.
          let number = all.count + 1
          let reader = DeliveryReader.allCases[Int.random(in: 0..<4, using: &generator)]
          all.append(
            Delivery(
              name: answer.name, number: number, plan: plan(number),
              sequel: isAskedTwice ? DeliveryLine.good(number) : nil, reader: reader
            ) { check(answer.name, $0) })
        }
        if Stress.isOn {
          for pause in DeliveryPlan.pauses {
            for index in DeliveryPlan.all(named(0), pause: pause, end: end).indices {
              add { DeliveryPlan.all(named($0), pause: pause, end: end)[index] }
            }
          }
        } else {
          add { DeliveryPlan.random(named($0), end: end, using: &generator) }
        }
        guard answer.isFollowed else { continue }
        for pause in Stress.isOn ? DeliveryPlan.pauses : DeliveryPlan.pauses.suffix(1) {
          add {
            DeliveryPlan.random(named($0), end: .keep, using: &generator).followed(by: stray, after: pause)
          }
        }
      }
      return all
    }

    /// Runs the deliveries concurrently, each followed by a request for a valid response.
    ///
    /// - Returns: The problems.
    static func run(_ deliveries: [Delivery], _ client: HTTPClient) async throws -> [String] {
      try await run(deliveries, on: { try DeliveryLine() }, with: { _ in client })
    }

    /// Runs the deliveries on other lines, each with its own client.
    static func run(
      _ deliveries: [Delivery], on makeLine: () throws -> DeliveryLine, with makeClient: (DeliveryLine) -> HTTPClient
    ) async throws -> [String] {
      let lines = try (0..<min(workers, deliveries.count)).map { _ in try makeLine() }
      defer { for line in lines { line.server.stop() } }
      let next = Shared(0)
      let wrong = Shared<[String]>([])
      await withTaskGroup(of: Void.self) { group in
        for line in lines {
          let client = makeClient(line)
          group.addTask {
            while true {
              let index = next.withLock { next in
                defer { next += 1 }
                return next
              }
              guard index < deliveries.count else { return }
              let delivery = deliveries[index]
              var problems = await delivery.meet(line, client)
              let end = (delivery.sequel ?? delivery.plan).end
              let next = DeliveryLine.firstNext + index
              if let problem = await line.askWell(next, client, after: end) { problems.append(problem) }
              for problem in problems {
                wrong.withLock { [description = delivery.plan.description] in
                  $0.append("\(delivery.name), \(delivery.reader): \(problem): \(description.prefix(2000))")
                }
              }
            }
          }
        }
      }
      if lines.contains(where: { $0.repeatedCount > 0 }) { wrong.withLock { $0.append("a request was sent twice") } }
      return wrong.value
    }

    private func meet(_ line: DeliveryLine, _ client: HTTPClient) async -> [String] {
      let result = await line.ask(number, plan, then: sequel, reader, client)
      var problems = [check(result)].compactMap { $0 }
      switch result {
      case .success(let answer):
        if answer.numbers != [DeliveryLine.name(number)] { problems.append("the answer to another: \(answer)") }
      case .failure(let error):
        if !(error is HTTPError) { problems.append("not an error of ours: \(error)") }
      }
      return problems
    }
  }
#endif
