#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import MartletBase
  @testable import Martlet

  /// Martlet's URL parser and libcurl's never see two different hosts in one text, which would bypass every check.
  @Suite(.hangLimit) struct URLDifferenceTests {
    /// libcurl's own parser (`curl_url`), called directly.
    private struct Peer {
      private typealias Make = @convention(c) () -> OpaquePointer?
      private typealias Free = @convention(c) (OpaquePointer?) -> Void
      private typealias Set = @convention(c) (OpaquePointer?, CInt, UnsafePointer<CChar>?, CUnsignedInt) -> CInt
      private typealias Get =
        @convention(c) (
          OpaquePointer?, CInt, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, CUnsignedInt
        ) -> CInt
      private typealias FreeText = @convention(c) (UnsafeMutablePointer<CChar>?) -> Void

      private let make: Make
      private let free: Free
      private let set: Set
      private let get: Get
      private let freeText: FreeText

      init() throws {
        let library = try #require(dlopen("libcurl.so.4", RTLD_NOW))
        make = unsafeBitCast(try #require(dlsym(library, "curl_url")), to: Make.self)
        free = unsafeBitCast(try #require(dlsym(library, "curl_url_cleanup")), to: Free.self)
        set = unsafeBitCast(try #require(dlsym(library, "curl_url_set")), to: Set.self)
        get = unsafeBitCast(try #require(dlsym(library, "curl_url_get")), to: Get.self)
        freeText = unsafeBitCast(try #require(dlsym(library, "curl_free")), to: FreeText.self)
      }

      /// Returns scheme, host and port, or `nil` if libcurl would not accept the URL for a request.
      func origin(of text: String) -> Origin? {
        guard let url = make() else { return nil }
        defer { free(url) }
        // 0 is CURLUPART_URL.
        guard set(url, 0, text, 0) == 0, let scheme = part(url, 1), let host = part(url, 5), let port = part(url, 6),
          let number = Int(port)
        else { return nil }
        return Origin(scheme: scheme, host: URLDifferenceTests.spelled(host), port: number)
      }

      func path(of text: String) -> String? {
        guard let url = make() else { return nil }
        defer { free(url) }
        return set(url, 0, text, 0) == 0 ? part(url, 7) : nil
      }

      private func part(_ url: OpaquePointer, _ part: CInt) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        // 1 is CURLU_DEFAULT_PORT.
        guard get(url, part, &text, 1) == 0, let text else { return nil }
        defer { freeText(text) }
        return String(cString: text)
      }
    }

    private static let samples = [
      "http://a.test/b?c=d#e", "https://user:word@a.test:8443/x/../y", "http://[::1]:8080/", "http://127.0.0.1/",
      "https://a.test:443", "http://a.b.c.test/@x:1/?q=@z", "HTTP://A.test:80/%2e%2E/", "http://a.test\\@b.test/",
      "http://a.test#@b.test/", "http://a.test?@b.test/", "http://a@b@c.test/", "http://a.test:80:81/",
      "http://1.2.3.4.5/",
      "http://0x7f.1/", "http://[::ffff:1.2.3.4]/", "http://a_b.test./", "http://xn--bcher-kva.test/",
    ]
    private static let pieces = Array("@:/\\?#[]%.&=; \t\r\n\u{0}09afAF-_~+'\"<>{}|^`é。/:@/:@".unicodeScalars)

    /// An IPv6 address has many spellings; a name has one, apart from its case.
    private static func spelled(_ host: String) -> String {
      host.hasPrefix("[") ? IPAddress(host).map { "\($0.bytes)" } ?? host : host.lowercased()
    }

    private static func mutated(_ random: inout SeededGenerator) -> String {
      var scalars = Array((samples.randomElement(using: &random) ?? "").unicodeScalars)
      for _ in 0..<Int.random(in: 0...4, using: &random) where !scalars.isEmpty {
        let place = Int.random(in: 0..<scalars.count, using: &random)
        let piece = pieces.randomElement(using: &random) ?? "/"
        switch Int.random(in: 0..<4, using: &random) {
        case 0: scalars[place] = piece
        case 1: scalars.remove(at: place)
        case 2: scalars.insert(piece, at: place)
        default: scalars.insert(scalars[Int.random(in: 0..<scalars.count, using: &random)], at: place)
        }
      }
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars)
      return String(text)
    }

    @Test func `Martlet and libcurl parse the same host and port, or one rejects the URL`() throws {
      let peer = try Peer()
      let seed = Figures.setting("MARTLET_FUZZ_SEED") ?? Int.random(in: 0...Int.max)
      Figures.record("URLs: MARTLET_FUZZ_SEED=\(seed)")
      var random = SeededGenerator(seed: UInt64(bitPattern: Int64(seed)))
      var agreed = 0
      var refused = 0
      let rounds = Stress.count(1_000, full: 20_000)
      for _ in 0..<rounds {
        let text = Self.mutated(&random)
        guard let url = try? AbsoluteURL.parse(text) else {
          refused += 1
          continue
        }
        // libcurl receives the parsed URL, never the text itself.
        let given = url.requestString
        let own = Origin(scheme: url.scheme, host: Self.spelled(url.host), port: url.effectivePort)
        #expect(peer.origin(of: given) == own, "\(given.debugDescription), seed \(seed)")
        #expect(peer.path(of: given) == url.path, "\(given.debugDescription), seed \(seed)")
        guard text.utf8.allSatisfy({ $0 < 0x80 }), let origin = peer.origin(of: text) else { continue }
        agreed += 1
        #expect(origin == own, "\(text.debugDescription), seed \(seed)")
      }
      #expect(agreed > rounds / 10 && refused > rounds / 10, "\(agreed) agreed, \(refused) refused")
    }
  }
#endif
