import CMartletShim

/// Connecting to hosts with several addresses; see ``AddressRaces``.
extension CurlLoop {
  /// Creates a socket for an address that libcurl chose.
  func newSocket(for handle: CurlHandle, to address: UnsafeMutableRawPointer) -> CInt {
    let socket = martlet_socket_new(address)
    guard !CurlLibrary.racesAddresses, !connections.hasUnixSocket, socket >= 0 else { return socket }
    guard let name = SocketAddress(address) else { return socket }
    addresses.opened(socket, name, by: handle.easy, at: martlet_microseconds())
    return socket
  }

  /// Records that libcurl has to try the next address; before 8.4.0 it does not set a timer for that.
  func mustProceed(_ easy: UnsafeMutableRawPointer?) {
    if CurlLibrary.forgetsNextAddress, let easy, handles[easy] != nil { unproceeded.append(easy) }
  }

  func refused(_ handle: CurlHandle) {
    addresses.refused(handle.easy)
    mustProceed(handle.easy)
  }

  /// Records that libcurl receives from a socket, which is connected.
  func connected(_ socket: CInt) {
    for socket in addresses.connected(socket, at: martlet_microseconds()) { martlet_close(socket) }
  }

  func endRace(_ handle: CurlHandle) {
    for socket in addresses.end(handle.easy) { martlet_close(socket) }
  }

  func lookAtAddresses(_ multi: UnsafeMutableRawPointer) {
    for easy in exchange(&unproceeded, with: []) where addresses.isKnown(easy) {
      handles[easy].map { receive($0, multi) }
    }
    for scout in scouts.values { scout.proceed() }
    guard let time = addresses.time, time <= martlet_microseconds() else { return }
    for step in addresses.takeDue(at: martlet_microseconds()) {
      switch step {
      case .next(let owner): tryNext(owner)
      case .silence(let socket, let owner):
        guard !addresses.isRacing(owner), martlet_is_connecting(socket) else { continue }
        if let transfer = handles[owner]?.transfer { scout(for: transfer, multi) }
      }
    }
  }

  private func scout(for transfer: CurlTransfer, _ multi: UnsafeMutableRawPointer) {
    guard let scout = AddressScout(for: transfer), let easy = scout.easy else { return }
    withoutLimits(multi) {
      guard martlet_multi_add(multi, easy) == 0 else { return }
      scouts[easy] = scout
      for _ in 0..<64 {
        _ = martlet_multi_act(multi, -1, 0)
        recordEnded(multi)
        guard scouts[easy] != nil else { return }
        scout.proceed()
      }
    }
  }

  /// Ends the scouts of a transfer that has ended.
  func endScouts(of handle: CurlHandle, _ multi: UnsafeMutableRawPointer) {
    for (easy, scout) in scouts where scout.transfer === handle.transfer {
      scouts[easy] = nil
      _ = martlet_multi_remove(multi, easy)
    }
  }

  /// Begins a race with the addresses that a scout has found.
  func endScout(_ easy: UnsafeMutableRawPointer, _ multi: UnsafeMutableRawPointer) {
    guard let scout = scouts.removeValue(forKey: easy) else { return }
    _ = martlet_multi_remove(multi, easy)
    guard let owner = scout.transfer.handle?.easy, addresses.isConnecting(owner) else { return }
    addresses.begin(owner, scout.found, at: martlet_microseconds())
    tryNext(owner)
  }

  private func tryNext(_ owner: UnsafeMutableRawPointer) {
    guard let handle = handles[owner], let like = addresses.connecting(owner).first else { return }
    while let address = addresses.takeNext(owner, at: martlet_microseconds()) {
      guard handle.allows(address) else { continue }
      if let oldest = addresses.makeRoom(for: owner) { martlet_close(oldest) }
      let socket = martlet_connect(address.bytes, CInt(address.bytes.count), like, connections.interface != nil)
      guard socket >= 0 else { continue }
      guard martlet_poll_watch(poll, socket, 2, true) else { return martlet_close(socket) }
      return addresses.started(socket, address, for: owner, at: martlet_microseconds())
    }
  }

  /// Handles an event of a race's own socket; returns whether the socket is one.
  func raced(_ socket: CInt) -> Bool {
    guard let (owner, address) = addresses.owner(of: socket) else { return false }
    switch martlet_connect_result(socket) {
    case 0: return true
    case 1 where take(socket, address, for: owner): return true
    default:
      addresses.forget(socket)
      martlet_close(socket)
      tryNext(owner)
      return true
    }
  }

  /// Replaces one of libcurl's sockets that is still connecting with a connection.
  private func take(_ socket: CInt, _ address: SocketAddress, for owner: UnsafeMutableRawPointer) -> Bool {
    guard let place = addresses.connecting(owner).last(where: { martlet_is_connecting($0) }) else { return false }
    let port = CurlLibrary.reportsTriedAddress ? martlet_socket_port(socket) : nil
    martlet_poll_forget(poll, socket)
    ignore(place)
    let isReplaced = martlet_replace(place, socket)
    addresses.forget(socket)
    if isReplaced { addresses.moved(place, to: address, at: martlet_microseconds(), reportedWith: port) }
    if let known = watches[place] { watch(place, known.wanted, for: known.easy) }
    return true
  }
}

extension CurlHandle {
  /// Whether a connection to an address of a race is allowed.
  fileprivate func allows(_ address: SocketAddress) -> Bool {
    guard let refusal = loop.connections.addressRefusal else { return true }
    guard let octets = address.octets else { return false }
    return refusal(octets) == nil
  }
}
