#if os(Linux)
  import CTestSupport
  package import Foundation

  /// The server's side of TLS, over bytes that somebody else moves.
  package final class ServerTLS: @unchecked Sendable {
    /// One connection, for one thread.
    package final class Connection {
      private let tls: UnsafeMutableRawPointer
      /// It belongs to it.
      private let server: ServerTLS

      fileprivate init(_ tls: UnsafeMutableRawPointer, _ server: ServerTLS) {
        self.tls = tls
        self.server = server
      }

      deinit { martlet_accept_free(tls) }

      /// Whether the client has ended it, or what it sends is not TLS.
      package private(set) var isOver = false

      /// Takes bytes that came.
      ///
      /// - Returns: What they said.
      package func receive(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        martlet_accept_feed(tls, bytes, bytes.count)
        return drain { buffer in
          let count = martlet_accept_read(tls, buffer.baseAddress, buffer.count)
          if count < 0 { isOver = true }
          return Int(max(0, count))
        }
      }

      /// What is to be sent to say something: in a message of its own, and nothing before the client has said something.
      package func send(_ bytes: [UInt8]) -> [UInt8] {
        martlet_accept_write(tls, bytes, bytes.count)
        return takeOutput()
      }

      /// What is to be sent at the end.
      package func end() -> [UInt8] {
        martlet_accept_end(tls)
        return takeOutput()
      }

      /// What is to be sent by now.
      package func takeOutput() -> [UInt8] { drain { martlet_accept_take(tls, $0.baseAddress, $0.count) } }

      private func drain(_ read: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
          let count = buffer.withUnsafeMutableBytes(read)
          if count == 0 { return all }
          all += buffer[..<count]
        }
      }
    }

    private struct Missing: Error {}

    private let server: UnsafeMutableRawPointer

    /// Makes one for a certificate and its key, in PEM files.
    ///
    /// - Throws: An error without the files, and on a system without OpenSSL.
    package init(certificate: URL, key: URL) throws {
      guard let server = martlet_server_new(certificate.path, key.path) else { throw Missing() }
      self.server = server
    }

    deinit { martlet_server_free(server) }

    /// A connection of which nothing has come yet.
    package func accept() -> Connection? { martlet_accept_new(server).map { Connection($0, self) } }
  }
#endif
