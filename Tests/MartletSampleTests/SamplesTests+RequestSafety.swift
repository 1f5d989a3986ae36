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

  @Test func `copies octets, and allows a field at other origins`() async throws {
    let transport = StubTransport { _ in
      .status(.ok, headers: HTTPHeaders([.init(name: "ETag", octets: [0x22, 0xE9, 0x22])]))
    }
    let client = Self.client(transport)
    await client.update { $0.crossOriginHeaders = ["X-Request-Signature"] }

    let response = try await client.get("/a")
    var request = HTTPRequest.put("/a", body: .text("b"))
    request.headers[octets: "If-Match"] = response.headers[octets: "ETag"]
    try await client.send(request)

    #expect(transport.requests.last?.headers[octets: "If-Match"] == [0x22, 0xE9, 0x22])
  }
}
