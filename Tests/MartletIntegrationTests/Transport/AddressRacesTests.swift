#if os(Linux)
  import MartletBase
  import Testing
  import TestSupport

  @testable import CurlEngine

  @Suite(.hangLimit) struct AddressRacesTests {
    private static let addresses = (1...20).map {
      SocketAddress(bytes: [2, 0, 0, 80, 10, 0, 0, UInt8($0)] + Array(repeating: 0, count: 8))
    }
    private static let delay = AddressRaces.delay

    private let owner = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
    private var races = AddressRaces()

    /// Starts to connect to the first address, and starts a race between the others when its time is over.
    private mutating func race(_ count: Int) {
      races.opened(5, Self.addresses[0], by: owner, at: 0)
      #expect(races.takeDue(at: Self.delay) == [.silence(5, owner)])
      races.begin(owner, Array(Self.addresses.prefix(count)), at: Self.delay)
    }

    /// Starts a race between two addresses, which the second one wins.
    private mutating func raceWonBySecond(reportedWith port: CInt? = nil) {
      race(2)
      races.moved(5, to: Self.addresses[1], at: Self.delay, reportedWith: port)
      _ = races.connected(5, at: Self.delay)
    }

    @Test mutating func `a socket is silent after 250 ms`() {
      defer { owner.deallocate() }
      #expect(races.isEmpty && races.time == nil)

      races.opened(5, Self.addresses[0], by: owner, at: 1_000)

      let time: Int64 = 1_000 + 250_000
      #expect(races.time == time)
      #expect(races.takeDue(at: 1_000 + 250_000 - 1).isEmpty)
      #expect(races.takeDue(at: 1_000 + 250_000) == [.silence(5, owner)])
      #expect(races.time == nil && !races.isEmpty)
    }

    @Test mutating func `a socket that is connected or closed is not silent`() {
      defer { owner.deallocate() }
      races.opened(5, Self.addresses[0], by: owner, at: 0)
      races.opened(6, Self.addresses[1], by: owner, at: 0)

      #expect(races.closed(5) == owner && races.closed(5) == nil)
      #expect(races.connected(6, at: 1).isEmpty)

      #expect(races.time == nil && races.isEmpty && races.isIdle)
      #expect(races.takeDue(at: .max).isEmpty)
    }

    @Test mutating func `a race tries each other address once, one per 250 ms`() {
      defer { owner.deallocate() }
      race(3)

      #expect(races.takeNext(owner, at: Self.delay) == Self.addresses[1])
      #expect(races.takeDue(at: 2 * Self.delay - 1).isEmpty)
      #expect(races.takeDue(at: 2 * Self.delay) == [.next(owner)])
      #expect(races.takeNext(owner, at: 2 * Self.delay) == Self.addresses[2])
      #expect(races.takeNext(owner, at: 3 * Self.delay) == nil)
    }

    @Test mutating func `the address after a refused one gets its own 250 ms`() {
      defer { owner.deallocate() }
      race(4)
      _ = races.takeNext(owner, at: Self.delay)

      #expect(races.takeNext(owner, at: Self.delay + 1) == Self.addresses[2])

      #expect(races.takeDue(at: 2 * Self.delay).isEmpty)
      #expect(races.takeDue(at: 2 * Self.delay + 1) == [.next(owner)])
    }

    @Test mutating func `a race tries at most 16 addresses`() {
      defer { owner.deallocate() }
      race(20)

      #expect((0..<30).count { _ in races.takeNext(owner, at: Self.delay) != nil } == 16)
    }

    @Test mutating func `ending a race returns its sockets`() {
      defer { owner.deallocate() }
      race(3)
      races.started(7, Self.addresses[1], for: owner, at: Self.delay)
      races.started(8, Self.addresses[2], for: owner, at: Self.delay)
      races.forget(8)

      #expect(races.owner(of: 7)?.address == Self.addresses[1] && races.owner(of: 8) == nil)
      #expect(races.end(owner) == [7])

      #expect(races.owner(of: 7) == nil && races.time == nil && races.isIdle)
    }

    @Test mutating func `a silent address is remembered for a minute, and comes last`() {
      defer { owner.deallocate() }
      race(3)
      races.started(7, Self.addresses[1], for: owner, at: Self.delay)
      races.moved(5, to: Self.addresses[1], at: Self.delay)
      _ = races.connected(5, at: Self.delay)

      races.opened(5, Self.addresses[0], by: owner, at: 2 * Self.delay)
      #expect(races.time == 2 * Self.delay)
      #expect(races.takeDue(at: 2 * Self.delay) == [.silence(5, owner)])
      _ = races.end(owner)
      races.opened(5, Self.addresses[2], by: owner, at: 2 * Self.delay)
      races.begin(owner, Self.addresses.prefix(3).reversed() + [Self.addresses[0]], at: 2 * Self.delay)
      #expect(races.takeNext(owner, at: 2 * Self.delay) == Self.addresses[1])
      #expect(races.takeNext(owner, at: 2 * Self.delay) == Self.addresses[0])
      #expect(races.takeNext(owner, at: 2 * Self.delay) == nil)
      _ = races.end(owner)

      let later = Self.delay + AddressRaces.memory
      races.opened(5, Self.addresses[0], by: owner, at: later)
      #expect(races.time == later + Self.delay)
    }

    @Test mutating func `the address in use is known until its socket closes`() {
      defer { owner.deallocate() }
      #expect(races.actual("10.0.0.1", localPort: 4_000) == nil)

      raceWonBySecond(reportedWith: 4_000)

      #expect(races.actual("10.0.0.1", localPort: 4_000) == "10.0.0.2")
      #expect(races.actual("10.0.0.1", localPort: 4_001) == nil)
      #expect(races.actual("10.0.0.3", localPort: 4_000) == nil)
      #expect(!races.isEmpty && races.isIdle)
      #expect(races.closed(5) == nil)
      #expect(races.actual("10.0.0.1", localPort: 4_000) == nil && races.isEmpty)
    }

    @Test mutating func `does not replace an address that libcurl reports`() {
      defer { owner.deallocate() }

      raceWonBySecond()

      #expect(races.actual("10.0.0.1", localPort: 4_000) == nil && races.isEmpty)
    }

    @Test mutating func `an address that connects is no longer silent`() {
      defer { owner.deallocate() }
      raceWonBySecond()

      races.opened(5, Self.addresses[0], by: owner, at: Self.delay)
      _ = races.connected(5, at: Self.delay)
      races.opened(5, Self.addresses[0], by: owner, at: Self.delay)

      #expect(races.time == 2 * Self.delay)
    }

    @Test mutating func `an address is not silent within its first 250 ms`() {
      defer { owner.deallocate() }
      race(3)
      races.started(7, Self.addresses[1], for: owner, at: Self.delay)
      races.started(8, Self.addresses[2], for: owner, at: 2 * Self.delay - 1)
      _ = races.connected(5, at: 2 * Self.delay)

      races.opened(5, Self.addresses[2], by: owner, at: 2 * Self.delay)
      #expect(races.time == 3 * Self.delay)
      races.opened(6, Self.addresses[1], by: owner, at: 2 * Self.delay)
      #expect(races.time == 2 * Self.delay)
    }

    @Test func `many concurrent races use few sockets`() {
      var races = AddressRaces()
      let owners = (0..<40).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1) }
      defer { owners.forEach { $0.deallocate() } }
      var open: Set<CInt> = []
      var (next, most) = (CInt(1_000), 0)
      for (index, owner) in owners.enumerated() {
        races.opened(CInt(index), Self.addresses[0], by: owner, at: 0)
        races.begin(owner, Self.addresses, at: Self.delay)
      }

      // The last addresses are tried as well.
      var tried = 0
      for round in 1...200 {
        let now = Int64(round) * Self.delay
        for owner in owners {
          guard let address = races.takeNext(owner, at: now) else { continue }
          if let oldest = races.makeRoom(for: owner) { open.remove(oldest) }
          races.started(next, address, for: owner, at: now)
          open.insert(next)
          (next, tried, most) = (next + 1, tried + 1, max(most, open.count))
        }
      }

      #expect(tried == owners.count * AddressRaces.maximumAddresses)
      #expect(most == owners.count, "\(most)")
      #expect(Set(owners.flatMap { races.end($0) }) == open)
    }
  }
#endif
