import Foundation
import MartletTesting
import TestSupport
import Testing

/// The tool with a third-party server.
@Suite(.hangLimit) struct ToolNginxTests {
  @Test(.needs(.nginx)) func `prints the status, header fields and body of an nginx response`() async throws {
    let server = try await NginxServer(files: ["file.txt": "served by nginx\n"])

    let found = try await ToolProcess.martlet("GET", "\(server.url)/file.txt", "-i")
    let missing = try await ToolProcess.martlet("GET", "\(server.url)/none", "-i")

    #expect(found.status == 0)
    #expect(found.text.hasPrefix("HTTP") && found.text.contains(" 200 OK\n"))
    #expect(found.text.contains("\nServer: nginx") && found.text.contains("\nContent-Type: text/plain\n"))
    #expect(found.text.hasSuffix("\n\nserved by nginx\n"))
    #expect(missing.status == 4 && missing.text.contains(" 404 Not Found\n"))
    withExtendedLifetime(server) {}
  }
}
