import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

extension SamplesTests {
  @Test func `logs in with cookies`() async throws {
    let (name, password) = ("ada", "secret")
    let transport = StubTransport { request in
      request.method == .post ? .status(.ok, headers: ["Set-Cookie": "sid=1"]) : .text("x")
    }
    let client = Self.client(transport)

    try await client.post("/login", body: .form(["user": name, "password": password]))
    let page = try await client.get("/account")
    print(page.cookies.map(\.name), await client.cookies.all.count)

    #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "sid=1"])
  }

  @Test func `stores cookies in a file`() async throws {
    let client = HTTPClient { $0.cookies = .file(URL(filePath: "/var/lib/me/cookies")) }

    // The file does not exist.
    #expect(await client.cookies.all.isEmpty)
    #expect(await client.cookies.problem == nil)
  }

  @Test func `reads and changes the cookie jar`() async throws {
    let client = HTTPClient()
    await client.cookies.set(Cookie("a", "1", domain: "shop.example"))

    let cookies = await client.cookies.cookies(for: "https://shop.example/cart")
    await client.cookies.set(Cookie("theme", "dark", domain: "shop.example"))
    await client.cookies.removeAll(sessionOnly: true)

    #expect(cookies.map(\.value) == ["1"])
    #expect(await client.cookies.all.isEmpty)
  }

  @Test func `uses one cookie jar per user`() async throws {
    let user = (name: "ada", jar: CookieJar())
    await user.jar.set(Cookie("who", user.name, domain: "shop.example"))
    let transport = StubTransport { _ in .text("x") }
    func shop() async throws {
      let client = HTTPClient { $0.cookies = .off }
      let cart = try await client.get("https://shop.example/cart", options: .cookies(.jar(user.jar)))
      _ = cart
    }
    _ = shop

    let client = HTTPClient {
      $0.cookies = .off
      $0.transport = transport
    }
    _ = try await client.get("https://shop.example/cart", options: .cookies(.jar(user.jar)))

    #expect(transport.requests.map { $0.headers["Cookie"] } == ["who=ada"])
  }

  @Test func `sends cookies without a jar`() async throws {
    let token = "abc"
    let transport = StubTransport { _ in .text("x") }

    let once = RequestOptions.cookies(.only([Cookie("token", token)]))
    let plain = RequestOptions.cookies(.off)
    for options in [once, plain] { _ = try await Self.client(transport).get("/", options: options) }

    #expect(transport.requests.map { $0.headers["Cookie"] } == ["token=abc", nil])
  }

  @Test func `shares cookies with curl`() async throws {
    try TemporaryFolder.requireRoom()
    let file = FileManager.default.temporaryDirectory.appending(path: "cookies-\(UUID().uuidString).txt")
    try Data("#HttpOnly_.x.test\tTRUE\t/\tFALSE\t0\ta\t1\n".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let client = HTTPClient()

    await client.cookies.add(netscape: try String(contentsOf: file, encoding: .utf8))
    let text = await client.cookies.netscape

    #expect(text.hasSuffix("#HttpOnly_.x.test\tTRUE\t/\tFALSE\t0\ta\t1\n"))
  }
}
