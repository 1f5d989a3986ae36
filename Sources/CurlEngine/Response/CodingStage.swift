import MartletBase

/// Decodes one content coding of a body.
///
/// ```
///   empty ──first byte──▶ inside ──end of the stream──▶ ended ──no stream──▶ ignoring
///                           ▲                             │
///                           └──────── another one ────────┘
/// ```
///
/// Coded bytes are read in place. Only bytes that cannot be decoded yet are copied and wait here.
final class CodingStage {
  typealias Problem = ResponseHeadReader.Problem

  /// The output buffer of a step, which grows as needed.
  final class Scratch {
    private var memory: UnsafeMutableBufferPointer<UInt8>?

    deinit { memory?.deallocate() }

    func room(for count: Int) -> UnsafeMutableBufferPointer<UInt8> {
      if let memory, memory.count >= count { return memory }
      memory?.deallocate()
      let made = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count)
      memory = made
      return made
    }
  }

  private enum State { case empty, inside, ended, ignoring }

  private static let smallestStep = 1 << 10
  /// The maximum number of consecutive coded bytes without output, such as empty gzip members.
  static let maximumBarrenBytes = 1 << 20

  private let coding: ContentCoding
  private var decoder: UnsafeMutableRawPointer?
  private var state = State.empty
  private var lent: UnsafeBufferPointer<UInt8>?
  private var kept = Data()
  private var offset = 0
  /// Whether the last step ended because the output buffer was full.
  private var wasFull = false
  /// The number of bytes consumed since the last output.
  private var barren = 0
  private(set) var made: Int64 = 0

  init(_ coding: ContentCoding) { self.coding = coding }

  deinit { if let decoder { coding.free(decoder) } }

  /// Whether the coded stream has ended; an empty body counts as not coded.
  var isWhole: Bool { state != .inside }

  private var rest: Int { (lent?.count ?? kept.count) - offset }

  // MARK: Coded bytes, only to be given when there are none left

  func lend(_ bytes: UnsafeBufferPointer<UInt8>) {
    kept = Data()
    lent = bytes
    offset = 0
  }

  /// Copies the unconsumed lent bytes before their memory becomes invalid.
  func takeBack() {
    guard let lent = lent.take() else { return }
    kept = Data(lent[offset...])
    offset = 0
  }

  func keep(_ bytes: Data) {
    kept = bytes
    offset = 0
  }

  private func withRest<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let lent { return body(UnsafeBufferPointer(rebasing: lent[offset...])) }
    return kept.withUnsafeBytes { body(UnsafeBufferPointer(rebasing: $0.bindMemory(to: UInt8.self)[offset...])) }
  }

  // MARK: Decoding

  /// Decodes up to one step; returns `nil` without output.
  func decode(_ scratch: Scratch) throws(Problem) -> Data? {
    while rest > 0 || wasFull {
      guard let decoder = try open() else {
        try count(taken: rest, made: 0)
        return nil
      }
      if let piece = try step(decoder, scratch) { return piece }
    }
    return nil
  }

  /// The decoder of the stream that the rest belongs to, or `nil`.
  private func open() throws(Problem) -> UnsafeMutableRawPointer? {
    if state == .inside { return decoder }
    let first = withRest { $0.first } ?? 0
    switch state {
    case .inside, .ignoring: return nil
    case .empty:
      guard coding.mayBegin(with: first) else { throw corrupt }
      guard let made = coding.makeDecoder(for: first) else {
        throw Problem(message: "not enough memory to decode the body")
      }
      decoder = made
    case .ended:
      switch coding.sequel(first) {
      case .stream: guard let decoder, coding.restart(decoder) else { throw corrupt }
      case .ignored:
        state = .ignoring
        return nil
      case .illegal: throw Problem(message: "the encoded body continues after its end (\(coding.name))")
      }
    }
    state = .inside
    return decoder
  }

  private func step(_ decoder: UnsafeMutableRawPointer, _ scratch: Scratch) throws(Problem) -> Data? {
    let rest = rest
    // Most texts shrink to a quarter or less, but many are small.
    let wanted = min(max(rest, Self.smallestStep / 4), ContentDecoder.stepSize / 4) * 4
    let output = scratch.room(for: wasFull ? ContentDecoder.stepSize : wanted)
    guard let target = output.baseAddress else { throw corrupt }
    var taken = rest
    var count = output.count
    let outcome = withRest { coding.decode(decoder, $0.baseAddress ?? UnsafePointer(target), &taken, target, &count) }
    switch outcome {
    case .ended: state = .ended
    // A decoder that neither consumes nor produces anything would never finish.
    case .more: guard taken > 0 || count > 0 || rest == 0 else { throw corrupt }
    case .corrupt: throw corrupt
    case .windowTooLarge: throw Problem(message: "the encoded body needs a window larger than 8 MiB (\(coding.name))")
    }
    try self.count(taken: taken, made: count)
    wasFull = outcome == .more && count == output.count
    return count > 0 ? Data(bytes: target, count: count) : nil
  }

  private func count(taken: Int, made count: Int) throws(Problem) {
    offset += taken
    made += Int64(count)
    barren = count > 0 ? 0 : barren + taken
    guard barren <= Self.maximumBarrenBytes else {
      throw Problem(message: "the encoded body exceeds the limit of 1 MiB without content (\(coding.name))")
    }
  }

  private var corrupt: Problem { Problem(message: "the encoded body is corrupt (\(coding.name))") }
}
