#if canImport(Darwin) || URLSession
  import Foundation
  import Testing

  @testable import Martlet

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  @Suite(.hangLimit) struct SessionRoutesTests {
    @Test func `keeps the values that were used last`() {
      var recent = RecentlyUsed<SessionRoute, Int>(maximumCount: 2)
      #expect(recent.use(.system) == nil)

      #expect(recent.insert(1, for: .system) == nil)
      #expect(recent.insert(2, for: .direct) == nil)
      #expect(recent.use(.system) == 1)
      #expect(recent.insert(3, for: .proxy("http://p.test")) == 2)
      #expect(recent.use(.direct) == nil)
      #expect(recent.values == [1, 3])
      #expect(recent.insert(4, for: .system) == 1)
      #expect(recent.values == [3, 4])
      #expect(recent.use(.proxy("http://p.test")) == 3)
      #expect(recent.use(.proxy("http://user:word@p.test")) == nil)
    }

    static let codes: [(Int, HTTPError.Kind)] = [
      (306, .cannotConnect), (310, .cannotConnect), (311, .cannotConnect), (307, .authenticationFailed),
      (121, .cannotConnect), (122, .authenticationFailed), (1, .protocolViolation),
    ]

    @Test(arguments: codes) func `maps CFNetwork's errors about proxies`(_ code: Int, _ kind: HTTPError.Kind) {
      let error = URLSessionErrors.map(
        NSError(domain: "kCFErrorDomainCFNetwork", code: code), phase: .connecting, hasHead: false, hasMoved: false,
        upload: nil)

      #expect(error.kind == kind)
      #expect(error.mayHaveReachedServer == (kind == .protocolViolation))
    }

    static let phases: [(HTTPError.Phase, Bool)] = [
      (.queued, false), (.connecting, false), (.sending, true), (.waiting, true), (.receiving, true),
    ]

    @Test(arguments: phases) func `a network that goes away after the request does not undo it`(
      _ phase: HTTPError.Phase, _ isSent: Bool
    ) {
      for code in [URLError.Code.notConnectedToInternet, .secureConnectionFailed, .cannotConnectToHost] {
        let error = URLSessionErrors.map(
          URLError(code), phase: phase, hasHead: false, hasMoved: false, upload: nil)

        #expect(error.mayHaveReachedServer == isSent)
        #expect(error.phase == (isSent ? phase : .connecting))
      }
    }
  }
#endif
