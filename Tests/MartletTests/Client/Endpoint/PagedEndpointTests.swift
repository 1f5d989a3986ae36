import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct PagedEndpointTests {
  struct Page: Codable, Equatable, Sendable { var items: [Int] }

  struct GetPages: PagedEndpoint {
    typealias Output = Page
    var number = 1
    var recoversFrom: HTTPStatus?
    var target: RequestTarget { "/pages" }
    var query: Query { ["page": number] }

    func next(after page: Page, response: HTTPResponse) -> GetPages? {
      guard response.headers["X-Next"] != nil else { return nil }
      var following = self
      following.number += 1
      return following
    }

    func recover(from error: HTTPError) throws -> Page {
      guard error.status == recoversFrom else { throw error }
      return Page(items: [])
    }
  }

  private static func transport(
    pages: Int, _ special: [Int: @Sendable () async throws -> StubResponse] = [:]
  ) -> StubTransport {
    StubTransport { request in
      let number = Int(request.url?.query()?.dropFirst("page=".count) ?? "") ?? 0
      if let special = special[number] { return try await special() }
      return .json(#"{"items":[\#(number)]}"#, headers: number < pages ? ["X-Next": "1"] : [:])
    }
  }

  @Test func `yields all pages in order`() async throws {
    let transport = Self.transport(pages: 4)
    var items: [Int] = []

    for try await page in HTTPClient.stubbed(transport).pages(of: GetPages()) { items += page.items }

    #expect(items == [1, 2, 3, 4])
    #expect(transport.requests.count == 4)
  }

  @Test func `requests each page only when it is read`() async throws {
    let transport = Self.transport(pages: 4)
    let pages = HTTPClient.stubbed(transport).pages(of: GetPages())
    #expect(transport.requests.isEmpty)

    var iterator = pages.makeAsyncIterator()
    _ = try await iterator.next()
    await letOthersRun()
    let afterFirst = transport.requests.count
    _ = try await iterator.next()

    #expect(afterFirst == 1)
    #expect(transport.requests.count == 2)
  }

  @Test func `leaving the loop requests no further pages`() async throws {
    let transport = Self.transport(pages: 4)

    for try await page in HTTPClient.stubbed(transport).pages(of: GetPages()) where page.items == [2] { break }

    #expect(transport.requests.count == 2)
  }

  @Test func `an error ends the sequence`() async throws {
    let transport = Self.transport(pages: 4, [2: { .status(500) }])
    let client = HTTPClient.stubbed(transport)
    let seen = Log<Page?>()

    let error = await #expect(throws: HTTPError.self) {
      var iterator = client.pages(of: GetPages()).makeAsyncIterator()
      seen.add(try await iterator.next())
      do { seen.add(try await iterator.next()) } catch {
        seen.add(try await iterator.next())
        throw error
      }
    }

    #expect(error?.status == 500)
    #expect(seen.elements == [Page(items: [1]), nil])
    #expect(transport.requests.count == 2)
  }

  @Test func `a page recovered from an error is the last one`() async throws {
    let transport = Self.transport(pages: 4, [2: { .status(404) }])
    var pages: [Page] = []

    for try await page in HTTPClient.stubbed(transport).pages(of: GetPages(recoversFrom: .notFound)) {
      pages.append(page)
    }

    #expect(pages == [Page(items: [1]), Page(items: [])])
  }

  @Test func `cancelling the task cancels the running page request`() async throws {
    let client = HTTPClient.stubbed(Self.transport(pages: 4, [2: { try await untilCancelled() }]))
    let seen = Log<Page>()
    let reading = Task {
      for try await page in client.pages(of: GetPages()) { seen.add(page) }
    }
    // Wait until the second page is requested.
    await client.wait { !seen.elements.isEmpty && client.activity.isInUse(GetPages.self) }

    reading.cancel()

    await #expect(throws: CancellationError.self) { try await reading.value }
    #expect(seen.elements == [Page(items: [1])])
    #expect(client.activity.current.totals.cancelled == 1)
  }
}
