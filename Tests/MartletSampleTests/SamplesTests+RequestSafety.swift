import Foundation
import Martlet
import MartletTesting
import Testing

extension SamplesTests {
  @Test func `sets connection fields and derives a safe file name`() async throws {
    let transport = StubTransport { _ in
      .status(.ok, headers: ["Content-Disposition": "attachment; filename=\"../../etc/passwd\""])
    }
    let client = Self.client(transport)
    let folder = URL(filePath: "/srv/downloads")

    let response = try await client.get("/status", headers: ["Connection": "close", "Host": "virtual.example"])
    let name = response.suggestedFilename ?? "download"
    let file = folder.appending(path: name)

    #expect(transport.requests.first?.headers["Host"] == "virtual.example")
    #expect(file.path() == "/srv/downloads/passwd")
  }
}
