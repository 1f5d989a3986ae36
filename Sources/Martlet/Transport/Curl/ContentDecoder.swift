#if os(Linux)
  import CMartletShim
  import Foundation

  /// Undoes the content codings of a body, one step of bounded size at a time (RFC 9110 §8.4).
  ///
  /// What cannot be decoded yet, or would be more than is wanted, waits here.
  final class ContentDecoder {
    /// The most bytes made in one step.
    static let stepSize = 64 << 10
    /// The most codings of one body.
    static let maximumCodings = 5

    private var stages: [CodingStage]

    /// A decoder for codings in the order they were applied, or `nil` if one of them is unknown.
    ///
    /// - Throws: ``ResponseHeadReader/Problem`` for more codings than anybody needs.
    init?(_ codings: [String]) throws(ResponseHeadReader.Problem) {
      let codings = codings.map { FieldSyntax.lowercased($0) }.filter { $0 != "identity" }
      guard !codings.isEmpty, CurlLibrary.canDecode else { return nil }
      guard codings.count <= Self.maximumCodings else {
        throw ResponseHeadReader.Problem(message: "the body has \(codings.count) content codings")
      }
      stages = []
      for coding in codings.reversed() {
        switch coding {
        case "gzip", "x-gzip": stages.append(CodingStage(isGzip: true))
        case "deflate": stages.append(CodingStage(isGzip: false))
        default: return nil
        }
      }
    }

    /// Whether there is something to decode without further bytes.
    private(set) var isPending = false

    /// Adds coded bytes.
    func push(_ bytes: UnsafeBufferPointer<UInt8>) {
      stages[0].push(bytes)
      isPending = true
    }

    /// The next decoded bytes, or `nil` if more have to be pushed first.
    func pull() throws(ResponseHeadReader.Problem) -> Data? {
      let piece = try pull(from: stages.count - 1)
      isPending = piece != nil
      return piece
    }

    /// Checks that each coding has come to its own end.
    func finish() throws(ResponseHeadReader.Problem) {
      guard stages.allSatisfy(\.isWhole) else {
        throw ResponseHeadReader.Problem(message: "the coded body ends early")
      }
    }

    private func pull(from index: Int) throws(ResponseHeadReader.Problem) -> Data? {
      while true {
        if let piece = try stages[index].decode() { return piece }
        guard index > 0, let input = try pull(from: index - 1) else { return nil }
        input.withUnsafeBytes { stages[index].push($0.bindMemory(to: UInt8.self)) }
      }
    }
  }

  /// One coding.
  private final class CodingStage {
    private let isGzip: Bool
    private var inflater: UnsafeMutableRawPointer?
    private var input: [UInt8] = []
    private var offset = 0
    /// Whether the coding's own end was the last thing seen.
    private var isAtEnd = false
    private var hasBytes = false

    init(isGzip: Bool) { self.isGzip = isGzip }

    deinit { if let inflater { martlet_inflater_free(inflater) } }

    /// A body of no bytes at all is one that was not coded.
    var isWhole: Bool { isAtEnd || !hasBytes }

    func push(_ bytes: UnsafeBufferPointer<UInt8>) {
      if offset == input.count {
        input.removeAll(keepingCapacity: true)
        offset = 0
      }
      input.append(contentsOf: bytes)
      hasBytes = hasBytes || !bytes.isEmpty
    }

    /// Decodes what there is, up to a step, or returns `nil` if that is nothing.
    func decode() throws(ResponseHeadReader.Problem) -> Data? {
      guard hasBytes else { return nil }
      while true {
        if isAtEnd {
          // Another member may follow (RFC 1952 §2.2); what else follows is ignored.
          guard isGzip, offset < input.count, input[offset] == 0x1F, let inflater else {
            offset = input.count
            return nil
          }
          guard martlet_inflater_reset(inflater) else { throw corrupt }
          isAtEnd = false
        }
        let inflater = try open()
        var taken = input.count - offset
        var made = ContentDecoder.stepSize
        var code: CInt = 0
        let output = [UInt8](unsafeUninitializedCapacity: made) { output, count in
          input.withUnsafeBufferPointer { input in
            guard let source = input.baseAddress, let target = output.baseAddress else { return }
            code = martlet_inflate(inflater, source + offset, &taken, target, &made)
            count = code < 0 ? 0 : made
          }
        }
        guard code >= 0 else { throw corrupt }
        offset += taken
        if code == 1 { isAtEnd = true }
        if !output.isEmpty { return Data(output) }
        if !isAtEnd && (taken == 0 || offset == input.count) { return nil }
      }
    }

    private func open() throws(ResponseHeadReader.Problem) -> UnsafeMutableRawPointer {
      if let inflater { return inflater }
      // By the standard `deflate` is zlib's format (RFC 1950); many send it bare (RFC 1951).
      let first = offset < input.count ? input[offset] : 0
      let bits: CInt = isGzip ? 15 + 16 : first & 0x0F == 8 && first >> 4 <= 7 ? 15 : -15
      guard let made = martlet_inflater_new(bits) else {
        throw ResponseHeadReader.Problem(message: "there is no memory to decode the body")
      }
      inflater = made
      return made
    }

    private var corrupt: ResponseHeadReader.Problem {
      ResponseHeadReader.Problem(message: "the coded body is corrupt")
    }
  }
#endif
