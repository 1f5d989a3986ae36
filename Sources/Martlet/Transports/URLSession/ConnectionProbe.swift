#if canImport(Darwin) || URLSession
  #if os(Linux)
    import Foundation

    /// Guesses whether the loader has connected, which it does not report.
    ///
    /// Used only when a limit is about to expire. It examines the process's own sockets. A wrong `true` costs the
    /// caller the idle limit instead of the connect limit; a wrong `false` would end a working request.
    enum ConnectionProbe {
      /// Whether the environment names a proxy, to which the loader of Linux then connects.
      static let hasProxy: Bool = {
        let names: Set<String> = ["http_proxy", "https_proxy", "all_proxy"]
        return ProcessInfo.processInfo.environment.contains { names.contains($0.key.lowercased()) && !$0.value.isEmpty }
      }()

      /// Whether a request to a port is, or may be, connected.
      ///
      /// If more requests are `waiting` for a response from that port than there are half-open connections, some are
      /// connected, but not necessarily this one.
      static func isConnected(to port: Int, waiting: Int) -> Bool {
        guard !hasProxy else { return true }
        let own = ownSockets()
        var open = 0
        var halfOpen = 0
        for file in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
          // Not `String(contentsOfFile:)`, which reads only the first page of files whose reported size is 0.
          let table = (try? FileHandle(forReadingAtPath: file)?.readToEnd()) ?? Data()
          let states = String(decoding: table, as: UTF8.self).split(separator: "\n").dropFirst().compactMap {
            state(ofSocket: $0, to: port, among: own)
          }
          open += states.count { $0 == "01" }
          // The loader connects to a name with two addresses over both protocols at once.
          halfOpen = max(halfOpen, states.count { $0 == "02" })
        }
        return open > 0 && halfOpen < max(1, waiting)
      }

      /// The state of a socket in a line of the table.
      ///
      /// `nil` unless the socket belongs to the process and its remote port is `port`.
      private static func state(ofSocket line: Substring, to port: Int, among own: Set<Substring>) -> Substring? {
        let columns = line.split(separator: " ", maxSplits: 10)
        guard columns.count > 9, let remote = columns[2].split(separator: ":").last, Int(remote, radix: 16) == port,
          own.contains(columns[9])
        else { return nil }
        return columns[3]
      }

      /// The inodes of the process's open sockets.
      private static func ownSockets() -> Set<Substring> {
        let manager = FileManager.default
        let names = (try? manager.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return Set(
          names.compactMap { name in
            let link = (try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) ?? ""
            return link.hasPrefix("socket:[") ? link.dropFirst(8).dropLast() : nil
          })
      }
    }
  #endif
#endif
