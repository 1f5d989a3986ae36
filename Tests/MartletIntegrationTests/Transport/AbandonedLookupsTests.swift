#if os(Linux)
  import CMartletShim
  import Foundation
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet

  @Suite(.hangLimit) struct AbandonedLookupsTests {
    /// The sockets of a libcurl lookup: libcurl's end of a pair, and the end of the lookup thread.
    private struct Lookup {
      let own: CInt
      let thread: CInt

      init() throws {
        let pair = try makeSocketPair()
        (own, thread) = (pair[0], pair[1])
        for end in pair { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      }
    }

    private static let origin = Origin(scheme: "http", host: "a.test", port: 80)

    private let limiter = ConnectionLimiter(perOrigin: 1, total: 1)
    private let wake = martlet_wake_new()
    private let owner = NSObject()

    /// Returns the sockets that have events.
    private func events(_ poll: CInt) -> [CInt] {
      var events = [martlet_event](repeating: martlet_event(), count: 8)
      let count = martlet_poll_wait(poll, &events, 8, 0)
      return events.prefix(Int(count)).map(\.socket)
    }

    @Test func `a slot stays occupied until its lookup thread ends`() throws {
      let poll = martlet_poll_new(wake)
      defer { for descriptor in [poll, wake] { close(descriptor) } }
      var lookups = AbandonedLookups(poll: poll)
      let lookup = try Lookup()
      let slot = try #require(limiter.take(for: Self.origin))

      lookups.closes(lookup.own, of: owner)
      close(lookup.own)
      lookups.ends(owner, slot: slot)
      slot.release()
      #expect(limiter.take(for: Self.origin) == nil && !lookups.isEmpty && lookups.time != nil)
      #expect(events(poll).isEmpty)
      lookups.act(on: wake)
      #expect(!lookups.isEmpty)

      close(lookup.thread)
      // A child process of another test may briefly have a copy of the socket.
      for _ in 0..<10_000 where !lookups.isEmpty {
        for socket in events(poll) { lookups.act(on: socket) }
        usleep(1_000)
      }
      #expect(lookups.isEmpty && lookups.time == nil)
      #expect(limiter.take(for: Self.origin) != nil)
    }

    @Test func `a transfer that continues keeps its slot`() throws {
      let poll = martlet_poll_new(wake)
      defer { for descriptor in [poll, wake] { close(descriptor) } }
      var lookups = AbandonedLookups(poll: poll)
      let lookup = try Lookup()
      let slot = try #require(limiter.take(for: Self.origin))

      // Another transfer's lookup of the same name was faster.
      lookups.closes(lookup.own, of: owner)
      close(lookup.own)
      close(lookup.thread)
      for _ in 0..<10_000 where !lookups.isEmpty {
        for socket in events(poll) { lookups.act(on: socket) }
        usleep(1_000)
      }

      lookups.ends(owner, slot: slot)
      #expect(limiter.take(for: Self.origin) == nil)
      slot.release()
      #expect(limiter.take(for: Self.origin) != nil)
    }

    @Test func `a lookup that has delivered its addresses has ended`() throws {
      let poll = martlet_poll_new(wake)
      defer { for descriptor in [poll, wake] { close(descriptor) } }
      var lookups = AbandonedLookups(poll: poll)
      let lookup = try Lookup()
      defer { for descriptor in [lookup.own, lookup.thread] { close(descriptor) } }
      let slot = try #require(limiter.take(for: Self.origin))

      try #require(send(lookup.thread, "x", 1, 0) == 1)
      lookups.closes(lookup.own, of: owner)

      #expect(lookups.isEmpty)
      slot.release()
      #expect(limiter.take(for: Self.origin) != nil)
    }

    /// An `eventfd` reports that the addresses are available, but not the end of an abandoned lookup.
    @Test(
      arguments: [(0x08_08ff, false), (0x08_0900, true), (0x08_1300, true), (0x08_1400, false)] as [(UInt32, Bool)])
    func `a slot is held for a second if libcurl does not report the end of a lookup`(version: UInt32, isKept: Bool)
      throws
    {
      let poll = martlet_poll_new(wake)
      defer { for descriptor in [poll, wake] { close(descriptor) } }
      var lookups = AbandonedLookups(poll: poll, version: version)
      let slot = try #require(limiter.take(for: Self.origin))
      let start = martlet_microseconds()

      let event = martlet_wake_new()
      lookups.closes(event, of: owner)
      close(event)
      lookups.ends(owner, slot: slot)
      slot.release()
      lookups.endOverdue(at: start + 999_999)
      #expect(lookups.isEmpty == !isKept)
      #expect((limiter.take(for: Self.origin) == nil) == isKept)
      #expect(events(poll).isEmpty)

      lookups.endOverdue(at: martlet_microseconds() + 1_000_000)
      #expect(lookups.isEmpty)
      #expect(limiter.take(for: Self.origin) != nil)
    }

    @Test func `the hold time grows with the number of held slots, up to 20 seconds`() throws {
      let poll = martlet_poll_new(wake)
      defer { for descriptor in [poll, wake] { close(descriptor) } }
      var lookups = AbandonedLookups(poll: poll, version: 0x08_0e01)
      let told = martlet_wake_new()
      martlet_wake(told)
      lookups.closes(told, of: owner)
      close(told)
      #expect(lookups.isEmpty)
      let start = martlet_microseconds()

      for count in 1...30 {
        let event = martlet_wake_new()
        lookups.closes(event, of: owner)
        close(event)
        #expect(lookups.count == count)
      }

      for second in 1...19 {
        lookups.endOverdue(at: start + Int64(second) * 1_000_000 - 1)
        #expect(lookups.count >= 31 - second)
      }
      lookups.endOverdue(at: martlet_microseconds() + 20_000_000)
      #expect(lookups.isEmpty)
    }

    @Test func `the end of a loop releases all slots and descriptors`() throws {
      let poll = martlet_poll_new(wake)
      defer { for descriptor in [poll, wake] { close(descriptor) } }
      var lookups = AbandonedLookups(poll: poll)
      let lookup = try Lookup()
      let slot = try #require(limiter.take(for: Self.origin))

      lookups.closes(lookup.own, of: owner)
      close(lookup.own)
      lookups.ends(owner, slot: slot)
      lookups.endAll()

      #expect(lookups.isEmpty)
      #expect(limiter.take(for: Self.origin) != nil)
      // A child process of another test may briefly have a copy. After that, the socket has no peer.
      var isAlone = false
      for _ in 0..<10_000 where !isAlone {
        isAlone = send(lookup.thread, "x", 1, CInt(MSG_NOSIGNAL | MSG_DONTWAIT)) == -1 && errno == EPIPE
        if !isAlone { usleep(1_000) }
      }
      #expect(isAlone)
      close(lookup.thread)
    }
  }
#endif
