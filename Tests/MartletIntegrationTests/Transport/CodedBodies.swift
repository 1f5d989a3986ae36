#if os(Linux)
  import Foundation
  import MartletTesting

  @testable import CurlEngine
  @testable import Martlet

  /// Bodies as the encoders of the four codings produce them.
  enum CodedBodies {
    /// The numbers from 0 to 199.
    static let text = (0..<200).map(String.init).joined(separator: " ")

    /// ``text`` in each coding, including two formats that are both named `deflate`.
    static let all: [(name: String, body: Data)] = [
      ("gzip", gzip), ("x-gzip", gzip), ("deflate", zlib), ("deflate", bare), ("br", brotli), ("zstd", zstd),
    ]

    /// The bodies that this machine can decode.
    static let usable = all.filter { coded in ContentCoding.usable.contains { $0 == ContentCoding(named: coded.name) } }

    /// ``text`` in gzip.
    static let gzip = bytes(
      """
      H4sIAAAAAAACAx3SyQHEIBDEwFQUAs0xMPkntvL+2zYuMQiTxeZQXB5NBgmZZJFNDilyySPNHEyfmczF3MzDLOZlPmazBissX7lYm3VY\
      xbqsx2r2YIc92X5xsw+72Jf92M0ZnHAmZ3E80OEU53Iep6lBhZrUojbleYu61KOaO7jhTu7ibu7h+juX+7jNG7zwJm/xNu/wiuffPl7T\
      gw496UVv+tBFX1qMT0OOoccQZCgyJBmaDFGGKkOW4e7P5u6D++Q+us/uw/v0Pj79ImDm5+tOw4gYFSNjdIyQUTJSRsusL4Q7OaNnBI2i\
      kTSaRtSoGlmzv2LulI200TbiRt3IG30jcBTO+dK6EzkqR+boHKGjdKSO1hE79d0Bd3pH8CgeyaN5RI/qkT26536XxZ300T7iR/3IH/1j\
      gFggJsj7bpU7K8QMsUMMEUvEFLFFjBFrpL/r1z88XR7dsQIAAA==
      """)

    /// ``text`` in the zlib format, which is the meaning of `deflate`.
    static let zlib = bytes(
      """
      eNod0skBxCAQxMBUFALNMTD5J7by/ts2LjEIk8XmUFweTQYJmWSRTQ4pcskjzRxMn5nMxdzMwyzmZT5mswYrLF+5WJt1WMW6rMdq9mCH\
      Pdl+cbMPu9iX/djNGZxwJmdxPNDhFOdyHqepQYWa1KI25XmLutSjmju44U7u4m7u4fo7l/u4zRu88CZv8Tbv8Irn3z5e04MOPelFb/rQ\
      RV9ajE9DjqHHEGQoMiQZmgxRhipDluHuz+bug/vkPrrP7sP79D4+/SJg5ufrTsOIGBUjY3SMkFEyUkbLrC+EOzmjZwSNopE0mkbUqBpZ\
      s79i7pSNtNE24kbdyBt9I3AUzvnSuhM5Kkfm6Byho3SkjtYRO/XdAXd6R/AoHsmjeUSP6pE9uud+l8Wd9NE+4kf9yB/9Y4BYICbI+26V\
      OyvEDLFDDBFLxBSxRYwRa6S/69c/kBl8LQ==
      """)

    /// ``text`` as a bare deflate stream, which many servers send as `deflate`.
    static let bare = bytes(
      """
      HdLJAcQgEMTAVBQCzTEw+Se28v7bNi4xCJPF5lBcHk0GCZlkkU0OKXLJI80cTJ+ZzMXczMMs5mU+ZrMGKyxfuVibdVjFuqzHavZghz3Z\
      fnGzD7vYl/3YzRmccCZncTzQ4RTnch6nqUGFmtSiNuV5i7rUo5o7uOFO7uJu7uH6O5f7uM0bvPAmb/E27/CK598+XtODDj3pRW/60EVf\
      WoxPQ46hxxBkKDIkGZoMUYYqQ5bh7s/m7oP75D66z+7D+/Q+Pv0iYObn607DiBgVI2N0jJBRMlJGy6wvhDs5o2cEjaKRNJpG1KgaWbO/\
      Yu6UjbTRNuJG3cgbfSNwFM750roTOSpH5ugcoaN0pI7WETv13QF3ekfwKB7Jo3lEj+qRPbrnfpfFnfTRPuJH/cgf/WOAWCAmyPtulTsr\
      xAyxQwwRS8QUsUWMEWukv+vXPw==
      """)

    /// ``text`` in `br`.
    static let brotli = bytes(
      """
      AlYAvyPBjl1Y5IK8kQ4OSQPc6zEYjM2NNoJ4SBrA3p1SJLsA4BqUisqq6prauvoCiDChGZbjBQSFhEVEixErTryEpJS0jGw5cuXJV1BU\
      UlZRrUatOvUamlraOrr16NWn38DQyNjEtBmz5sxbWFpZ29i2Y9eefQdHJ2cX127cunPv4enl7ePbj19//kGABAUaDFhwwAUPfBgwYcGG\
      AxceeOGDHwVKVKjRoEUHXfTQx4ETF248ePHBFz/8SZAkRZoMWXLIJY98Ouiki2566KUPfelHfyaYZIppZphlDnOZx3w22GSLbXbYZQ97\
      2cd+LrjkimtuuOUOd7nHfT745ItvfvjlD3/55wM=
      """)

    /// ``text`` in `zstd`, with a checksum.
    static let zstd = bytes(
      """
      KLUv/WSxASUJABYrSAqw5RgkSUIsz+hERQBIAEAAgjKQRxpZJJFDChnkJCDDeKONNdI4o4wxPoIxiCeaWCKJI4oY4iIQQ3ihhRVSOKGE\
      ER6CMOytbS3trGzsCzZ4miU5iuGCyhvvL3gD2ANrYAssgR2wAjbADhaADcELWrCCFJygBCN4EATDeaedddI5p5xxfoIzmGeaWSaZY4oZ\
      5iYwQ3mllVVSOaWUUV4BW7REO7RCG7TTAtowe7M2W7M0O7MyG7PPgtkge7ImW7IkO7IiG7LLAtkQe7EWW7EUO7ESG7HHgtjw3mtvvfTO\
      ByHshbWwFZbCTlgJG2EPC8KG27u127ql27mV27j9FtwG27M127Il27EV27DdFtiG2qu12qql2qmV2qi9FtQG2qM1CgAJzcgQ
      """)

    /// The word `second`.
    static let gzipOfSecond = bytes(
      "H4sIAAAAAAACAytOTc7PSwEAaREftgYAAAA=")

    /// The word `second`.
    static let brotliOfSecond = bytes(
      "ogAAvwRAEBKOBA==")

    /// The word `second`.
    static let zstdOfSecond = bytes(
      "KLUv/SAGMQAAc2Vjb25k")

    /// The word `martlet` and a space, repeated 200 times, in three codings.
    static let gzipThenBrotliThenZstd = bytes(
      "KLUv/SQtaQEAgAIQH4sIAAAAAAACA8tNLCrJSS1RyB2lR+lRepQepUdpEmgATlQvjEAGAAADrRaBeA==")

    /// The word `martlet` and a space, repeated 200 times, with a ratio of 39:1.
    static let gzipOfMartlets = bytes(
      "H4sIAAAAAAACA8tNLCrJSS1RyB2lR+lRepQepUdpEmgATlQvjEAGAAA=")

    /// 1 MiB of zeros.
    static let zstdOfMebibyte = bytes(
      "KLUv/aAAABAATAAACAABAPz/ORACAgAQAAIAEAACABAAAgAQAAIAEAACABAAAwAQAA==")

    /// 64 MiB of zeros, compressed twice with gzip.
    static let twiceGzipOf64Mebibytes = bytes(
      """
      H4sIAAAAAAACA+3cr05CcRTA8YtcNyYbYiAZ5BGIFAYazAbNjgcgkmVzJgsvQWZjc7PSeAO02f0TnDM5L9z7GL/z+aSTTzw7+549NrLS\
      Qf1jXavth9n8f/nVOMoAAACAxM1e7+vlMSDrFtvLqxsAAAAgdePjVl4dBf5uT8+tAwAAAJL3MOi3qw+B77tJbh0AAACQvM7v26i6BWyK\
      p5Nr+wAAAIDkvQgGAAAAQCiCAQAAABCLYAAAAADEIhgAAAAAwQgGAAAAQCyCAQAAABCLYAAAAADEIhgAAAAAwQgGAAAAQCyCAQAAABDL\
      YtDvlo8B7Z9iOrw4zAAAAIjkufnZe1/th3wHPEzs+uL+AAA=
      """)

    /// 1 GiB of zeros.
    static let brotliBomb = bytes(
      """
      z///fwAkAOKxQHLv//n//w+ABEAcFoDu/T////8BkACIwwLQvf/n//8/ABIAcVgAuvf//P//B0ACIA4LQPf+n////wBIAMRhAeje//P/\
      /x8ACYA4LADd+3/+//8DIAEQhwWge//P//9/ACQA4rAAdO//+f//D4AEQBwWgO79P////wGQAIjDAtC9/+f//z8AEgBxWAC69//8//8H\
      QAIgDgtA9/6f////AEgAxGEB6N7/8///HwAJgDgsAN37f/7//wMgARCHBaB7/8///38AJADisAB07//5//8PgARAHBaA7v0/////AZAA\
      iMMC0L3/5///PwASAHFYALr3//z//wdAAiAOC0D3/p////8ASADEYQHo3v/z//8fAAmAOCwA3ft//v//AyABEIcFoHv/z///fwAkAOKw\
      AHTv//n//w+ABEAcFoDu/T////8BkACIwwLQvf/n//8/ABIAcVgAuvf//P//B0ACIA4LQPf+n////wBIAMRhAeje//P//x8ACYA4LADd\
      +3/+//8DIAEQhwWge//P//9/ACQA4rAAdO//+f//D4AEQBwWgO79P////wGQAIjDAtC9/+f//z8AEgBxWAC69//8//8HQAIgDgtA9/6f\
      ////AEgAxGEB6N7/8///HwAJgDgsAN37f/7//wMgARCHBaB7/8///38AJADisAB07//5//8PgARAHBaA7v0/////AZAAiMMC0L3/5///\
      PwASAHFYALr3//z//wdAAiAOC0D3/p////8ASADEYQHo3v/z//8fAAmAOCwA3ft//v//AyABEIcFoHv/z///fwAkAOKwAHTv//n//w+A\
      BEAcFoDu/T////8BkACIwwLQvf/n//8/ABIAcVgAuvf//P//B0ACIA4LQPf+n////wBIAMRhAeje//P//x8ACYA4LADd+3/+//8DIAEQ\
      hwWge//P//9/ACQA4rAAdO//+f//D4AEQBwWgO79P////wGQAIjDAtC9/+f//z8AEgBxWAC69//8//8HQAIgDgtA9/6f////AEgAxGEB\
      6N7/8///HwAJgDgsAN37//z//wcgARCHBaB7/w8=
      """)

    /// Returns 1 GiB of zeros in gzip, with a ratio of 1030:1.
    static func gzipBomb() throws -> Data {
      let member = try decode(twiceGzipOf64Mebibytes, ["gzip"])
      return repeated(member, 16)
    }

    /// 1 GiB of zeros in zstd, with a ratio of 21,000:1.
    static let zstdBomb = repeated(zstdOfMebibyte, 1024)

    static func repeated(_ data: Data, _ count: Int) -> Data {
      var result = Data(capacity: data.count * count)
      for _ in 0..<count { result.append(data) }
      return result
    }

    /// Decodes a body that arrives in chunks of `chunk` bytes, with at most `pulls` steps while the bytes are borrowed.
    static func decode(
      _ body: Data, _ names: [String], chunk: Int = .max, pulls: Int = .max,
      step: (Data) -> Void = { _ in }
    ) throws -> Data {
      guard let decoder = try ContentDecoder(names) else { throw UnknownCodings() }
      var result = Data()
      func pull(atMost count: Int) throws(ResponseHeadReader.Problem) {
        var left = count
        while left > 0, let piece = try decoder.pull() {
          left -= 1
          step(piece)
          result.append(piece)
        }
      }
      var start = body.startIndex
      while start < body.endIndex {
        let end = body.endIndex - start > chunk ? start + chunk : body.endIndex
        // A separate copy, which is released before the decoder continues.
        let bytes = [UInt8](body[start..<end])
        try bytes.withUnsafeBufferPointer { bytes in
          try decoder.push(bytes) { () throws(ResponseHeadReader.Problem) in try pull(atMost: pulls) }
        }
        if decoder.isPending { try pull(atMost: .max) }
        start = end
      }
      try decoder.finish()
      return result
    }

    struct UnknownCodings: Error {}

    private static func bytes(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
  }
#endif
