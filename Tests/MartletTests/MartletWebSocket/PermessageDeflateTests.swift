import Testing

@testable import MartletWebSocket

@Suite struct PermessageDeflateTests {
  private typealias Offer = PermessageDeflate.Offer

  private static func problem(_ value: String..., offer: PermessageDeflate.Offer? = PermessageDeflate.Offer())
    -> String?
  {
    do throws(HandshakeProblem) {
      _ = try PermessageDeflate.negotiated(value, offer: offer)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `offers its parameters`() {
    #expect(Offer().fieldValue == "permessage-deflate; client_max_window_bits")
    let offer = Offer(
      serverNoContextTakeover: true, clientNoContextTakeover: true, serverMaxWindowBits: 10,
      clientMaxWindowBits: .bits(11))
    #expect(
      offer.fieldValue
        == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10; "
        + "client_max_window_bits=11")
    #expect(Offer(clientMaxWindowBits: .unlimited).fieldValue == "permessage-deflate")
  }

  @Test(arguments: [
    ("permessage-deflate", PermessageDeflate()),
    ("permessage-deflate;server_no_context_takeover", PermessageDeflate(serverNoContextTakeover: true)),
    ("permessage-deflate ; client_no_context_takeover", PermessageDeflate(clientNoContextTakeover: true)),
    ("permessage-deflate; server_max_window_bits=8", PermessageDeflate(serverMaxWindowBits: 8)),
    ("permessage-deflate; client_max_window_bits = \"9\"", PermessageDeflate(clientMaxWindowBits: 9)),
    (", permessage-deflate; client_max_window_bits=\"1\\5\",", PermessageDeflate()),
  ])
  func `accepts valid responses`(_ value: String, _ expected: PermessageDeflate) throws {
    #expect(try PermessageDeflate.negotiated([value], offer: Offer()) == expected)
  }

  @Test func `returns nil if no extension is selected`() throws {
    #expect(try PermessageDeflate.negotiated([], offer: Offer()) == nil)
    #expect(try PermessageDeflate.negotiated([""], offer: nil) == nil)
  }

  @Test func `keeps the offered limits of the client`() throws {
    let offer = Offer(clientNoContextTakeover: true, clientMaxWindowBits: .bits(10))
    let expected = PermessageDeflate(clientNoContextTakeover: true, clientMaxWindowBits: 10)
    #expect(try PermessageDeflate.negotiated(["permessage-deflate"], offer: offer) == expected)
  }

  @Test(arguments: [
    ("server_max_window_bits", "server_max_window_bits has no value; it must be from 8 to 15"),
    ("client_max_window_bits", "client_max_window_bits has no value; it must be from 8 to 15"),
    ("server_max_window_bits=7", "server_max_window_bits is 7; it must be from 8 to 15, without leading zeros"),
    ("server_max_window_bits=16", "server_max_window_bits is 16; it must be from 8 to 15, without leading zeros"),
    ("server_max_window_bits=09", "server_max_window_bits is 09; it must be from 8 to 15, without leading zeros"),
    ("client_max_window_bits=+9", "client_max_window_bits is +9; it must be from 8 to 15, without leading zeros"),
    ("server_no_context_takeover=1", "server_no_context_takeover has the value 1; it must not have a value"),
    ("client_no_context_takeover=\"a\"", "client_no_context_takeover has the value a; it must not have a value"),
    ("x=1", "permessage-deflate has an unknown parameter x"),
    (
      "client_no_context_takeover; client_no_context_takeover",
      "permessage-deflate has two parameters client_no_context_takeover"
    ),
  ])
  func `rejects invalid parameters`(_ parameter: String, _ message: String) {
    let value = "permessage-deflate; \(parameter)"
    #expect(Self.problem(value) == message)
    #expect(parameter == "client_max_window_bits" || PermessageDeflate.accepted([value]) == nil)
  }

  @Test(arguments: [
    "permessage-deflate;", "permessage-deflate;;x", "permessage-deflate; x=", "permessage-deflate; x=\"\"",
    "permessage-deflate; x=\"a b\"", "permessage-deflate x", "=", "permessage-deflate; x=\"a", "a/b",
  ])
  func `rejects fields that are not extensions`(_ value: String) {
    #expect(
      Self.problem(value) == "Sec-WebSocket-Extensions contains \(value), which is not an extension (RFC 6455 §9.1)")
  }

  @Test func `rejects selections beyond the offer`() {
    #expect(Self.problem("x-custom") == "the server selected the extension x-custom, which was not offered")
    let notOffered = "the server selected the extension permessage-deflate, which was not offered"
    #expect(Self.problem("permessage-deflate", offer: nil) == notOffered)
    #expect(
      Self.problem("permessage-deflate, permessage-deflate") == "the server selected permessage-deflate 2 times")
    #expect(Self.problem("permessage-deflate", "permessage-deflate") != nil)
    #expect(
      Self.problem("permessage-deflate; client_max_window_bits=9", offer: Offer(clientMaxWindowBits: .unlimited))
        == "the server selected client_max_window_bits, which was not offered")
    #expect(
      Self.problem("permessage-deflate; client_max_window_bits=12", offer: Offer(clientMaxWindowBits: .bits(11)))
        == "the server selected client_max_window_bits=12; at most 11 was offered")
    #expect(
      Self.problem("permessage-deflate; server_max_window_bits=12", offer: Offer(serverMaxWindowBits: 11))
        == "the server selected server_max_window_bits=12; at most 11 was offered")
  }

  @Test(arguments: [
    ("permessage-deflate", "permessage-deflate"),
    ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
    ("permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=10"),
    ("permessage-deflate; server_max_window_bits=15", "permessage-deflate; server_max_window_bits=15"),
    ("permessage-deflate; server_max_window_bits=9", "permessage-deflate; server_max_window_bits=9"),
    ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
    (
      "x, permessage-deflate; y, permessage-deflate; client_no_context_takeover",
      "permessage-deflate; client_no_context_takeover"
    ),
  ])
  func `accepts the first valid offer`(_ offers: String, _ expected: String) throws {
    let accepted = try #require(PermessageDeflate.accepted([offers]))
    #expect(accepted.fieldValue == expected)
    let offer = Offer(
      serverMaxWindowBits: offers.contains("server_max_window_bits=9") ? 9 : nil, clientMaxWindowBits: .limitable)
    #expect(try PermessageDeflate.negotiated([accepted.fieldValue], offer: offer) == accepted.parameters)
  }

  @Test func `limits the client's window only if the client allows it`() {
    let preferences = PermessageDeflate(clientMaxWindowBits: 10)
    #expect(
      PermessageDeflate.accepted(["permessage-deflate"], preferences: preferences)?.fieldValue == "permessage-deflate")
    #expect(
      PermessageDeflate.accepted(["permessage-deflate; client_max_window_bits"], preferences: preferences)?.fieldValue
        == "permessage-deflate; client_max_window_bits=10")
  }
}
