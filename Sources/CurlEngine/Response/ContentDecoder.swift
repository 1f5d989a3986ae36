import MartletBase

/// Decodes the content codings of a body in steps of bounded size (RFC 9110 §8.4).
///
/// Bytes that cannot be decoded yet, or that exceed a step, wait here.
final class ContentDecoder {
  typealias Problem = ResponseHeadReader.Problem

  static let stepSize = 64 << 10
  static let maximumCodings = 5
  /// The maximum number of decoded bytes per coded byte, in the body so far.
  static let maximumRatio: Int64 = 200
  /// The number of decoded bytes up to which any ratio is allowed.
  static let bytesOfAnyRatio: Int64 = 1 << 20

  private let stages: [CodingStage]
  private let scratch = CodingStage.Scratch()
  private var codedBytes: Int64 = 0
  private var failure: Problem?

  /// Creates a decoder for codings in the order in which they were applied.
  ///
  /// Returns `nil` if one of them is not supported; throws if there are too many.
  init?(_ names: [String], usable: [ContentCoding] = ContentCoding.usable) throws(Problem) {
    if names.isEmpty { return nil }
    let names = names.map { FieldSyntax.lowercased($0) }.filter { $0 != "identity" }
    guard !names.isEmpty, !usable.isEmpty else { return nil }
    guard names.count <= Self.maximumCodings else {
      throw Problem(message: "the body has \(names.count) content codings; at most \(Self.maximumCodings) are undone")
    }
    var stages: [CodingStage] = []
    for name in names.reversed() {
      guard let coding = ContentCoding(named: name), usable.contains(coding) else { return nil }
      stages.append(CodingStage(coding))
    }
    self.stages = stages
  }

  /// Whether bytes can be decoded without further input.
  private(set) var isPending = false

  /// Adds coded bytes, which are decoded in place while `body` runs.
  ///
  /// Bytes that `body` does not pull are copied. Call it only if nothing is pending.
  func push<Result>(
    _ bytes: UnsafeBufferPointer<UInt8>, _ body: () throws(Problem) -> Result
  ) throws(Problem) -> Result {
    codedBytes += Int64(bytes.count)
    isPending = true
    stages[0].lend(bytes)
    defer { stages[0].takeBack() }
    return try body()
  }

  /// The next decoded bytes, or `nil` if more input is needed.
  ///
  /// An error is thrown again by later calls.
  func pull() throws(Problem) -> Data? {
    if let failure { throw failure }
    do {
      let piece = try pull(from: stages.count - 1)
      isPending = piece != nil
      return piece
    } catch {
      failure = error
      throw error
    }
  }

  /// Checks that each coding has ended properly.
  func finish() throws(Problem) {
    guard stages.allSatisfy(\.isWhole) else { throw Problem(message: "the encoded body is truncated") }
  }

  private func pull(from index: Int) throws(Problem) -> Data? {
    let stage = stages[index]
    while true {
      if let piece = try stage.decode(scratch) {
        // After each stage: its large output may be nothing to the next stage.
        try checkRatio(of: stage.made)
        return piece
      }
      guard index > 0, let input = try pull(from: index - 1) else { return nil }
      stage.keep(input)
    }
  }

  private func checkRatio(of made: Int64) throws(Problem) {
    guard made > Self.bytesOfAnyRatio, made / Self.maximumRatio > codedBytes else { return }
    let message =
      "the body expands to \(made / max(1, codedBytes)) times its size, like a decompression bomb; "
      + "beyond 1 MiB the limit is \(Self.maximumRatio):1; .decompression(.off) delivers the encoded body"
    throw Problem(message: message)
  }
}
