import Foundation
import Martlet
import MartletTesting
import Testing

extension SamplesTests {
  @Test func `configures certificates`() async throws {
    let secret = "secret"
    let client = HTTPClient {
      $0.tls = .customRoots(pem: URL(filePath: "/etc/our/ca.pem"))
      $0.tls.clientCertificate = .pkcs12(URL(filePath: "/etc/our/me.p12"), password: secret)
    }

    // Neither file exists.
    let error = await #expect(throws: HTTPError.self) { try await client.get("https://localhost:1/") }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func `configures a proxy`() async throws {
    let client = HTTPClient {
      $0.proxy = .proxy("http://user:password@proxy.example:3128", except: ["localhost", "10.0.0.0/8"])
    }

    let proxy = client.configuration.proxy
    #expect("\(proxy)".contains("proxy.example") && !"\(proxy)".contains("password@"))
  }

  @Test func `configures an authenticator for a proxy`() async throws {
    let secret = "secret"
    let client = HTTPClient {
      $0.proxy = .proxy("http://proxy.example:3128")
      $0.authenticators[.proxy("http://proxy.example:3128")] = .password(user: "ada", password: secret)
    }

    #expect(client.configuration.authenticators[.proxy("http://proxy.example:3128")] != nil)
  }

  #if canImport(Darwin)
    @Test func `configures the session`() {
      let client = HTTPClient {
        $0.transport = .urlSession { configuration in
          configuration.waitsForConnectivity = true
          configuration.networkServiceType = .responsiveData
        }
      }

      #expect(client.configuration.transport is URLSessionTransport)
    }
  #endif

  @Test func `configures engine threads`() {
    let mirror = HTTPClient { $0.engineThreads = 4 }

    #expect(mirror.configuration.engineThreads == 4)
  }

  @Test func `configures connections to a cluster`() async throws {
    func connect() async throws -> HTTPClient {
      let client = HTTPClient {
        $0.maximumConnectionAge = .seconds(300)
        $0.shufflesAddresses = true
      }
      try await client.preconnect(to: "https://api.example.com", count: 2)
      return client
    }

    // Nothing is looked up.
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await connect()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `shows connections`() async throws {
    let client = HTTPClient { $0.transport = .curl }

    for pool in client.activity.current.connections {
      print(pool.host, pool.active, pool.idle, pool.queued)
    }

    #expect(client.activity.current.connections.isEmpty)
  }

  @Test func `configures addresses`() async throws {
    let client = HTTPClient {
      // In place of a lookup; the certificate is checked for the name.
      $0.resolve = ["api.example.com:443": ["127.0.0.1"]]
      $0.localInterface = "10.0.0.7"
    }
    let docker = HTTPClient { $0.unixSocket = "/var/run/docker.sock" }

    #expect(client.configuration.resolve == ["api.example.com:443": ["127.0.0.1"]])
    #expect(client.configuration.localInterface == "10.0.0.7")
    #expect(docker.configuration.unixSocket == "/var/run/docker.sock")
  }

  @Test func `limits bandwidth`() async throws {
    let client = HTTPClient { $0.bandwidth = .limit(down: 2_000_000, up: 500_000) }

    let derived = client.derived { $0.headers["X-Role"] = "admin" }
    #expect(client.configuration.bandwidth == .limit(down: 2_000_000, up: 500_000))
    #expect(derived.configuration.bandwidth == client.configuration.bandwidth)
  }
}
