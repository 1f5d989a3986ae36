#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Certificate files in a separate process that has no descriptors left.
  @Suite(.ownThreads, .needs(.proc), .hangLimit) struct TLSFileTests {
    /// Opens all descriptors that the process may open, up to a limit above those in use: a child process inherits
    /// others.
    static func takeDescriptors() throws -> [Int32] {
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { rlim_t($0) }
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      var limit = rlimit()
      getrlimit(resource, &limit)
      limit.rlim_cur = min(limit.rlim_max, (open.max() ?? 0) + 200)
      setrlimit(resource, &limit)
      var taken: [Int32] = []
      // Other code in the process, such as a starting server, may close a descriptor slightly later.
      var quietTurns = 0
      while quietTurns < 20 {
        let descriptor = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
        if descriptor >= 0 {
          taken.append(descriptor)
          quietTurns = 0
        } else {
          quietTurns += 1
          usleep(5_000)
        }
      }
      return taken
    }

    @Test func `a file that hit the descriptor limit is read by a later request`() async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let folder = try TemporaryFolder()
        let file = try folder.write("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", to: "a.pem")
        let key = try folder.write("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n", to: "key.pem")
        let p12 = try folder.write(Data([0x30, 0]), to: "a.p12")
        let server = try MockServer(.ok("in"))
        let url = RequestTarget(server.url)

        let taken = try TLSFileTests.takeDescriptors()
        let certificates: [TLSSettings.ClientCertificate?] = [nil, .pem(certificate: file, key: key), .pkcs12(p12)]
        let clients = certificates.map { certificate in
          HTTPClient {
            $0.transport = .curl
            $0.tls = certificate == nil ? .customRoots(pem: file) : .system
            $0.tls.clientCertificate = certificate
          }
        }
        let lost = HTTPClient { $0.tls = .customRoots(pem: URL(filePath: "/nowhere")) }
        var errors: [HTTPError?] = []
        for client in clients + [lost] {
          errors.append(await #expect(throws: HTTPError.self) { try await client.get(url) })
        }
        for descriptor in taken { close(descriptor) }

        #expect(errors.map { $0?.kind } == [.fileFailed, .fileFailed, .fileFailed, .fileFailed])
        #expect(errors[0]?.message.contains("cannot be read: Too many open files") == true, "\(errors)")
        for client in clients {
          #expect(client.core.settings.isUnread)
          #expect(try await client.get(url).text == "in")
          #expect(client.core.settings.problem == nil)
        }
        let last = await #expect(throws: HTTPError.self) { try await lost.get(url) }
        #expect(last?.kind == .invalidRequest && last?.message.contains("does not exist") == true)
      }
      Figures.show(child)
    }
  }
#endif
