#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport

  /// An answer that is sent in a certain way and read in a certain way, and what may come of it.
  struct Delivery: Sendable {
    typealias Check = @Sendable (Result<DeliveryLine.Answer, any Error>) -> String?

    private static let workers = 32
    /// The number of the first request for a good answer.
    private static let firstNext = 1 << 40
    private static let stray = DeliveryLine.named(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTRAY".utf8), -1)

    let name: String
    let number: Int
    let plan: DeliveryPlan
    let reader: DeliveryReader
    let check: Check

    /// The seed of this run, which it shows.
    static func seed(_ name: String) -> UInt64 {
      let seed = Figures.setting("MARTLET_FUZZ_SEED") ?? Int.random(in: 0...Int.max)
      Figures.note("\(name): MARTLET_FUZZ_SEED=\(seed)")
      return UInt64(bitPattern: Int64(seed))
    }

    /// Each of some answers, with a pause at each of its places; without `MARTLET_STRESS=1` some of that at random.
    ///
    /// - Parameters:
    ///   - answers: Their names, their bytes, and whether a response that nobody has asked for may follow them.
    ///   - seed: What is random in it.
    ///   - check: Says what is wrong with what comes of an answer, if anything is.
    /// - Returns: What to ``run(_:_:)``.
    static func all(
      _ answers: [(name: String, text: String, isFollowed: Bool)], seed: UInt64,
      check: @escaping @Sendable (_ name: String, Result<DeliveryLine.Answer, any Error>) -> String?
    ) -> [Delivery] {
      var generator = SeededGenerator(seed: seed)
      var all: [Delivery] = []
      for answer in answers {
        let bytes = Array(answer.text.utf8)
        let named = { (number: Int) in DeliveryLine.named(bytes, number) }
        func add(_ plan: (Int) -> DeliveryPlan) {
          let number = all.count
          let reader = DeliveryReader.allCases[Int.random(in: 0..<4, using: &generator)]
          let delivery = Delivery(name: answer.name, number: number, plan: plan(number), reader: reader) {
            check(answer.name, $0)
          }
          all.append(delivery)
        }
        if Stress.isOn {
          for pause in DeliveryPlan.pauses {
            for index in DeliveryPlan.all(named(0), pause: pause, end: .close).indices {
              add { DeliveryPlan.all(named($0), pause: pause, end: .close)[index] }
            }
          }
        } else {
          add { DeliveryPlan.random(named($0), end: .close, using: &generator) }
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

    /// Carries them out, side by side; after each of them a request for a good answer follows.
    ///
    /// - Returns: What was wrong.
    static func run(_ deliveries: [Delivery], _ client: HTTPClient) async throws -> [String] {
      let lines = try (0..<min(workers, deliveries.count)).map { _ in try DeliveryLine() }
      defer { for line in lines { line.server.stop() } }
      let next = Shared(0)
      let wrong = Shared<[String]>([])
      await withTaskGroup(of: Void.self) { group in
        for line in lines {
          group.addTask {
            while true {
              let index = next.withLock { next in
                defer { next += 1 }
                return next
              }
              guard index < deliveries.count else { return }
              let delivery = deliveries[index]
              var problems = await delivery.meet(line, client)
              if let problem = await line.askWell(firstNext + index, client) { problems.append(problem) }
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
      let result = await line.ask(number, plan, reader, client)
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
