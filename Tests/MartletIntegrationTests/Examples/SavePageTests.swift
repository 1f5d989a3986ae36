#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// The example `SavePage`.
  @Suite(.hangLimit) struct SavePageTests {
    private static let page = """
      <html><head><meta charset="utf-8"><link rel="icon" href="icon.png">\r
      <LINK href='css/main.css' REL="Alternate Stylesheet"><style>b { background:url(../img/logo.png) }</style>
      <script async src=/app.js?a=1&amp;b=2></script></head><body><a href="other.html">für Ω</a>
      <img alt="a > b" data-src="no.png" src="../img/logo.png"><img src="//HOST/else/logo.png#top">
      <img src="gone.png"><img src="data:image/png;base64,AAAA"><img src=""></body></html>
      """
    private static let style = """
      @import url("more.css"); @import 'print.css';
      a { background: URL( 'my picture.png' ) } /* ü */ b { background:url(../../img/logo.png) }
      """

    private static func server() throws -> MockServer {
      let host = Shared("")
      let css: KeyValuePairs = ["Content-Type": "text/css; charset=utf-8"]
      let server = try MockServer(answering: { request in
        let html = page.replacingOccurrences(of: "HOST", with: host.withLock { $0 })
        return switch request.target {
        case "/old": .redirect(to: "/news/today/")
        case "/news/today/": .ok(html, headers: ["Content-Type": "text/html"])
        case "/news/today/css/main.css": .ok(style, headers: css)
        case "/news/today/css/more.css": .ok("@import 'main.css';", headers: css)
        case "/news/today/css/print.css": .ok("", headers: css)
        case "/app.js?a=1&b=2": .ok("url(no.png)", headers: ["Content-Disposition": "inline; filename=../index.html"])
        case "/news/img/logo.png", "/else/logo.png", "/news/today/css/my%20picture.png": .ok(request.target)
        default: .status(404)
        }
      })
      host.withLock { $0 = "127.0.0.1:\(server.port)" }
      return server
    }

    @Test func `saves a page with its resources, and leaves links to missing ones unchanged`() async throws {
      let server = try Self.server()
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let program = try ToolProcess.built("SavePage")

      let result = try await ToolProcess(program, [server.url("/old"), folder.path("copy")]).end()

      #expect(result.status == 0, "\(result.errors)")
      #expect(result.text.hasPrefix("saved 8 files in ") && result.errors.contains("100 %  8 of 8"), "\(result.errors)")
      let missing = result.text.split(separator: "\n").dropFirst()
      #expect(missing == ["missing: \(server.url("/news/today/gone.png")): 404 Not Found"])
      let copy = folder.url.appending(path: "copy")
      let read = { (name: String) in try String(contentsOf: copy.appending(path: name), encoding: .utf8) }
      let names = try FileManager.default.contentsOfDirectory(atPath: copy.path()).sorted()
      #expect(
        names == [
          "index (1).html", "index.html", "logo (1).png", "logo.png", "main.css", "more.css", "my picture.png",
          "print.css",
        ])
      #expect(Set([try read("logo.png"), try read("logo (1).png")]) == ["/news/img/logo.png", "/else/logo.png"])
      let isFirst = try read("logo.png") == "/news/img/logo.png"
      let (logo, other) = isFirst ? ("logo.png", "logo%20%281%29.png") : ("logo%20%281%29.png", "logo.png")
      let page = Self.page.replacingOccurrences(of: "css/main.css", with: "main.css")
        .replacingOccurrences(of: "../img/logo.png", with: logo)
        .replacingOccurrences(of: "//HOST/else/logo.png", with: other)
        .replacingOccurrences(of: "/app.js?a=1&amp;b=2", with: "index%20%281%29.html")
      #expect(try read("index.html") == page)
      let style = Self.style.replacingOccurrences(of: "../../img/logo.png", with: logo)
        .replacingOccurrences(of: "my picture", with: "my%20picture")
      #expect(try read("main.css") == style)
      #expect(try read("index (1).html") == "url(no.png)")
      #expect(Set(server.requests.map(\.target)).count == server.requests.count)
    }

    @Test func `refuses a folder that is not empty, and reports a missing page`() async throws {
      let server = try MockServer(.status(404))
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let program = try ToolProcess.built("SavePage")
      try folder.write("mine", to: "taken/index.html")

      let taken = try await ToolProcess(program, [server.url, folder.path("taken")]).end()
      #expect(taken.status == 2 && taken.errors.contains("not empty") && server.requests.isEmpty, "\(taken.errors)")
      #expect(try folder.contents("taken/index.html") == Data("mine".utf8))

      let missing = try await ToolProcess(program, [server.url, folder.path("new")]).end()
      #expect(missing.status == 1 && missing.errors.contains("404"), "\(missing.errors)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("new")).isEmpty)

      let usage = try await ToolProcess(program, ["here"]).end()
      #expect(usage.status == 2 && usage.errors.contains("usage"), "\(usage.errors)")
    }
  }
#endif
