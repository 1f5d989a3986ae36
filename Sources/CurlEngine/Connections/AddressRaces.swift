import MartletBase
import CMartletShim

/// An IP address with its port, in the form that the system's functions accept.
struct SocketAddress: Hashable {
  private static let room = 128  // sizeof(struct sockaddr_storage)

  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// An address in libcurl's form, if it is for TCP.
  init?(_ address: UnsafeMutableRawPointer) {
    bytes = [UInt8](unsafeUninitializedCapacity: Self.room) { buffer, count in
      count = buffer.baseAddress.map { Int(martlet_socket_name(address, $0, CInt(buffer.count))) } ?? 0
    }
    if bytes.isEmpty { return nil }
  }

  /// The 4 or 16 octets of the address.
  var octets: [UInt8]? {
    switch bytes.count {
    case 16: Array(bytes[4..<8])  // sockaddr_in
    case 28: Array(bytes[8..<24])  // sockaddr_in6
    default: nil
    }
  }

  /// The address without its port and zone, as libcurl writes it.
  var text: String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      guard let base = text.baseAddress, martlet_address_text(bytes, CInt(bytes.count), base, 64) else { return nil }
      return String(String(cString: base).prefix { $0 != "%" })
    }
  }
}

/// The connections that are being established, and the races between a host's addresses.
///
/// libcurl before 8.16 tries the addresses of one family in turn, and waits for each for half of the limit. So if one
/// of its sockets is still connecting after ``delay``, the host's other addresses are tried as well, one more after
/// each ``delay`` (RFC 8305 §5). The first connection takes the place of libcurl's socket. ``CurlLoop`` performs this;
/// the struct decides what is due.
struct AddressRaces {
  /// The time between two attempts, in microseconds; the default of RFC 8305 §8.
  static let delay: Int64 = 250_000
  /// The maximum number of addresses tried in addition to libcurl's.
  static let maximumAddresses = 16
  /// The number of sockets of all races above which a race's new socket replaces an old one.
  static let maximumSockets = 32
  /// How long a race then waits for its newest socket, in microseconds.
  static let patience: Int64 = 2_000_000
  /// For how long a silent address is remembered, in microseconds: as long as libcurl remembers the host's addresses.
  static let memory: Int64 = 60_000_000

  typealias Owner = UnsafeMutableRawPointer

  enum Step: Equatable {
    /// The time of one of libcurl's sockets has elapsed.
    case silence(CInt, Owner)
    /// A race may try its next address.
    case next(Owner)
  }

  /// One of libcurl's sockets, until it is connected or closed.
  private struct Attempt {
    var owner: Owner
    var address: SocketAddress
    var start: Int64
    var number: UInt64
  }

  private struct Race {
    var waiting: ArraySlice<SocketAddress>
    var sockets: [CInt: (address: SocketAddress, start: Int64)] = [:]
    var number: UInt64
  }

  private struct Appointment {
    var time: Int64
    var number: UInt64
    var step: Step
  }

  /// A socket of libcurl that leads to another address than the one that libcurl reports.
  private struct Renamed {
    var reported: String
    var port: CInt
    var actual: String
  }

  private var attempts: [CInt: Attempt] = [:]
  /// Until the socket closes.
  private var renamed: [CInt: Renamed] = [:]
  private var sockets: [Owner: [CInt]] = [:]
  private var races: [Owner: Race] = [:]
  private var owners: [CInt: Owner] = [:]
  /// The next steps, in the order of their times.
  private var appointments: ArraySlice<Appointment> = []
  private var silent = RecentTable<SocketAddress, Int64>(limit: 64)
  private var number: UInt64 = 0

  /// Whether no socket of libcurl is of interest.
  var isEmpty: Bool { attempts.isEmpty && renamed.isEmpty }
  /// Whether no transfer connects.
  var isIdle: Bool { sockets.isEmpty }

  /// The time of the next step.
  var time: Int64? {
    mutating get {
      while let first = appointments.first, !isValid(first) { appointments.removeFirst() }
      return appointments.first?.time
    }
  }

  private func isValid(_ appointment: Appointment) -> Bool {
    switch appointment.step {
    case .silence(let socket, _): attempts[socket]?.number == appointment.number
    case .next(let owner): races[owner]?.number == appointment.number
    }
  }

  // MARK: libcurl's sockets

  /// Records a socket that libcurl is about to connect.
  mutating func opened(_ socket: CInt, _ address: SocketAddress, by owner: Owner, at now: Int64) {
    number += 1
    attempts[socket] = Attempt(owner: owner, address: address, start: now, number: number)
    sockets[owner, default: []].append(socket)
    let isSilent = silent.count > 0 && silent[address].map { $0 > now } == true
    let appointment = Appointment(
      time: isSilent ? now : now + Self.delay, number: number, step: .silence(socket, owner))
    // All others are later, or due as well.
    appointments.insert(appointment, at: isSilent ? appointments.startIndex : appointments.endIndex)
  }

  /// Records that one of libcurl's sockets is connected; returns the race's sockets, which are to be closed.
  ///
  /// Addresses that have not replied within their time are remembered.
  mutating func connected(_ socket: CInt, at now: Int64) -> [CInt] {
    guard let winner = attempts[socket] else { return [] }
    if silent.count > 0 { silent[winner.address] = nil }
    if let race = races[winner.owner] {
      let others = (sockets[winner.owner] ?? []).compactMap { attempts[$0] }.map { ($0.address, $0.start) }
      for (address, start) in others + race.sockets.values.map({ ($0.address, $0.start) }) {
        if address != winner.address, now - start >= Self.delay { silent[address] = now + Self.memory }
      }
    }
    return end(winner.owner)
  }

  /// Records that an owner's address is not used, so another one may follow.
  mutating func refused(_ owner: Owner) { sockets[owner, default: []] += [] }

  /// Records that a socket is closed; returns the owner if libcurl was connecting it.
  mutating func closed(_ socket: CInt) -> Owner? {
    if !renamed.isEmpty { renamed[socket] = nil }
    guard let attempt = attempts.removeValue(forKey: socket) else { return nil }
    sockets[attempt.owner]?.removeAll { $0 == socket }
    return attempt.owner
  }

  /// Removes an owner; returns the race's sockets, which are to be closed.
  mutating func end(_ owner: Owner) -> [CInt] {
    for socket in sockets.removeValue(forKey: owner) ?? [] { attempts[socket] = nil }
    guard let race = races.removeValue(forKey: owner) else { return [] }
    for socket in race.sockets.keys { owners[socket] = nil }
    return Array(race.sockets.keys)
  }

  // MARK: Races

  /// Removes and returns the steps that are due.
  mutating func takeDue(at now: Int64) -> [Step] {
    var due: [Step] = []
    while let first = appointments.first, first.time <= now || !isValid(first) {
      if isValid(first) { due.append(first.step) }
      appointments.removeFirst()
    }
    return due
  }

  func isRacing(_ owner: Owner) -> Bool { races[owner] != nil }

  /// Whether an owner has begun to connect but is not connected yet.
  func isKnown(_ owner: Owner) -> Bool { sockets[owner] != nil }

  /// Whether libcurl is connecting for an owner that has no other connection yet.
  func isConnecting(_ owner: Owner) -> Bool { sockets[owner]?.isEmpty == false }

  /// Begins a race between the addresses of a host; those known to be silent come last.
  mutating func begin(_ owner: Owner, _ found: [SocketAddress], at now: Int64) {
    let tried = (sockets[owner] ?? []).compactMap { attempts[$0]?.address }
    var others: [SocketAddress] = []
    // A name server determines the number of addresses.
    let bounded = found.prefix(64)
    for address in bounded where !tried.contains(address) && !others.contains(address) { others.append(address) }
    let isSilent = { [silent] (address: SocketAddress) in silent[address].map { $0 > now } == true }
    others = others.filter { !isSilent($0) } + others.filter(isSilent)
    number += 1
    races[owner] = Race(waiting: others.prefix(Self.maximumAddresses), number: number)
  }

  /// Removes and returns the next address to try; the one after it is due later.
  mutating func takeNext(_ owner: Owner, at now: Int64) -> SocketAddress? {
    guard let race = races[owner], !race.waiting.isEmpty else { return nil }
    let latest = race.sockets.values.map(\.start).max()
    let mustWait = owners.count >= Self.maximumSockets && latest.map { now - $0 < Self.patience } == true
    number += 1
    races[owner]?.number = number
    appointments.append(Appointment(time: now + Self.delay, number: number, step: .next(owner)))
    return mustWait ? nil : races[owner]?.waiting.popFirst()
  }

  /// Removes and returns the oldest socket of a race if there are too many sockets; it is to be closed.
  mutating func makeRoom(for owner: Owner) -> CInt? {
    guard owners.count >= Self.maximumSockets else { return nil }
    guard let oldest = races[owner]?.sockets.min(by: { $0.value.start < $1.value.start }) else { return nil }
    forget(oldest.key)
    return oldest.key
  }

  /// Records a race's own socket.
  mutating func started(_ socket: CInt, _ address: SocketAddress, for owner: Owner, at now: Int64) {
    races[owner]?.sockets[socket] = (address, now)
    owners[socket] = owner
  }

  /// The owner and the address of a race's own socket.
  func owner(of socket: CInt) -> (owner: Owner, address: SocketAddress)? {
    guard !owners.isEmpty, let owner = owners[socket] else { return nil }
    return races[owner]?.sockets[socket].map { (owner, $0.address) }
  }

  /// Removes a race's own socket, which has failed or is now in use.
  mutating func forget(_ socket: CInt) {
    if let owner = owners.removeValue(forKey: socket) { races[owner]?.sockets[socket] = nil }
  }

  /// Libcurl's sockets for an owner.
  func connecting(_ owner: Owner) -> [CInt] { sockets[owner] ?? [] }

  /// Records that a socket of libcurl now leads to another address.
  ///
  /// `port` is the socket's own one if libcurl continues to report the old address.
  mutating func moved(_ socket: CInt, to address: SocketAddress, at now: Int64, reportedWith port: CInt? = nil) {
    guard let attempt = attempts[socket] else { return }
    silent[attempt.address] = now + Self.memory
    attempts[socket]?.address = address
    guard let port, let reported = attempt.address.text, let actual = address.text else { return }
    renamed[socket] = Renamed(reported: reported, port: port, actual: actual)
  }

  /// The address of a connection for which libcurl reports another one; `nil` if its report is right.
  func actual(_ reported: @autoclosure () -> String, localPort: CInt) -> String? {
    guard !renamed.isEmpty else { return nil }
    let reported = reported()
    return renamed.values.first { $0.port == localPort && $0.reported == reported }?.actual
  }
}
