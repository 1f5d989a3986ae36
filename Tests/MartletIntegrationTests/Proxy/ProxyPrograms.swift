#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  extension TestProgram {
    static let tinyproxy = TestProgram("tinyproxy")
    static let microsocks = TestProgram("microsocks")
  }

  /// A third-party proxy on a free port.
  struct ProxyProgram {
    let port: Int
    private let process: ToolProcess
    private let folder: TemporaryFolder

    /// Starts tinyproxy, which requires credentials if a user is given.
    static func http(user: String? = nil, password: String = "") async throws -> ProxyProgram {
      let folder = try TemporaryFolder()
      return try await ProxyProgram(.tinyproxy, folder) { port in
        try folder.write(
          """
          Port \(port)
          Listen 127.0.0.1
          Timeout 30
          MaxClients 50
          Allow 127.0.0.1
          LogFile "\(folder.path("log"))"
          LogLevel Connect
          \(user.map { "BasicAuth \($0) \(password)" } ?? "")

          """, to: "tinyproxy.conf")
        return ["-d", "-c", folder.path("tinyproxy.conf")]
      }
    }

    /// Starts microsocks, which requires credentials if a user is given.
    static func socks(user: String? = nil, password: String = "") async throws -> ProxyProgram {
      let credentials = user.map { ["-u", $0, "-P", password] } ?? []
      return try await ProxyProgram(.microsocks, try TemporaryFolder()) { port in
        ["-i", "127.0.0.1", "-p", "\(port)"] + credentials
      }
    }

    private init(
      _ program: TestProgram, _ folder: TemporaryFolder, _ arguments: (Int) throws -> [String]
    ) async throws {
      self.folder = folder
      (process, port) = try await ToolProcess.listening(program.name) { try program.start(try arguments($0)) }
    }

    /// The lines of tinyproxy's log that describe requests.
    var requests: [String] {
      let log = String(decoding: (try? folder.contents("log")) ?? Data(), as: UTF8.self)
      return log.split(separator: "\n").filter { $0.contains("Request (file descriptor") }
        .map { String($0.drop { $0 != ":" }.dropFirst()) }
    }

    /// The number of requested tunnels.
    var tunnelCount: Int { requests.count { $0.contains("CONNECT ") } }
  }
#endif
