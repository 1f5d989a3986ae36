import MartletBase
import CMartletShim
import Foundation

/// One easy handle, used for one transfer after the other, under the lock of its loop.
final class CurlHandle {
  private static let errorSize = 256  // CURL_ERROR_SIZE

  let easy: UnsafeMutableRawPointer
  unowned let loop: CurlLoop
  var transfer: CurlTransfer?
  private let errorText: UnsafeMutablePointer<CChar>
  private var fields: UnsafeMutableRawPointer?
  private var lines: HeaderLines?
  private var isGuarded = false
  /// Whether it is set up for a request of the plain kind, so that only what differs has to be set.
  private var isPlain = false
  /// The URL, and what libcurl has made of it.
  private var text: String?
  private var url: UnsafeMutableRawPointer?
  private var connectTimeout = 0
  private var pieceSize: Int?
  private var lastConnection: CurlConnection?
  /// Whether its transfer rather waits for a connection that it can share than it makes one.
  private(set) var waitsForSharing = false
  private var connectionKey = ExclusiveConnections.shared
  private var needsNewConnection = false
  private var lists: [UnsafeMutableRawPointer] = []
  /// The connection that the transfer was sent on, by its addresses; `nil` where it has none.
  private(set) var connectionName: UInt64?
  /// Whether the transfer was sent on a connection of HTTP/2, as far as known.
  private(set) var isMultiplexed = false
  /// The transfer's stream of HTTP/2, where libcurl tells.
  private(set) var stream: UInt32?
  /// Whether libcurl wants to send once more: what it says from then on is about other connections, too.
  private var isRepeating = false
  /// Whether libcurl has kept the connection after the transfer; another one may have it closed at once.
  private var wasKept = false
  /// Whether the connection, which libcurl keeps, has to be closed after the transfer.
  var closesKeptConnection = false
  /// Whether libcurl has found its stream of HTTP/2 closed when it had sent the rest of the request.
  private var isStreamClosed = false
  /// What libcurl before 7.80 calls the connection.
  private var connectionNumber: UInt64?
  /// Whether libcurl before 7.80 has written a part of a head.
  private var isWritingHead = false
  private var isLogging = false
  /// What OpenSSL knows of a connection that the transfer has made.
  private(set) var tls: UnsafeMutableRawPointer?
  /// The same of a connection to a proxy by TLS, which carries that one.
  var proxyTLS: UnsafeMutableRawPointer?

  init?(_ loop: CurlLoop) {
    guard let easy = martlet_easy_new() else { return nil }
    self.easy = easy
    self.loop = loop
    errorText = .allocate(capacity: Self.errorSize)
    errorText.initialize(repeating: 0, count: Self.errorSize)
  }

  deinit {
    martlet_easy_free(easy)
    martlet_url_free(url)
    martlet_list_free(fields)
    freeLists()
    errorText.deallocate()
  }

  /// What libcurl said of the last failure.
  var error: String { CurlTLS.readable(String(cString: errorText)) }

  var isReused: Bool { martlet_easy_connection_count(easy) == 0 }

  /// Whether the connection of the transfer speaks HTTP/2, as far as its TLS tells.
  var isHTTP2: Bool { martlet_easy_tls(easy).map { martlet_tls_is_http2($0) } ?? false }

  /// Whether its TLS tells that.
  private var knowsVersion: Bool { martlet_easy_tls(easy) != nil }

  /// Sets up the handle for a transfer; returns libcurl's code.
  ///
  /// The connection must have been made with `key`, if it is not a new one.
  func set(_ transfer: CurlTransfer, connectionKey key: Int) -> CInt {
    let job = transfer.job
    errorText[0] = 0
    var code: CInt = 0
    func set(_ option: @autoclosure () -> CInt) { if code == 0 { code = option() } }
    if !(isPlain && job.isPlain && transfer.route == nil) {
      isPlain = false
      set(CurlCallbacks.prepare(self, error: errorText))
      freeLists()
      set(loop.tls.apply(to: easy))
      connectTimeout = 0
      pieceSize = nil
      text = nil
      lines = nil
      waitsForSharing = false
      connectionKey = ExclusiveConnections.shared
      needsNewConnection = false
    }
    if job.url != text {
      set(setURL(job.url))
      if CurlLibrary.changesEscapes {
        set(martlet_easy_set_text(easy, CInt(martlet_opt_request_target), job.target))
      }
    }
    if lines !== job.lines {
      guard makeFields(job.lines) else { return 27 }  // OUT_OF_MEMORY
      set(martlet_easy_set_pointer(easy, CInt(martlet_opt_http_header), fields))
    }
    if transfer.connectTimeout != connectTimeout {
      set(martlet_easy_set_number(easy, CInt(martlet_opt_connect_timeout_ms), transfer.connectTimeout))
      connectTimeout = transfer.connectTimeout
    }
    if transfer.throttle?.pieceSize != pieceSize {
      pieceSize = transfer.throttle?.pieceSize
      let size = pieceSize ?? Int(martlet_receive_size)
      set(martlet_easy_set_number(easy, CInt(martlet_opt_buffer_size), size))
    }
    // Whether a new connection can be shared is known after the TLS handshake. In clear it is known with the first answer
    // only, and all would wait for the slowest.
    let canWait = job.isSecure || transfer.hasPriorKnowledge
    let waits = canWait && key == ExclusiveConnections.shared
    if waits != waitsForSharing {
      set(martlet_easy_set_number(easy, CInt(martlet_opt_pipe_wait), waits ? 1 : 0))
      waitsForSharing = waits
    }
    if key != connectionKey {
      set(setConnectionKey(key))
      connectionKey = key
    }
    if transfer.needsNewConnection != needsNewConnection {
      needsNewConnection = transfer.needsNewConnection
      let isFresh = needsNewConnection || key == ExclusiveConnections.fresh
      set(martlet_easy_set_number(easy, CInt(martlet_opt_fresh_connect), isFresh ? 1 : 0))
    }
    if !job.isPlain {
      if job.hasBody { set(martlet_easy_set_upload(easy, job.length ?? -1)) }
      if transfer.upload?.trailers != nil { set(CurlTrailers.prepare(self)) }
      set(martlet_easy_set_method(easy, job.method, job.method == "HEAD"))
    }
    if let route = transfer.route { set(route.apply(to: self)) }
    if job.lines.closesConnection { set(martlet_easy_set_number(easy, CInt(martlet_opt_forbid_reuse), 1)) }
    isPlain = job.isPlain && transfer.route == nil && code == 0 && key != ExclusiveConnections.fresh
    guard code == 0 else { return code }
    self.transfer = transfer
    return 0
  }

  /// Closes the connection after the transfer, which has begun.
  func closeConnection() {
    _ = martlet_easy_set_number(easy, CInt(martlet_opt_forbid_reuse), 1)
    isPlain = false
  }

  /// Parsed here, for as many requests as it serves: libcurl itself would do it for each.
  private func setURL(_ new: String) -> CInt {
    let old = url
    // Not as an argument of type String, of which a copy would be made.
    let code = new.withCString { characters in
      url = martlet_url_new(characters)
      return martlet_easy_set_url(easy, characters, url)
    }
    martlet_url_free(old)
    text = new
    return code
  }

  private func makeFields(_ new: HeaderLines) -> Bool {
    martlet_list_free(fields)
    fields = nil
    lines = nil
    for line in new.lines {
      guard let longer = martlet_list_append(fields, line) else { return false }
      fields = longer
    }
    lines = new
    return true
  }

  /// Takes lines of a head or of trailers: one, or before libcurl 8.7 all those that came while the transfer was paused.
  func received(_ lines: UnsafeBufferPointer<UInt8>) -> Bool {
    var rest = lines
    while let base = rest.baseAddress, !rest.isEmpty {
      let end = memchr(base, 0x0A, rest.count).map { UnsafeRawPointer($0) - UnsafeRawPointer(base) + 1 } ?? rest.count
      let line = UnsafeBufferPointer(rebasing: rest[..<end])
      if CurlLibrary.needsGuard { guardNext(after: line) }
      transfer?.readStatusLine(line, self)
      guard transfer?.receivedLine(line, self) == true else { return false }
      rest = UnsafeBufferPointer(rebasing: rest[end...])
    }
    return true
  }

  /// Guards the line after a status line; to be called with each line.
  func guardNext(after line: UnsafeBufferPointer<UInt8>) {
    // No field has a slash in its name.
    let isStatus = line.count > 4 && line[0] == 0x48 && line[4] == 0x2F
    guard isStatus != isGuarded else { return }
    isGuarded = isStatus
    if !isLogging { _ = martlet_easy_log(easy, isStatus) }
  }

  /// Whether a connection may be opened to an address, in libcurl's form.
  func mayConnect(to address: UnsafeMutableRawPointer) -> Bool {
    guard let refusal = loop.connections.addressRefusal else { return true }
    let bytes = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      count = buffer.baseAddress.map { Int(martlet_socket_address(address, $0)) } ?? 0
    }
    guard !bytes.isEmpty, let transfer else { return false }
    let reason = refusal(bytes)
    transfer.addresses.note(refusal: reason)
    return reason == nil
  }

  func willSend(to remote: UnsafePointer<CChar>?, _ port: CInt, from local: UnsafePointer<CChar>?, _ localPort: CInt)
    -> Bool
  {
    var name: UInt64?
    if port > 0, localPort > 0, let remote, let local {
      var hasher = Hasher()
      hasher.combine(bytes: UnsafeRawBufferPointer(start: remote, count: strlen(remote)))
      hasher.combine(port)
      hasher.combine(bytes: UnsafeRawBufferPointer(start: local, count: strlen(local)))
      hasher.combine(localPort)
      name = UInt64(bitPattern: Int64(hasher.finalize()))
    } else if loop.connections.hasUnixSocket {
      // It has one of its own.
      loop.unnamedCount += 1
      name = loop.unnamedCount
    }
    return willSend(on: name)
  }

  private func willSend(on name: UInt64?) -> Bool {
    guard let transfer else { return false }
    let (isReused, isSecure) = (isReused, transfer.job.isSecure)
    isMultiplexed = transfer.hasPriorKnowledge || isSecure && isHTTP2
    if isReused, CurlLibrary.tellsBeforeSending {
      if isSpoiled(name, for: transfer) || isSecure && !isMultiplexed && isTaken(name, by: transfer) {
        transfer.isMisplaced = true
        return false
      }
    }
    guard transfer.willSend() else { return false }
    if let name {
      if connectionName != name {
        leaveConnection(.surely)
        connectionName.map { loop.resting.leave($0, by: transfer) }
      }
      connectionName = name
      loop.uses(transfer, name, isNew: !isReused)
    }
    if waitsForSharing, !isReused { loop.joinable.insert(transfer.job.origin) }
    if isSecure, transfer.sharing == .agreed, isMultiplexed || !isReused, transfer.route?.sharesConnections != false {
      transfer.slot.noteVersion(isMultiplexed: isMultiplexed)
    }
    // Without OpenSSL the version of a connection is unknown.
    guard isMultiplexed || isSecure && !knowsVersion else { return true }
    if !isLogging { _ = martlet_easy_log(easy, true) }
    isLogging = true
    if isMultiplexed, CurlLibrary.hidesBrokenConnections, let connectionName {
      loop.multiplexed.use(connectionName, by: self)
      keepConnection(transfer)
    }
    return true
  }

  /// Has libcurl keep a connection of HTTP/2 though it is to be closed after the transfer: the loop does that.
  ///
  /// That libcurl has kept it shows that the stream ended in order (decision 0044). `Connection: close` is not for HTTP/2.
  private func keepConnection(_ transfer: CurlTransfer) {
    closesKeptConnection = !loop.connections.isKept || connectionKey == ExclusiveConnections.fresh
    guard closesKeptConnection || transfer.job.lines.closesConnection else { return }
    _ = martlet_easy_set_number(easy, CInt(martlet_opt_forbid_reuse), 0)
    isPlain = false
  }

  /// Whether libcurl has chosen a connection on which something has come that answers nothing, or its end; it is given up.
  private func isSpoiled(_ name: UInt64?, for transfer: CurlTransfer) -> Bool {
    guard let name, let socket = endOfLast(on: name, before: transfer) ?? loop.resting.takeSpoiled(name) else {
      return false
    }
    loop.giveUp(socket)
    return true
  }

  /// Has a connection of HTTP/1 rest whose last transfer has ended, of which the loop has not heard yet; returns its
  /// socket, if something that came there is not taken yet.
  ///
  /// In a crowd a transfer is sent and answered, and the next one follows on its connection, in one call of libcurl.
  private func endOfLast(on name: UInt64, before transfer: CurlTransfer) -> CInt? {
    guard !isMultiplexed, loop.resting.isUsed(name, byOtherThan: transfer) else { return nil }
    for handle in loop.handles.values where handle !== self && handle.connectionName == name {
      guard let last = handle.transfer, last.life.isAlone, let socket = handle.keptSocket else { continue }
      // It may be the last but one.
      let spoiled = loop.resting.end(name, of: last, socket: socket, tls: handle.tls, within: handle.proxyTLS)
      if let spoiled { return spoiled }
    }
    return nil
  }

  /// Whether libcurl has chosen a connection of HTTP/1 for a transfer that another one uses, or is still making.
  private func isTaken(_ name: UInt64?, by transfer: CurlTransfer) -> Bool {
    // One that is being made has no addresses yet.
    guard let name else { return true }
    return knowsVersion && loop.resting.isUsed(name, byOtherThan: transfer)
  }

  var hasOwnConnection: Bool { connectionKey != ExclusiveConnections.shared }

  /// Whether no other transfer uses the connection, which is one of HTTP/2.
  var isAloneOnConnection: Bool { connectionName.map { loop.multiplexed.isAlone(self, on: $0) } ?? false }

  func showRawBody() {
    if !isLogging { _ = martlet_easy_log(easy, true) }
    isLogging = true
  }

  func logged(_ type: CInt, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) {
    // CURLINFO_HEADER_OUT
    if type == 2, !CurlLibrary.tellsBeforeSending {
      return wasWritten(UnsafeRawBufferPointer(start: bytes, count: count))
    }
    // CURLINFO_DATA_IN
    if type == 3, CurlLibrary.showsRawBody {
      transfer?.chunks?.end.read(UnsafeRawBufferPointer(start: bytes, count: count))
    }
    var (stream, error): (UInt32, UInt32) = (0, 0)
    let note = martlet_curl_read_note(type, bytes, count, isGuarded, &stream, &error)
    switch note {
    case 1 where !isRepeating: self.stream = stream
    case 3, 5:
      if note == 5, !isRepeating { transfer?.life.sends.noteRefusal() }
      isRepeating = true
      leaveConnection(.givingUp)
    case 4: wasKept = true
    case 6: transfer?.life.sends.noteDowngrade()
    case 7: isStreamClosed = true
    case 8: (connectionNumber, isWritingHead) = (UInt64(stream), false)
    case 2 where !isRepeating:
      guard let connectionName else { return }
      loop.goaways[connectionName] = GoAway(lastStream: stream, error: error)
      loop.multiplexed.announceEnd(connectionName)
    default: break
    }
  }

  /// A head was written, or a part of one: of the request, or of one that asks a proxy to connect.
  private func wasWritten(_ bytes: UnsafeRawBufferPointer) {
    let isBeginning = !isWritingHead
    isWritingHead = !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8)
    guard isBeginning, let transfer else { return }
    if transfer.route?.proxy != nil, bytes.starts(with: "CONNECT ".utf8) { return }
    // Too late for a no: what must not be sent twice has a new connection, so that libcurl does not.
    if !willSend(on: connectionNumber) { loop.unwanted.append(transfer) }
  }

  /// How the transfer has ended, as long as it has its connection.
  func result(_ code: CInt) -> CurlTransfer.Result {
    // SEND_ERROR: since 8.7 libcurl takes it for one that the server had sent the end of its response before.
    guard code != 0, !(code == 55 && isStreamClosed && transfer?.body != nil) else {
      let isCutOff = connectionName.map { loop.multiplexed.isBroken($0) } ?? false
      return CurlTransfer.Result(code: 0, text: "", isReused: isReused, isCutOff: isCutOff)
    }
    let text = transfer?.explained(error, code, isReused: isReused) ?? error
    var result = CurlTransfer.Result(code: code, text: text, isReused: isReused)
    result.refusal = transfer?.route?.refusal(easy)
    if let goAway = connectionName.flatMap({ loop.goaways[$0] }) { result.note(goAway, of: stream) }
    return result
  }

  /// Notes that the transfer uses its connection no more; to be called before any end of the same turn is judged.
  func leaveConnection(_ how: MultiplexedConnections<CurlHandle>.Leaving) {
    guard let connectionName else { return }
    loop.multiplexed.leave(connectionName, by: self, how, isKept: wasKept || keptSocket != nil)
  }

  /// The socket of the connection that the transfer leaves to others, once it is over.
  var keptSocket: CInt? {
    let socket = martlet_easy_kept_socket(easy)
    return socket < 0 ? nil : socket
  }

  /// Notes what is to be known of the connection when the transfer is over and has it no more.
  func noteConnection() {
    if let transfer, transfer.job.isSecure, transfer.sharing == .agreed {
      loop.exclusive.note(transfer.job.origin, speaksHTTP1: transfer.life.isAlone)
    }
    guard let transfer, !isReused else { return }
    let isSecure = transfer.job.isSecure
    let hasSecureProxy = transfer.route?.proxy?.kind == .https
    if isSecure != hasSecureProxy || proxyTLS != nil { tls = martlet_easy_tls(easy) }
  }

  /// Has the end of TLS be noted, which is to be the end of the body.
  ///
  /// - Returns: The number to ask for it by; 0 without TLS, and where nobody cares or can tell.
  func watchEnd() -> UInt { loop.tls.needsEnd ? martlet_easy_tls(easy).map { martlet_tls_watch_end($0) } ?? 0 : 0 }

  func release() {
    transfer?.handle = nil
    transfer = nil
    (connectionName, connectionNumber, stream, tls, proxyTLS) = (nil, nil, nil, nil, nil)
    if isGuarded || isLogging { _ = martlet_easy_log(easy, false) }
    (isGuarded, isLogging, isRepeating, wasKept) = (false, false, false, false)
    (closesKeptConnection, isMultiplexed, isStreamClosed, isWritingHead) = (false, false, false, false)
  }

  /// Keeps a list as long as libcurl may read it.
  func keep(_ list: UnsafeMutableRawPointer) { lists.append(list) }

  private func freeLists() {
    for list in lists { martlet_list_free(list) }
    lists = []
  }

  /// The connection of the transfer, as long as that runs.
  var connection: CurlConnection {
    guard !loop.connections.hasUnixSocket, let remotePort = port(CInt(martlet_info_remote_port)) else {
      return CurlConnection(isReused: isReused)
    }
    let localPort = port(CInt(martlet_info_local_port))
    let remote = martlet_easy_text(easy, CInt(martlet_info_remote_address))
    let local = martlet_easy_text(easy, CInt(martlet_info_local_address))
    // Mostly the connection of the last transfer, whose texts are made already.
    if let last = lastConnection, last.remotePort == remotePort, last.localPort == localPort,
      Self.isSame(last.remoteAddress, remote), Self.isSame(last.localAddress, local)
    {
      lastConnection?.isReused = isReused
    } else {
      lastConnection = CurlConnection(
        remoteAddress: Self.text(remote), remotePort: remotePort, localAddress: Self.text(local),
        localPort: localPort, isReused: isReused)
    }
    return lastConnection ?? CurlConnection(isReused: isReused)
  }

  private func port(_ info: CInt) -> Int? {
    let port = martlet_easy_number(easy, info)
    return port > 0 ? port : nil
  }

  private static func text(_ text: UnsafePointer<CChar>?) -> String? {
    guard let text, text.pointee != 0 else { return nil }
    return String(cString: text)
  }

  private static func isSame(_ known: String?, _ text: UnsafePointer<CChar>?) -> Bool {
    guard let known, let text else { return known == nil && Self.text(text) == nil }
    return known.withCString { strcmp($0, text) == 0 }
  }

  /// What was measured up to now, as long as the transfer runs.
  var timing: CurlTiming {
    var timing = CurlTiming()
    guard !isReused else { return timing }
    let name = martlet_easy_name_lookup_time(easy)
    let connect = martlet_easy_connect_time(easy)
    let tls = martlet_easy_tls_time(easy)
    timing.nameLookup = name
    timing.connect = connect
    if tls > 0 { timing.tls = max(0, tls - connect) }
    return timing
  }
}
