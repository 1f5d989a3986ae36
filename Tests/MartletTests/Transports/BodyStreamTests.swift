import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletBase

@Suite(.hangLimit) struct BodyStreamTests {
  struct Broken: Error, Equatable {}

  private static func stream(_ pieces: String..., ending: Bool = true) -> BodyStream {
    let stream = BodyStream(from: ClosureSource())
    for piece in pieces { stream.append(Data(piece.utf8)) }
    if ending { stream.finish() }
    return stream
  }

  /// Returns a stream and whether it is being collected.
  private static func collected(onLeft: @escaping @Sendable () -> Void = {}) -> (BodyStream, Shared<Bool>) {
    let isCollecting = Shared(false)
    return (
      BodyStream(from: ClosureSource(onRoom: { isCollecting.withLock { $0 = true } }, onLeft: onLeft)), isCollecting
    )
  }

  // MARK: Reading

  @Test func `returns buffered bytes in one chunk, then the end`() async throws {
    let stream = Self.stream("ab", "c")

    let first = try await stream.next()
    let second = try await stream.next()
    let third = try await stream.next()

    #expect(first == Data("abc".utf8))
    #expect(second == nil)
    #expect(third == nil)
  }

  private static let trailers = ReceivedFields(
    Array("X-Sum1".utf8), [ReceivedFields.FieldRange(nameStart: 0, nameEnd: 5, valueStart: 5, valueEnd: 6)])

  @Test func `trailers are available after the body is read to its end`() async throws {
    let stream = Self.stream("ab", ending: false)
    stream.trailers = Self.trailers
    #expect(stream.trailers == nil)
    stream.finish()

    #expect(stream.trailers == nil)
    _ = try await stream.next()
    #expect(stream.trailers === Self.trailers)

    let broken = Self.stream(ending: false)
    broken.trailers = Self.trailers
    broken.abort(Broken())
    #expect(broken.trailers == nil)
  }

  @Test func `returns buffered bytes before the error`() async throws {
    let stream = Self.stream("ab", ending: false)
    stream.finish(throwing: Broken())

    let first = try await stream.next()

    #expect(first == Data("ab".utf8))
    await #expect(throws: Broken()) { try await stream.next() }
    await #expect(throws: Broken()) { try await stream.next() }
  }

  @Test func `ignores empty chunks and chunks after the end`() async throws {
    let stream = Self.stream("", "x", "")
    let late = stream.append(Data("y".utf8))
    stream.finish(throwing: Broken())

    let (whole, isWhole) = try await stream.collect(upTo: 10)

    #expect(late == nil)
    #expect(whole == Data("x".utf8))
    #expect(isWhole)
  }

  @Test func `aborting discards buffered bytes`() async {
    let stream = Self.stream("ab", ending: false)

    stream.abort(Broken())

    await #expect(throws: Broken()) { try await stream.next() }
    #expect(stream.append(Data("c".utf8)) == nil)
  }

  @Test func `aborting after the end keeps the buffered bytes`() async throws {
    let stream = Self.stream("ab")

    stream.abort(Broken())

    #expect(try await stream.next() == Data("ab".utf8))
  }

  @Test func `append returns the number of unread bytes`() async throws {
    let stream = BodyStream(from: ClosureSource())

    let first = stream.append(Data(count: 3))
    let second = stream.append(Data(count: 4))
    _ = try await stream.next()
    let third = stream.append(Data(count: 5))

    #expect([first, second, third] == [3, 7, 5])
  }

  @Test func `a concurrent second reader gets an error, and the first gets all bytes`() async throws {
    let (stream, isCollecting) = Self.collected()
    let first = Task { try await stream.collect(upTo: 10) }
    await isCollecting.wait { $0 }
    stream.append(Data("a".utf8))

    await #expect(throws: BodyStream.HasReader.self) { try await stream.next() }
    await #expect(throws: BodyStream.HasReader.self) { try await stream.collect(upTo: 10) }
    stream.finish()
    let (whole, isWhole) = try await first.value

    #expect(isWhole)
    #expect(whole == Data("a".utf8))
  }

  // MARK: Collecting

  @Test(arguments: [(0, 0), (0, 1), (5, 4), (5, 5), (5, 6)])
  func `collects no more bytes than its limit`(count: Int, limit: Int) async throws {
    let abandoned = Log<Int>()
    let stream = BodyStream(from: ClosureSource(onLeft: { abandoned.add(1) }))
    stream.append(Data(repeating: 1, count: count))
    if count <= limit { stream.finish() }

    let (data, isWhole) = try await stream.collect(upTo: limit)

    #expect(data.count == min(count, limit))
    #expect(isWhole == (count <= limit))
    #expect(abandoned.elements.count == (isWhole ? 0 : 1))
  }

  @Test func `stops collecting as soon as the limit is exceeded`() async throws {
    let abandoned = Log<Int>()
    let (stream, isCollecting) = Self.collected(onLeft: { abandoned.add(1) })
    let collecting = Task { try await stream.collect(upTo: 4) }
    await isCollecting.wait { $0 }

    for count in [0, 0, 1] {
      stream.append(Data("ab".utf8))
      #expect(abandoned.count == count)
    }

    let (data, isWhole) = try await collecting.value
    #expect(data == Data("abab".utf8))
    #expect(!isWhole)
    #expect(stream.append(Data("x".utf8)) == nil)
  }

  @Test(arguments: [false, true]) func `reading after a truncated collection is an error instead of the end`(
    isEnding: Bool
  ) async throws {
    let stream = Self.stream("abcdef", ending: isEnding)
    let (beginning, isWhole) = try await stream.collect(upTo: 3)
    #expect(beginning == Data("abc".utf8) && !isWhole)

    await #expect(throws: CancellationError.self) { try await stream.next() }
    stream.finish()
    await #expect(throws: CancellationError.self) { try await stream.collect(upTo: 100) }
  }

  @Test func `a huge announced length allocates no memory`() async throws {
    let isCollecting = Shared(false)
    let stream = BodyStream(
      expecting: .max, from: ClosureSource(onRoom: { isCollecting.withLock { $0 = true } }))
    let collecting = Task { try await stream.collect(upTo: .max) }
    await isCollecting.wait { $0 }
    for _ in 0..<3 { stream.append(Data(count: 1 << 20)) }
    stream.finish()

    let (whole, isWhole) = try await collecting.value

    #expect(whole.count == 3 << 20 && isWhole)
  }

  @Test func `a body whose announced length is too large is not read`() async throws {
    let left = Log<Int>()
    let stream = BodyStream(expecting: 11, from: ClosureSource(onLeft: { left.add(1) }))

    let error = await #expect(throws: HTTPError.self) { try await ResponseBody(stream).collect(upTo: 10) }

    #expect(error?.kind == .bodyTooLarge)
    #expect(left.count == 1)
  }

  @Test func `collecting throws the body's error`() async {
    let stream = Self.stream("ab", ending: false)
    stream.finish(throwing: Broken())

    await #expect(throws: Broken()) { try await stream.collect(upTo: 100) }
  }

  // MARK: Draining and abandoning

  @Test func `notifies the source of room after each chunk read`() async throws {
    let drains = Log<Int>()
    let stream = BodyStream(from: ClosureSource(onRoom: { drains.add(1) }))
    stream.append(Data("ab".utf8))
    stream.append(Data("c".utf8))

    _ = try await stream.next()
    let afterFirst = drains.elements.count
    stream.append(Data("d".utf8))
    _ = try await stream.next()

    #expect(afterFirst == 1)
    #expect(drains.elements.count == 2)
  }

  @Test func `a collecting reader causes no backpressure`() async throws {
    let drains = Log<Int>()
    let stream = BodyStream(from: ClosureSource(onRoom: { drains.add(1) }))
    let before = stream.append(Data(count: 1000))
    let collecting = Task { try await stream.collect(upTo: 10_000) }
    await drains.wait(for: 1)

    let during = stream.append(Data(count: 1000))
    stream.finish()

    #expect(before == 1000)
    #expect(during == 0)
    #expect(try await collecting.value.data.count == 2000)
  }

  @Test func `abandoning notifies the source once, and never after the end`() {
    let abandoned = Log<String>()
    let open = BodyStream(from: ClosureSource(onLeft: { abandoned.add("open") }))
    let ended = BodyStream(from: ClosureSource(onLeft: { abandoned.add("ended") }))
    ended.finish()

    open.abandon()
    open.abandon()
    open.finish()
    ended.abandon()

    #expect(abandoned.elements == ["open"])
    #expect(open.append(Data("x".utf8)) == nil)
  }

  @Test func `abandoning resumes a waiting reader with an error`() async {
    let stream = BodyStream(from: ClosureSource())
    let reading = await startUntilFirstWait { try await stream.next() }

    stream.abandon()

    await #expect(throws: CancellationError.self) { try await reading.value }
  }

  // MARK: Random interleavings

  /// The ways to end a stream, in random order and from several tasks.
  enum Ending: CaseIterable, Sendable { case finish, fail, abort, abandon }

  @Test(arguments: 0..<10) func `random interleavings lose and repeat no bytes`(block: Int) async {
    for seed in (block * 1000)..<(block * 1000 + Stress.count(200, full: 1000)) {
      if let problem = await round(UInt64(seed)) {
        Issue.record("seed \(seed): \(problem)")
        return
      }
    }
  }

  private func round(_ seed: UInt64) async -> String? {
    var generator = SeededGenerator(seed: seed)
    let abandoned = Log<Int>()
    let stream = BodyStream(from: ClosureSource(onLeft: { abandoned.add(1) }))
    var sizes: [Int] = []
    for _ in 0..<Int.random(in: 0...6, using: &generator) { sizes.append(Int.random(in: 0...5, using: &generator)) }
    let pieces = Self.numbered(sizes)
    let whole = pieces.reduce(into: Data()) { $0.append($1) }
    let endings = Ending.allCases.shuffled(using: &generator).prefix(Int.random(in: 1...2, using: &generator))
    let limit = Bool.random(using: &generator) ? Int.random(in: 0...20, using: &generator) : nil
    let isLate = Bool.random(using: &generator)
    let isParallel = Bool.random(using: &generator)

    let reading = isLate ? nil : Self.reader(stream, limit)
    let writing = Self.writer(stream, pieces, isParallel ? [] : Array(endings))
    if isParallel { for ending in endings { Self.end(stream, ending) } }
    await writing.value
    stream.finish()
    let outcome = await (reading ?? Self.reader(stream, limit)).value
    let (data, isWhole, error) = (outcome.data, outcome.isWhole, outcome.error)

    if abandoned.elements.count > 1 { return "abandoned \(abandoned.elements.count) times" }
    if !whole.starts(with: data) { return "out of order: \([UInt8](data)) of \([UInt8](whole))" }
    if let limit, data.count > limit { return "more than the limit" }
    let isEndedEarly = isParallel || endings.first != .finish
    if isWhole, data != whole, !isEndedEarly { return "an end after \(data.count) of \(whole.count)" }
    if isWhole, data != whole, !endings.contains(.finish) { return "an end that nobody made" }
    if !isWhole, error == nil, limit == nil { return "neither an end nor an error" }
    return nil
  }

  private static func numbered(_ sizes: [Int]) -> [Data] {
    var next = UInt8(0)
    return sizes.map { size in
      defer { next += UInt8(size) }
      return Data((0..<size).map { next + UInt8($0) })
    }
  }

  private static func end(_ stream: BodyStream, _ ending: Ending) {
    switch ending {
    case .finish: stream.finish()
    case .fail: stream.finish(throwing: Broken())
    case .abort: stream.abort(Broken())
    case .abandon: stream.abandon()
    }
  }

  struct Outcome: Sendable {
    var data = Data()
    var isWhole = false
    var error: (any Error)?
  }

  private static func writer(_ stream: BodyStream, _ pieces: [Data], _ endings: [Ending]) -> Task<Void, Never> {
    Task {
      for piece in pieces { stream.append(piece) }
      for ending in endings { end(stream, ending) }
    }
  }

  private static func reader(_ stream: BodyStream, _ limit: Int?) -> Task<Outcome, Never> {
    Task { await read(stream, limit) }
  }

  private static func read(_ stream: BodyStream, _ limit: Int?) async -> Outcome {
    var outcome = Outcome()
    do {
      if let limit {
        (outcome.data, outcome.isWhole) = try await stream.collect(upTo: limit)
        return outcome
      }
      while let piece = try await stream.next() { outcome.data.append(piece) }
      outcome.isWhole = true
    } catch {
      outcome.error = error
    }
    return outcome
  }
}
