import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletBase

@Suite(.hangLimit) struct ResponseBodyTests {
  struct Broken: Error, Equatable {}

  private static func pulling(_ pieces: [String], _ calls: Log<Int> = Log()) -> ResponseBody {
    ResponseBody {
      let index = calls.elements.count
      calls.add(index)
      return index < pieces.count ? Data(pieces[index].utf8) : nil
    }
  }

  private static func pieces(_ body: ResponseBody) async throws -> [String] {
    var pieces: [String] = []
    for try await piece in body { pieces.append(String(decoding: piece, as: UTF8.self)) }
    return pieces
  }

  @Test func `a body in memory is delivered in one chunk`() async throws {
    #expect(try await Self.pieces(ResponseBody(Data("abc".utf8))) == ["abc"])
    #expect(try await Self.pieces(ResponseBody()).isEmpty)
  }

  @Test func `pulls chunks one by one and skips empty ones`() async throws {
    let calls = Log<Int>()

    let pieces = try await Self.pieces(Self.pulling(["a", "", "bc"], calls))

    #expect(pieces == ["a", "bc"])
    #expect(calls.elements == [0, 1, 2, 3])
  }

  @Test func `does not pull again after the end`() async throws {
    let calls = Log<Int>()
    var iterator = Self.pulling(["a"], calls).makeAsyncIterator()

    _ = try await iterator.next()
    _ = try await iterator.next()
    let after = try await iterator.next()

    #expect(after == nil)
    #expect(calls.elements.count == 2)
  }

  @Test func `an error ends the body`() async throws {
    let calls = Log<Int>()
    let body = ResponseBody {
      calls.add(1)
      throw Broken()
    }
    let after = Log<Data?>()

    await #expect(throws: Broken()) {
      var iterator = body.makeAsyncIterator()
      do { after.add(try await iterator.next()) } catch {
        after.add(try await iterator.next())
        throw error
      }
    }

    #expect(after.elements == [nil])
    #expect(calls.elements.count == 1)
  }

  enum Kind: CaseIterable { case data, stream, pull }

  private static func body(_ kind: Kind, _ text: String) -> ResponseBody {
    switch kind {
    case .data: return ResponseBody(Data(text.utf8))
    case .pull: return pulling(text.map { String($0) })
    case .stream:
      let stream = BodyStream(from: ClosureSource())
      stream.append(Data(text.utf8))
      stream.finish()
      return ResponseBody(stream)
    }
  }

  @Test(arguments: Kind.allCases) func `collects exactly up to the limit`(kind: Kind) async throws {
    let whole = try await Self.body(kind, "abcde").collect(upTo: 5)
    let error = try await #require(throws: HTTPError.self) { try await Self.body(kind, "abcde").collect(upTo: 4) }

    #expect(whole == Data("abcde".utf8))
    #expect(error.kind == .bodyTooLarge)
    #expect(error.phase == .receiving)
  }

  @Test(arguments: Kind.allCases) func `reads the beginning of a long body`(kind: Kind) async throws {
    let (data, isWhole) = try await Self.body(kind, "abcde").read(upTo: 3)

    #expect(data == Data("abc".utf8))
    #expect(!isWhole)
  }

  @Test func `stops pulling once the limit is exceeded`() async throws {
    let calls = Log<Int>()

    _ = try await Self.pulling(["ab", "cd", "ef", "gh"], calls).read(upTo: 3)

    #expect(calls.elements.count == 2)
  }

  @Test func `releasing the body abandons its stream`() {
    let abandoned = Log<Int>()
    var body: ResponseBody? = ResponseBody(BodyStream(from: ClosureSource(onLeft: { abandoned.add(1) })))
    var copy = body
    body = nil
    let whileCopied = abandoned.elements.count

    copy = nil

    #expect(whileCopied == 0)
    #expect(abandoned.elements == [1])
    #expect(copy == nil && body == nil)
  }

  @Test func `leaving the loop abandons the stream`() async throws {
    let abandoned = Log<Int>()
    let stream = BodyStream(from: ClosureSource(onLeft: { abandoned.add(1) }))
    stream.append(Data("ab".utf8))

    func readOnePiece() async throws {
      for try await _ in ResponseBody(stream) { break }
    }
    try await readOnePiece()

    await abandoned.wait(for: 1)
    #expect(abandoned.elements == [1])
  }

  @Test func `reading a body after it exceeded its limit is an error`() async throws {
    let stream = BodyStream(from: ClosureSource())
    stream.append(Data("abcdef".utf8))
    let body = ResponseBody(stream)
    await #expect(throws: HTTPError.self) { try await body.collect(upTo: 3) }

    let error = await #expect(throws: HTTPError.self) { try await Self.pieces(body) }
    #expect(error?.kind == .unsupported)
  }
}
