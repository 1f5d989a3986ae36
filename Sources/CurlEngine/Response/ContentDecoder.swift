import MartletBase
import Foundation

/// Undoes the content codings of a body, one step of bounded size at a time (RFC 9110 §8.4).
///
/// What cannot be decoded yet, or would be more than is wanted, waits here.
final class ContentDecoder {
  typealias Problem = ResponseHeadReader.Problem

  /// The most bytes made in one step.
  static let stepSize = 64 << 10
  /// The most codings of one body.
  static let maximumCodings = 5
  /// How many bytes each coded byte may become, in the body so far.
  static let maximumRatio: Int64 = 200
  /// How many bytes may be made whatever the ratio.
  static let bytesOfAnyRatio: Int64 = 1 << 20

  private let stages: [CodingStage]
  private let scratch = CodingStage.Scratch()
  private var codedBytes: Int64 = 0
  private var failure: Problem?

  /// A decoder for codings in the order they were applied, or `nil` if one of them cannot be undone; throws for more
  /// codings than anybody needs.
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

  /// Whether there is something to decode without further bytes.
  private(set) var isPending = false

  /// Adds coded bytes, which are decoded where they are as long as `body` runs; what it does not pull is copied.
  ///
  /// Only to be called if nothing is pending.
  func push<Result>(
    _ bytes: UnsafeBufferPointer<UInt8>, _ body: () throws(Problem) -> Result
  ) throws(Problem) -> Result {
    codedBytes += Int64(bytes.count)
    isPending = true
    stages[0].lend(bytes)
    defer { stages[0].takeBack() }
    return try body()
  }

  /// The next decoded bytes, or `nil` if more have to be pushed first; an error comes again from then on.
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

  /// Checks that each coding has come to its own end.
  func finish() throws(Problem) {
    guard stages.allSatisfy(\.isWhole) else { throw Problem(message: "the coded body ends early") }
  }

  private func pull(from index: Int) throws(Problem) -> Data? {
    let stage = stages[index]
    while true {
      if let piece = try stage.decode(scratch) {
        // Each stage, as what one makes of little may be nothing to the next.
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
      "the body swells to \(made / max(1, codedBytes)) times its size: a decompression bomb? Beyond 1 MiB the limit is "
      + "\(Self.maximumRatio):1; .decompression(.off) gives the body as it came"
    throw Problem(message: message)
  }
}
