#if os(Linux)
  import Testing

  @testable import CurlEngine
  @testable import MartletBase

  @Suite(.hangLimit) struct LeftoversTests {
    private static func head(_ status: Int, _ framing: ResponseHeadReader.Framing) -> ResponseHeadReader.Head {
      ResponseHeadReader.Head(
        status: status, reason: nil, version: "1.1", fields: ReceivedFields([], []), framing: framing)
    }

    @Test(arguments: [
      (200, "GET", 5, false, false), (200, "POST", 1, false, false), (401, "GET", 2, false, false),
      (200, "GET", 0, false, true), (200, "GET", nil, false, true), (200, "GET", nil, true, true),
      (200, "GET", 5, true, true), (200, "HEAD", 5, false, true), (204, "GET", nil, false, true),
      (204, "GET", 5, false, true), (304, "GET", 500, false, true),
    ])
    func `libcurl detects extra bytes itself only after a body with a length`(
      status: Int, method: String, length: Int64?, isChunked: Bool, mayHide: Bool
    ) {
      let framing = ResponseHeadReader.Framing(
        hasTransferCoding: isChunked, length: length, lengthCount: length == nil ? 0 : 1)

      #expect(Self.head(status, framing).mayHideLeftovers(to: method) == mayHide)
    }

    @Test(
      arguments: [
        // The bytes read before and after the response, and the lengths of its head and body.
        (0, 150, 100, 50, false), (700, 850, 100, 50, false), (700, 800, 100, 0, false), (700, 851, 100, 50, true),
        (700, 801, 100, 0, true), (700, 9000, 100, 50, true),
        // Unknown counts or lengths.
        (-1, 150, 100, 50, false), (0, -1, 100, 50, false), (0, 900, 100, nil, false),
      ] as [(Int64, Int64, Int64, Int64?, Bool)])
    func `more bytes than the response has invalidate an authentication`(
      start: Int64, taken: Int64, head: Int64, body: Int64?, isSpoiled: Bool
    ) {
      var round = AuthenticationRound(start: start, headBytes: head)

      #expect(round.isSpoiled(taken: taken, length: body) == isSpoiled)
      round.hasLeftovers = true
      #expect(round.isSpoiled(taken: taken, length: body))
    }
  }
#endif
