#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Requests many sequences of frames, several at a time, in a separate process.
  final class FrameRun: Sendable {
    static let workers = 32
    /// The number of clients that one worker uses exclusively, so their connections carry one stream at a time.
    private static let aloneCount = 20
    /// The number of the first request for a valid response.
    private static let firstNext = 1 << 40

    /// The parameters that the parent passes to its child.
    struct Order: Codable {
      var lane: Lane
      var seed: UInt64
      var count: Int
      /// The server that sends sequences, and two servers that send only valid responses: one with GOAWAY, one without.
      var hostile: String
      var ending: String
      var healthy: String
      /// The root certificate of the servers.
      var root: URL
      /// The path of the file that lists the sequences in progress.
      var journal: String
    }

    private struct Tally: Sendable {
      var next = 0
      var ends: [String: Int] = [:]
      var wrong: [String] = []
      var slowest = Duration.zero
    }

    private let task: Order
    private let tally = Shared(Tally())

    init(_ task: Order) { self.task = task }

    func run() async throws {
      let journal = open(task.journal, O_WRONLY | O_CLOEXEC)
      defer { close(journal) }
      let start = ContinuousClock.now
      let memory = ProcessFacts.residentBytes
      let shared = (0..<3).map { _ in client() }
      await withTaskGroup(of: Void.self) { group in
        for worker in 0..<Self.workers {
          let isAlone = worker < Self.aloneCount
          let client = isAlone ? client() : shared[worker % shared.count]
          group.addTask { [self] in
            while let number = takeNumber() {
              var entry = Int64(number)
              pwrite(journal, &entry, 8, off_t(worker * 8))
              await meet(number, client, isAlone: isAlone)
            }
          }
        }
      }
      let tally = tally.withLock { $0 }
      let ends = tally.ends.sorted { $0.value > $1.value }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
      let peak = ProcessFacts.peakBytes
      Figures.record(
        "frames \(task.lane): \(task.count) sequences in \((ContinuousClock.now - start) / .seconds(1)) s: \(ends); "
          + "slowest \(Figures.milliseconds(tally.slowest)), peak \(peak >> 10) KiB")
      for wrong in tally.wrong.prefix(10) { Issue.record("\(wrong)") }
      #expect(tally.wrong.isEmpty)
      #expect(!Stress.isOn || isSanitized || tally.slowest < .seconds(15))
      #expect(isSanitized || peak - memory < 256 << 20)
    }

    private func client() -> HTTPClient {
      task.lane.client { [root = task.root] in
        $0.tls = .customRoots(pem: root)
        $0.timeout = TimeoutPolicy(connect: .seconds(20), idle: .milliseconds(400), total: .seconds(20))
        $0.options.maximumBodyBytes = 1 << 20
      }
    }

    private func takeNumber() -> Int? {
      tally.withLock { [count = task.count] tally in
        guard tally.next < count else { return nil }
        defer { tally.next += 1 }
        return tally.next
      }
    }

    private func meet(_ number: Int, _ client: HTTPClient, isAlone: Bool) async {
      let sequence = FrameSequence(seed: task.seed, number: number)
      var wrong: [String] = []
      let start = ContinuousClock.now
      let url =
        if !sequence.isRight { task.hostile } else if sequence.endsConnection { task.ending } else { task.healthy }
      let result = await ask(url, number, sequence, client)
      let elapsed = ContinuousClock.now - start
      var end = "responses"
      switch result {
      case .success(let answer): wrong += problems(of: answer, to: sequence, number, isAlone: isAlone)
      case .failure(let error as HTTPError):
        end = "\(error.kind)"
        let kinds: [HTTPError.Kind] = [
          .connectionLost, .protocolViolation, .timedOut, .bodyTooLarge, .tls, .unsupported, .cannotConnect,
        ]
        if !kinds.contains(error.kind) || error.message.isEmpty || error.phase == nil { wrong.append("\(error)") }
        if sequence.isRight { wrong.append("a right answer refused: \(error)") }
      case .failure(let error): wrong.append("not an error of ours: \(error)")
      }
      wrong += await nextProblems(Self.firstNext + 2 * number, client)
      tally.withLock {
        $0.ends[end, default: 0] += 1
        $0.slowest = max($0.slowest, elapsed)
        for wrong in wrong {
          $0.wrong.append("\(wrong), sequence \(number) of seed \(task.seed): \(sequence.description.prefix(3000))")
        }
      }
    }

    private func ask(
      _ url: String, _ number: Int, _ sequence: FrameSequence, _ client: HTTPClient
    ) async -> Result<DeliveryLine.Answer, any Error> {
      let body: HTTPBody? = sequence.method == "POST" ? .text("body") : nil
      let request = HTTPRequest(
        HTTPMethod(sequence.method), HTTP2Server.target(url, number, sequence.path), body: body)
      var options = RequestOptions()
      if sequence.isRight { options.timeout = .unlimited }
      // A request in transit during a GOAWAY was not read and is sent again, like a refused request.
      if sequence.isRight, sequence.endsConnection || sequence.isRefused { options.retry = .standard }
      return await Result { try await sequence.reader.read(request, client, options) }
    }

    private func problems(
      of answer: DeliveryLine.Answer, to sequence: FrameSequence, _ number: Int, isAlone: Bool
    ) -> [String] {
      var wrong: [String] = []
      if answer.numbers != ["\(number)"], !answer.numbers.isEmpty || !sequence.hasBareHead {
        wrong.append("the answer to another: \(answer.numbers)")
      }
      // Other requests' sequences may contain frames for this stream.
      guard isAlone, sequence.hasKnownBody else { return wrong }
      let (body, isEnded) = sequence.body
      let isRight =
        sequence.isRight || sequence.length == nil
        ? isEnded && body == answer.body : body.starts(with: answer.body)
      if !isRight { wrong.append("a body of \(answer.body.count) bytes, not of \(body.count)") }
      if let length = sequence.length, length != answer.body.count {
        wrong.append("a body of \(answer.body.count) bytes, not of \(length) as announced")
      }
      return wrong
    }

    /// Sends the next requests: the same server may have spoiled its connection, but not another server's connection.
    private func nextProblems(_ number: Int, _ client: HTTPClient) async -> [String] {
      var wrong: [String] = []
      do {
        let steps = ["head", "last:next"]
        let next = try await client.get(
          HTTP2Server.target(task.hostile, number, steps), options: .retry(.standard))
        // After a GOAWAY with HTTP_1_1_REQUIRED, the request is sent over HTTP/1.1, which has a different response.
        let text = next.httpVersion == .http2 ? "next" : "one"
        if next.headers.values(of: "x-number") != ["\(number)"] || next.text != text {
          wrong.append("the next request got \(next)")
        }
      } catch {
        if !(error is HTTPError) { wrong.append("not an error of ours: \(error)") }
      }
      do {
        let target = HTTP2Server.target(task.healthy, number + 1, ["head", "last:well"])
        let next = try await client.get(target, options: .timeout(.unlimited))
        if next.headers.values(of: "x-number") != ["\(number + 1)"] || next.text != "well" {
          wrong.append("the healthy server's request got \(next)")
        }
      } catch {
        wrong.append("the healthy server's request failed: \(error)")
      }
      return wrong
    }
  }
#endif
