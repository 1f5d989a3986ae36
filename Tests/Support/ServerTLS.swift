#if os(Linux)
  import CTestSupport
  package import Foundation

  /// The server side of TLS over bytes that the caller transports.
  package final class ServerTLS: @unchecked Sendable {
    /// One connection, for use on one thread.
    package final class Connection {
      private let tls: UnsafeMutableRawPointer
      /// The connection retains its server.
      private let server: ServerTLS

      fileprivate init(_ tls: UnsafeMutableRawPointer, _ server: ServerTLS) {
        self.tls = tls
        self.server = server
      }

      deinit { martlet_accept_free(tls) }

      /// Whether the client has closed the connection or sent something other than TLS.
      package private(set) var isOver = false

      /// Processes received bytes.
      ///
      /// - Returns: The decrypted bytes.
      package func receive(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        martlet_accept_feed(tls, bytes, bytes.count)
        return drain { buffer in
          let count = martlet_accept_read(tls, buffer.baseAddress, buffer.count)
          if count < 0 { isOver = true }
          return Int(max(0, count))
        }
      }

      /// Returns the bytes that send a message, in its own record; empty before the client has sent something.
      package func send(_ bytes: [UInt8]) -> [UInt8] {
        martlet_accept_write(tls, bytes, bytes.count)
        return takeOutput()
      }

      /// Returns the bytes to send at the end.
      package func end() -> [UInt8] {
        martlet_accept_end(tls)
        return takeOutput()
      }

      /// Returns the bytes that are due to be sent.
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

    /// Creates a server with a certificate and its key, in PEM files.
    ///
    /// - Throws: An error if a file is missing or the system lacks OpenSSL.
    package init(certificate: URL, key: URL) throws {
      guard let server = martlet_server_new(certificate.path, key.path) else { throw Missing() }
      self.server = server
    }

    deinit { martlet_server_free(server) }

    /// Returns a connection that has received nothing yet.
    package func accept() -> Connection? { martlet_accept_new(server).map { Connection($0, self) } }
  }
#endif
