#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport

  /// Requests NTLM as Windows servers do: per connection, in three messages (MS-NLMP §2.2.1).
  ///
  /// It does not verify the proof. It reads the account and checks that all messages arrive on one connection.
  struct NTLMServer {
    /// The account and the connection of a type 3 message.
    struct Login: Hashable {
      var domain: String
      var user: String
      var connection: Int
    }

    private struct Record {
      /// The connections that have received a challenge.
      var challenged: Set<Int> = []
      var logins: [Login] = []
      /// The number of requests on a connection after its login.
      var late = 0
      /// The number of messages that arrived out of order.
      var stray = 0
    }

    let server: MockServer
    private let record: Shared<Record>

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - offers: The value of `WWW-Authenticate` for requests without an NTLM message.
    ///   - refused: The user whose login is rejected.
    ///   - second: The response in place of a type 2 message, if any.
    /// - Throws: ``MockServerError`` if the system refuses a socket.
    init(offers: String = "NTLM", refused: String = "eve", second: MockResponse? = nil) throws {
      let record = Shared(Record())
      self.record = record
      server = try MockServer { request in
        let refusal = MockResponse.status(401, headers: ["WWW-Authenticate": offers], body: "who are you?")
        if record.withLock({ $0.logins.contains { $0.connection == request.connection } }) {
          record.withLock { $0.late += 1 }
        }
        guard let field = request.header("Authorization"), field.hasPrefix("NTLM "),
          let message = Data(base64Encoded: String(field.dropFirst(5))), message.starts(with: "NTLMSSP\0".utf8)
        else { return refusal }
        switch Self.number(message, at: 8, count: 4) {
        case 1:
          if let second { return second }
          record.withLock { _ = $0.challenged.insert(request.connection) }
          let value = "NTLM \(Self.challenge.base64EncodedString())"
          return .status(401, headers: ["WWW-Authenticate": value], body: String(repeating: "go on ", count: 100))
        case 3:
          guard record.withLock({ $0.challenged.remove(request.connection) }) != nil else {
            record.withLock { $0.stray += 1 }
            return refusal
          }
          let login = Login(
            domain: Self.text(message, at: 28), user: Self.text(message, at: 36), connection: request.connection)
          record.withLock { $0.logins.append(login) }
          return login.user == refused ? refusal : .ok("\(login.domain)|\(login.user)|\(request.bodyLength)")
        default:
          record.withLock { $0.stray += 1 }
          return refusal
        }
      }
    }

    var url: String { server.url }
    var logins: [Login] { record.withLock { $0.logins } }
    /// The number of requests that arrived after their connection's login, or out of order.
    var misplaced: Int { record.withLock { $0.late + $0.stray } }

    /// A type 2 message: Unicode, NTLM, empty target information.
    static let challenge: Data = {
      var message = Data("NTLMSSP\0".utf8)
      message += [2, 0, 0, 0] + [0, 0, 0, 0, 48, 0, 0, 0] + [0x01, 0x02, 0x88, 0x00]
      message += [1, 2, 3, 4, 5, 6, 7, 8] + [UInt8](repeating: 0, count: 8)
      message += [4, 0, 4, 0, 48, 0, 0, 0] + [0, 0, 0, 0]
      return message
    }()

    private static func number(_ message: Data, at offset: Int, count: Int) -> Int? {
      guard message.count >= offset + count else { return nil }
      return message[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Returns the text of a security buffer, in UTF-16 or in octets, depending on the message's flags.
    private static func text(_ message: Data, at offset: Int) -> String {
      guard let count = number(message, at: offset, count: 2), let start = number(message, at: offset + 4, count: 4),
        let flags = number(message, at: 60, count: 4), message.count >= start + count
      else { return "?" }
      let octets = message[start..<(start + count)]
      return String(data: octets, encoding: flags & 1 == 1 ? .utf16LittleEndian : .utf8) ?? "?"
    }
  }
#endif
