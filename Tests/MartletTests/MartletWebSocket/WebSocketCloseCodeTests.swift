import MartletBase
import Testing

@testable import MartletWebSocket

@Suite struct WebSocketCloseCodeTests {
  @Test(
    arguments: [
      0...999, 1004...1006, 1015...2999, 5000...UInt16.max,
    ] as [ClosedRange<UInt16>])
  func `rejects codes that must not be sent`(_ codes: ClosedRange<UInt16>) {
    for number in [codes.lowerBound, codes.upperBound] {
      let code = WebSocketCloseCode(rawValue: number)
      #expect(!code.isSendable)
      let frame = FrameCoding.closePayload(code).withUnsafeBytes { FrameCoding.encode(.close, $0) }
      let read = ReadEvents(MessageReader(.client), [frame])
      #expect(read.events.isEmpty)
      #expect(read.violation?.code == .protocolError)
      #expect(read.violation?.message == "a close frame has code \(code), which must not be sent")
    }
  }

  @Test(arguments: [1000...1003, 1007...1014, 3000...4999] as [ClosedRange<UInt16>])
  func `accepts registered and private codes`(_ codes: ClosedRange<UInt16>) {
    for number in codes {
      let code = WebSocketCloseCode(rawValue: number)
      #expect(code.isSendable)
      let frame = FrameCoding.closePayload(code, reason: "bye").withUnsafeBytes { FrameCoding.encode(.close, $0) }
      let read = ReadEvents(MessageReader(.client), [frame])
      #expect(read.events == [.close(code, reason: "bye")])
      #expect(read.violation == nil)
    }
  }

  @Test func `describes registered codes in words`() {
    #expect("\(WebSocketCloseCode.goingAway)" == "1001 (going away)")
    #expect("\(WebSocketCloseCode.tlsHandshakeFailure)" == "1015 (TLS handshake failure)")
    #expect("\(WebSocketCloseCode(rawValue: 4001))" == "4001")
  }

  @Test func `truncates long reasons after a character`() {
    let payload = FrameCoding.closePayload(.normalClosure, reason: String(repeating: "é", count: 100))
    #expect(payload.count == 2 + 122)
    let whole = FrameCoding.closePayload(.normalClosure, reason: String(repeating: "a", count: 123))
    #expect(whole.count == 125)
    #expect(FrameCoding.closePayload(nil, reason: "ignored").isEmpty)
  }
}
