import MartletWebSocket

/// A WebSocket of a ``MockServer``, as a script of steps (RFC 6455).
///
/// ```swift
/// let server = try MockServer(.webSocket([.text("hello"), .echo]))
/// ```
///
/// During and after all steps except ``Step/hang``, the server responds to pings. After a client's close frame, a
/// script without ``Step/waitForClose`` ends at its next step that waits. After the script, the server completes
/// the close handshake when the client closes.
///
/// A message that violates the protocol, or has more than 64 MiB after decompression, ends the script. The server then
/// sends a close frame and closes the connection; see ``RecordedWebSocket/failure``. The server stops reading while
/// messages and pings of more than 1 MiB wait for a step, or for a client that does not read.
public struct MockWebSocket: Sendable {
  /// The server's opening handshake (RFC 6455 §4.2.2).
  ///
  /// All fields that are not mentioned are valid.
  @nonexhaustive public enum Handshake: Sendable, Hashable {
    /// A valid response.
    case valid
    /// A valid response, sent in one write with the frames of the first steps.
    ///
    /// The write contains all frames before the first step that waits or closes the connection.
    case withFirstFrames
    /// `Sec-WebSocket-Accept` for another key.
    case wrongAccept
    /// This subprotocol, even if the client did not offer it.
    case subprotocol(String)
    /// This value of `Sec-WebSocket-Extensions`, even if the client did not offer it; messages remain uncompressed.
    case extensions(String)
    /// This status instead of 101, without a body; the connection continues with HTTP.
    case status(Int)
    /// No field with this name, such as `Upgrade`.
    case omitting(String)
  }

  /// The parameters of permessage-deflate that the server selects (RFC 7692 §7.1).
  ///
  /// They apply if the client offers the extension, and limits of the offer are respected. Without zlib, messages remain
  /// uncompressed.
  public struct Compression: Sendable, Hashable {
    /// Compression with default parameters.
    public static let on = Compression()

    /// Whether each message of the server is compressed independently.
    ///
    /// The default is false.
    public var serverNoContextTakeover: Bool
    /// Whether the client must compress each message independently.
    ///
    /// The default is false.
    public var clientNoContextTakeover: Bool
    /// The maximum size of the server's window, in bits.
    ///
    /// From 8 to 15, by default 15; other values are clamped. With 8, the server's messages remain uncompressed.
    public var serverMaxWindowBits: Int
    /// The maximum size of the client's window, in bits.
    ///
    /// From 8 to 15, by default 15; other values are clamped. The limit applies only if the client offers the
    /// parameter.
    public var clientMaxWindowBits: Int

    /// Creates parameters.
    public init(
      serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int = 15,
      clientMaxWindowBits: Int = 15
    ) {
      self.serverNoContextTakeover = serverNoContextTakeover
      self.clientNoContextTakeover = clientNoContextTakeover
      self.serverMaxWindowBits = serverMaxWindowBits
      self.clientMaxWindowBits = clientMaxWindowBits
    }
  }

  /// The steps, in order.
  public var steps: [Step]
  /// The subprotocols that the server supports.
  ///
  /// The server selects the client's first offer among them, or none. By default, there are none.
  public var subprotocols: [String] = []
  /// The parameters of compression, or `nil` to refuse it.
  ///
  /// The default is `nil`.
  public var compression: Compression?
  /// The opening handshake.
  ///
  /// The default is ``Handshake/valid``.
  public var handshake = Handshake.valid
  /// The additional fields of the handshake's response.
  public var headers: [MockResponse.Field] = []
  /// Whether the server responds to pings.
  ///
  /// The default is true.
  public var sendsPongs = true

  /// Creates a WebSocket from steps.
  public init(steps: [Step] = []) { self.steps = steps }
}

extension MockWebSocket.Compression {
  init(_ deflate: PermessageDeflate) {
    self.init(
      serverNoContextTakeover: deflate.serverNoContextTakeover,
      clientNoContextTakeover: deflate.clientNoContextTakeover, serverMaxWindowBits: deflate.serverMaxWindowBits,
      clientMaxWindowBits: deflate.clientMaxWindowBits)
  }

  var deflate: PermessageDeflate {
    PermessageDeflate(
      serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
      serverMaxWindowBits: min(max(serverMaxWindowBits, 8), 15),
      clientMaxWindowBits: min(max(clientMaxWindowBits, 8), 15))
  }
}
