#if os(Linux)
  @testable import CurlEngine
  @testable import Martlet
  @testable import MartletBase
  import Testing

  /// The states of a request for another protocol, without a socket.
  @Suite struct UpgradeStateTests {
    private static func head(_ lines: String...) throws -> ResponseHeadReader.Head {
      var reader = ResponseHeadReader(awaitsUpgrade: true)
      for line in lines + [""] {
        let step = try Array("\(line)\r\n".utf8).withUnsafeBufferPointer { try reader.read($0, at: 0) }
        if case .final(let head) = step { return head }
      }
      throw CancellationError()
    }

    private static func sent() -> TransferStateMachine {
      var life = TransferStateMachine()
      life.begin(isUpgrade: true)
      _ = life.willSend()
      return life
    }

    @Test func `sends nothing before the response, and bytes after a 101`() throws {
      var life = Self.sent()
      #expect(life.upgradeReply() == true)
      #expect(life.holdsUpload && !life.isAtRest)

      let isChanged = try life.changesProtocol(try Self.head("HTTP/1.1 101 Switching Protocols", "Upgrade: echo"))

      #expect(isChanged && life.fed() && !life.holdsUpload)
      #expect(life.upgradeReply() == nil)
      life.wait(for: .bytes)
      #expect(life.holdsUpload && !life.isAtRest)
      life.wait(for: .reader)
      #expect(life.isAtRest)
    }

    @Test(arguments: [200, 204, 302, 401, 426, 500]) func `has nothing to send after another status`(status: Int) throws
    {
      var life = Self.sent()
      _ = life.upgradeReply()

      let isChanged = try life.changesProtocol(try Self.head("HTTP/1.1 \(status) Status"))

      #expect(!isChanged && life.fed())
      #expect(life.upgradeReply() == false)
    }

    @Test func `reads interim responses before a 101`() throws {
      #expect(try Self.head("HTTP/1.1 103 Early Hints", "", "HTTP/1.1 101 Switching Protocols").status == 101)
    }

    @Test(arguments: [
      "HTTP/1.1 101 S|Content-Length: 0", "HTTP/1.1 101 S|Transfer-Encoding: chunked", "HTTP/1.0 101 S",
      "HTTP/1.1 101 S|Content-Length: x", "HTTP/2 101",
    ]) func `rejects a 101 with framing or another version`(lines: String) throws {
      var life = Self.sent()
      let parts = lines.split(separator: "|").map(String.init)
      let head = try parts.count == 1 ? Self.head(parts[0]) : Self.head(parts[0], parts[1])

      #expect(throws: ResponseHeadReader.Problem.self) { try life.changesProtocol(head) }
      #expect(life.upgrade == .awaited)
    }

    @Test func `a 101 without a requested upgrade is a violation`() {
      var reader = ResponseHeadReader()

      #expect(throws: ResponseHeadReader.Problem.self) {
        for line in ["HTTP/1.1 101 S\r\n", "\r\n"] {
          _ = try Array(line.utf8).withUnsafeBufferPointer { try reader.read($0, at: 0) }
        }
      }
    }

    @Test func `ends without an error although libcurl has seen no body`() {
      var life = Self.sent()
      _ = try? life.changesProtocol(try Self.head("HTTP/1.1 101 S"))
      life.open(.connection, isAlone: true)

      guard case .ends = life.completed(52, .init()) else {
        Issue.record("GOT_NOTHING is not the end of an upgraded connection")
        return
      }
    }
  }
#endif
