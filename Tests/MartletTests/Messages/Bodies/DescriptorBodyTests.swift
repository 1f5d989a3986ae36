import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Bodies that are read from open descriptors.
@Suite(.hangLimit) struct DescriptorBodyTests {
  /// A file with a text, open for reading.
  private static func open(_ text: String, in folder: TemporaryFolder) throws -> FileHandle {
    try FileHandle(forReadingFrom: try folder.write(Data(text.utf8), to: "body"))
  }

  @Test func `sends the bytes from the current position to the end, once`() async throws {
    let folder = try TemporaryFolder()
    let file = try Self.open("0123456789", in: folder)
    try file.seek(toOffset: 4)
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })
    let body = HTTPBody.descriptor(file.fileDescriptor)

    #expect((body.length, body.isReplayable) == (nil, false))
    #expect(try await body.collected().bytes() == Data("456789".utf8))
    let error = await #expect(throws: HTTPError.self) { try await client.post("/", body: body) }

    #expect(error?.kind == .bodyNotReplayable)
    try file.close()
  }

  @Test func `is a part of a form`() async throws {
    let folder = try TemporaryFolder()
    let file = try Self.open("content", in: folder)

    let body = HTTPBody.multipart(boundary: "b") {
      $0.add(.descriptor(file.fileDescriptor, length: 7, contentType: nil), for: "log", filename: "a.log")
    }
    let text = String(decoding: try await body.collected().bytes(), as: UTF8.self)

    #expect(text.contains("name=\"log\"; filename=\"a.log\"\r\n\r\ncontent\r\n--b--"))
    try file.close()
  }

  @Test(arguments: [-1, 1 << 30] as [Int32])
  func `a descriptor that is not open fails the request`(number: Int32) async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })

    let error = await #expect(throws: HTTPError.self) { try await client.post("/", body: .descriptor(number)) }

    #expect(error?.kind == .fileFailed)
    #expect(error?.description.contains("descriptor \(number) cannot be read") == true)
  }

  @Test func `reads the announced bytes and nothing after them`() async throws {
    let folder = try TemporaryFolder()
    let file = try Self.open("0123456789", in: folder)

    let first = HTTPBody.descriptor(file.fileDescriptor, length: 4)
    let empty = HTTPBody.descriptor(file.fileDescriptor, length: 0)

    #expect(try await first.collected().bytes() == Data("0123".utf8))
    #expect(try await empty.collected().bytes() == Data())
    #expect(try file.readToEnd() == Data("456789".utf8))
    try file.close()
  }

  @Test func `the end of a pipe for writing fails the request`() async throws {
    let pipe = Pipe()
    let number = pipe.fileHandleForWriting.fileDescriptor
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })

    let error = await #expect(throws: HTTPError.self) { try await client.post("/", body: .descriptor(number)) }

    #expect(error?.kind == .fileFailed)
    #expect(error?.description.contains("descriptor \(number) cannot be read") == true)
  }
}
