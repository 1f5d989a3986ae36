import CMartletShim
import MartletBase

/// One easy handle, reused for several transfers under its loop's lock.
final class CurlHandle {
  private static let errorSize = 256  // CURL_ERROR_SIZE

  let easy: UnsafeMutableRawPointer
  /// The loop, which releases its handles when it closes.
  let loop: CurlLoop
  var transfer: CurlTransfer?
  private let errorText: UnsafeMutablePointer<CChar>
  private var fields: UnsafeMutableRawPointer?
  private var lines: HeaderLines?
  private let needsGuard = CurlLibrary.needsGuard
  private var isGuarded = false
  /// Whether the handle is set up for a plain request, so only differences have to be set.
  private var isPlain = false
  /// The URL as text, and as libcurl has parsed it.
  private var text: String?
  private var url: UnsafeMutableRawPointer?
  private var hasTarget = false
  private var connectTimeout = 0
  private var receiveSize = 0
  /// Whether the transfer waits for a connection to share instead of making one.
  private(set) var waitsForSharing = false
  private(set) var connectionKey = ExclusiveConnections.shared
  private var needsNewConnection = false
  private var isLimitedToHTTP1 = false
  private var lists: [UnsafeMutableRawPointer] = []
  /// The transfer's connection; `nil` without addresses.
  private(set) var resting: IdleConnections.Connection?
  var connectionName: UInt64? { resting?.name }
  /// The last socket that libcurl watched for the handle, in a loop of upgraded connections.
  var socket: CInt?
  /// Whether the request was sent over HTTP/2, if known.
  private(set) var isMultiplexed = false
  var incoming = IncomingStream()
  /// Whether the transfer is cancelled, so it accepts and provides no more data.
  var isLeaving = false
  /// Whether libcurl is about to send the request again.
  ///
  /// From then on, its log may also be about other connections.
  private var isRepeating = false
  /// Whether libcurl found its HTTP/2 stream closed after sending the rest of the request.
  private(set) var isStreamClosed = false
  /// The number of the connection in libcurl's log, before 7.80.
  private var connectionNumber: UInt64?
  /// Whether a part of a head was written, before libcurl 7.80.
  private var isWritingHead = false
  private var isLogging = false
  /// The OpenSSL or GnuTLS object of a connection that the transfer has made.
  private(set) var tls: UnsafeMutableRawPointer?
  /// The OpenSSL object of the TLS connection to a proxy that carries it.
  var proxyTLS: UnsafeMutableRawPointer?
  /// The number by which to query the alerts of a connection that the transfer has made, and its OpenSSL object.
  private var alerts: (number: UInt, tls: UnsafeMutableRawPointer)?
  /// Whether libcurl has waited for room in the socket since the request was about to be sent.
  var hasAwaitedRoom = false

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

  var error: String { CurlTLS.readable(String(cString: errorText)) }

  /// Whether libcurl can no longer read the HTTP/2 connection's frames.
  ///
  /// Since 8.14 it keeps that connection.
  var hasBrokenFrames: Bool { errorText[0] == CChar(UInt8(ascii: "n")) && error.hasPrefix("nghttp2") }

  var isReused: Bool { martlet_easy_connection_count(easy) == 0 }

  /// Whether TLS has negotiated HTTP/2 for the connection, if known.
  var isHTTP2: Bool { martlet_easy_tls(easy).map { martlet_tls_is_http2($0) } ?? false }

  /// Sets up the handle for a transfer; returns libcurl's code.
  ///
  /// A connection that is not new must have been made with `key`.
  func set(_ transfer: CurlTransfer, connectionKey key: Int) -> CInt {
    let job = transfer.job
    errorText[0] = 0
    var options = EasyOptions(easy)
    if !(isPlain && job.isPlain && transfer.route == nil) {
      isPlain = false
      options.run(CurlCallbacks.prepare(self, error: errorText))
      freeLists()
      loop.connections.apply(to: &options)
      loop.tls.apply(to: &options)
      connectTimeout = 0
      receiveSize = Int(martlet_receive_size)
      text = nil
      hasTarget = false
      lines = nil
      waitsForSharing = false
      isLimitedToHTTP1 = false
      connectionKey = ExclusiveConnections.shared
      needsNewConnection = false
    }
    if job.url != text {
      options.run(setURL(job.url))
      if job.target != nil || hasTarget {
        hasTarget = job.target != nil
        options.set(martlet_opt_request_target, transfer.target)
      }
    }
    if lines !== job.lines {
      guard makeFields(job.lines) else { return 27 }  // OUT_OF_MEMORY
      options.set(martlet_opt_http_header, to: fields)
    }
    let timeout = transfer.connectTimeout
    if timeout != connectTimeout {
      options.set(martlet_opt_connect_timeout_ms, timeout)
      connectTimeout = timeout
    }
    if transfer.receiveSize != receiveSize {
      receiveSize = transfer.receiveSize
      options.set(martlet_opt_buffer_size, receiveSize)
    }
    // The TLS handshake shows whether a new connection can be shared. Without TLS only the first response shows it, and
    // all requests would wait for the slowest one.
    let canWait = job.isSecure && transfer.sharing == .agreed || transfer.hasPriorKnowledge
    let waits = canWait && CurlLibrary.hasHTTP2 && key == loop.exclusive.sharedKey(of: job.origin)
    if waits != waitsForSharing {
      options.set(martlet_opt_pipe_wait, waits ? 1 : 0)
      waitsForSharing = waits
    }
    let staysAtHTTP1 = CurlLibrary.seeksClearHTTP2 && !job.isSecure
    if staysAtHTTP1 != isLimitedToHTTP1 {
      // CURL_HTTP_VERSION_1_1, CURL_HTTP_VERSION_2TLS, CURL_HTTP_VERSION_NONE
      options.set(martlet_opt_http_version, staysAtHTTP1 ? 2 : CurlLibrary.hasHTTP2 ? 4 : 0)
      isLimitedToHTTP1 = staysAtHTTP1
    }
    if key != connectionKey {
      setConnectionKey(key, &options)
      connectionKey = key
    }
    if transfer.needsNewConnection != needsNewConnection {
      needsNewConnection = transfer.needsNewConnection
      let isFresh = needsNewConnection || key == ExclusiveConnections.fresh
      options.set(martlet_opt_fresh_connect, isFresh ? 1 : 0)
    }
    if !job.isPlain {
      if job.isUpgrade {
        options.run(martlet_easy_set_upgrade(easy))
      } else if job.hasBody {
        options.run(martlet_easy_set_upload(easy, job.length ?? -1))
      }
      if transfer.upload?.trailers != nil { options.run(CurlTrailers.prepare(self)) }
      options.run(martlet_easy_set_method(easy, job.method, job.method == "HEAD"))
    }
    transfer.route?.apply(to: self, &options)
    let hasHiddenTLS =
      CurlLibrary.hidesProxyTLS && transfer.route?.proxy?.kind == .https || CurlLibrary.hidesTLS && job.isSecure
    if job.lines.closesConnection || hasHiddenTLS { options.set(martlet_opt_forbid_reuse, 1) }
    let code = options.code
    isPlain = job.isPlain && transfer.route == nil && code == 0 && key != ExclusiveConnections.fresh && !hasHiddenTLS
    if code == 0 { self.transfer = transfer }
    return code
  }

  /// Closes the connection after the transfer, which has begun.
  func closeConnection() {
    _ = martlet_easy_set_number(easy, CInt(martlet_opt_forbid_reuse), 1)
    isPlain = false
  }

  /// Parses the URL once for all requests with it; libcurl would do so for each.
  private func setURL(_ new: String) -> CInt {
    let old = url
    // Not as an argument of type `String`, which would be copied.
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
      guard let longer = new.isCoded ? Self.append(line, to: fields) : martlet_list_append(fields, line) else {
        return false
      }
      fields = longer
    }
    lines = new
    return true
  }

  /// Appends a line of ``WireText`` to a list of libcurl; `nil` without memory.
  static func append(_ line: String, to list: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    martlet_list_append(list, WireText.octets(line).map { CChar(bitPattern: $0) } + [0])
  }

  /// Receives lines of a head or of trailers.
  ///
  /// One line, or before libcurl 8.7 all lines that arrived while the transfer was paused.
  func received(_ lines: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let transfer else { return false }
    var rest = lines
    while let base = rest.baseAddress, !rest.isEmpty {
      let end = memchr(base, 0x0A, rest.count).map { UnsafeRawPointer($0) - UnsafeRawPointer(base) + 1 } ?? rest.count
      let line = UnsafeBufferPointer(rebasing: rest[..<end])
      if needsGuard { guardNext(after: line) }
      transfer.readStatusLine(line, self)
      guard transfer.receivedLine(line, self) else { return false }
      rest = UnsafeBufferPointer(rebasing: rest[end...])
    }
    return true
  }

  /// Guards the line after a status line; call it with each line.
  func guardNext(after line: UnsafeBufferPointer<UInt8>) {
    // No field name contains a slash.
    let isStatus = line.count > 4 && line[0] == 0x48 && line[4] == 0x2F
    guard isStatus != isGuarded else { return }
    isGuarded = isStatus
    if !isLogging { _ = martlet_easy_log(easy, isStatus) }
  }

  /// Whether a connection to an address, in libcurl's form, is allowed.
  func allows(address: UnsafeMutableRawPointer) -> Bool {
    guard let refusal = loop.connections.addressRefusal else { return true }
    let bytes = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      count = buffer.baseAddress.map { Int(martlet_socket_address(address, $0)) } ?? 0
    }
    guard !bytes.isEmpty, let transfer else { return false }
    let reason = refusal(bytes)
    transfer.addresses.record(refusal: reason)
    return reason == nil
  }

  func willSend(to remote: UnsafePointer<CChar>?, _ port: CInt, from local: UnsafePointer<CChar>?, _ localPort: CInt)
    -> Bool
  {
    var (name, actual): (UInt64?, String?)
    if port > 0, localPort > 0, let remote, let local {
      var hasher = Hasher()
      actual = loop.addresses.actual(String(cString: remote), localPort: localPort)
      hasher.combine(actual)
      hasher.combine(bytes: UnsafeRawBufferPointer(start: remote, count: strlen(remote)))
      hasher.combine(port)
      hasher.combine(bytes: UnsafeRawBufferPointer(start: local, count: strlen(local)))
      hasher.combine(localPort)
      name = UInt64(bitPattern: Int64(hasher.finalize()))
    } else if loop.connections.hasUnixSocket {
      // With a Unix socket, each transfer has its own connection.
      loop.unnamedCount += 1
      name = loop.unnamedCount
    }
    return willSend(on: name, to: actual)
  }

  private func willSend(on name: UInt64?, to actual: String? = nil) -> Bool {
    guard let transfer, transfer.beginRound(self) else { return false }
    let known = name.flatMap { loop.resting[$0] }
    let (isReused, isSecure) = (isReused, transfer.job.isSecure)
    isMultiplexed = transfer.hasPriorKnowledge || isSecure && isHTTP2
    if isReused, CurlLibrary.tellsBeforeSending {
      // libcurl 8.14 sends an http request on a TLS connection to the same host and port.
      let isOther = !isSecure && transfer.route?.proxy?.kind != .https && martlet_easy_has_tls(easy)
      let isBroken = loop.broken.count > 0 && name.map { loop.broken[$0] != nil } == true
      let isUnusable = isOther || isBroken || hasFailed(known, before: transfer) || isSpoiled(known, for: transfer)
      // A connection that is not open yet has no addresses.
      if isUnusable || !isMultiplexed && (isSecure && name == nil || isTaken(known, by: transfer)) {
        transfer.isMisplaced = true
        return false
      }
      if isMultiplexed, let name, loop.aged.isOver(name), canLeaveAged(name, transfer) {
        leaveAged(name, transfer)
        return false
      }
    }
    guard transfer.willSend() else { return false }
    (hasAwaitedRoom, isStreamClosed, incoming) = (false, false, IncomingStream())
    alerts = isReused || !isSecure ? nil : martlet_easy_tls(easy).map { (martlet_tls_watch_alerts($0), $0) }
    if let name {
      let connection = known ?? loop.resting.add(name)
      if let actual { connection.actualAddress = actual }
      if let resting, resting !== connection {
        leaveConnection(isDoubtful: false)
        loop.resting.leave(resting, by: transfer)
      }
      resting = connection
      loop.uses(transfer, connection, isNew: !isReused)
      if let age = loop.connections.maximumAge, !isReused || isMultiplexed && !loop.aged.knows(name) {
        loop.aged.add(connection, isMultiplexed: isMultiplexed, until: martlet_microseconds() + age)
      }
    }
    if waitsForSharing, !isReused { loop.joinable.insert(transfer.job.origin) }
    if isSecure, transfer.sharing == .agreed, isMultiplexed || !isReused, transfer.route?.sharesConnections != false {
      transfer.slot.recordVersion(isMultiplexed: isMultiplexed)
    }
    if transfer.job.isPreconnect { stopBeforeSending(transfer) }
    guard isMultiplexed else { return true }
    log()
    if CurlLibrary.hidesBrokenConnections, let connectionName { loop.multiplexed.use(connectionName, by: self) }
    return true
  }

  var isAloneOnConnection: Bool { connectionName.map { loop.multiplexed.isAlone(self, on: $0) } ?? false }

  /// Turns libcurl's log on, until the end of the transfer.
  func log() {
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
      transfer?.receivedRaw(UnsafeRawBufferPointer(start: bytes, count: count))
    }
    recordLeftovers(type, bytes, count)
    var number: UInt32 = 0
    let note = martlet_curl_read_note(type, bytes, count, isGuarded, &number)
    switch note {
    case 3, 5:
      if note == 5, !isRepeating { transfer?.life.sends.recordRefusal() }
      isRepeating = true
      leaveConnection(isDoubtful: true)
    case 6: transfer?.life.sends.recordDowngrade()
    case 7: isStreamClosed = true
    case 8:
      (connectionNumber, isWritingHead) = (UInt64(number), false)
      // libcurl before 7.80 names the connection that it has chosen just before it sends. Sending on one that was
      // abandoned fails, and libcurl continues on a new connection.
      if !CurlLibrary.tellsBeforeSending, let transfer {
        _ = isSpoiled(connectionNumber.flatMap { loop.resting[$0] }, for: transfer)
      }
    case 2 where !isRepeating:
      if let connectionName { loop.goaways[connectionName] = number }
    default: break
    }
  }

  /// Records a written head or part of one: of the request, or of a CONNECT.
  private func wasWritten(_ bytes: UnsafeRawBufferPointer) {
    let isBeginning = !isWritingHead
    isWritingHead = !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8)
    guard isBeginning, let transfer else { return }
    if transfer.route?.proxy != nil, bytes.starts(with: "CONNECT ".utf8) { return }
    // Too late to prevent it. But a request that must not be sent twice has a new connection, so libcurl does not
    // repeat it.
    if !willSend(on: connectionNumber) { loop.unwanted.append(transfer) }
  }

  /// The result of the transfer, while it has its connection.
  func result(_ code: CInt) -> TransferCompletion {
    // SEND_ERROR: libcurl since 8.0 reports it if the server had ended its response before. While the reader pauses, or
    // after many bytes at once, libcurl may have dropped the end of the response.
    guard code != 0, !(code == 55 && isStreamClosed && transfer?.hasReadOn == true) else {
      return TransferCompletion(code: 0, text: "", isReused: isReused, isCutOff: isMultiplexed && isIncomplete)
    }
    var text = transfer?.explained(error, code, isReused: isReused) ?? error
    // An alert that was not read before sending failed.
    if let alerts, !text.contains(" alert "), let alert = martlet_tls_alert(alerts.number) {
      text += "\(text.isEmpty ? "" : ": ")the server sent the alert \(String(cString: alert))"
    }
    var result = TransferCompletion(code: code, text: text, isReused: isReused)
    result.isUnsent = hasWrittenNothing
    result.refusal = transfer?.route?.refusal(easy)
    if loop.goaways.count > 0 { result.goAwayError = connectionName.flatMap { loop.goaways[$0] } ?? 0 }
    result.isUnprocessed = incoming.code == 7  // REFUSED_STREAM, even for a stream beyond the last one of GOAWAY
    return result
  }

  /// Records that the transfer no longer uses its connection, which may be broken.
  func leaveConnection(isDoubtful: Bool) {
    if let connectionName { loop.multiplexed.leave(connectionName, by: self, isDoubtful: isDoubtful) }
  }

  /// The socket of the connection that the finished transfer leaves to others.
  var keptSocket: CInt? {
    let socket = martlet_easy_kept_socket(easy)
    return socket < 0 ? nil : socket
  }

  /// Reads an alert that is waiting in the socket of the transfer's own connection, which is abandoned.
  func readAlert(from socket: CInt) { if let alerts { _ = martlet_tls_is_quiet(alerts.tls, socket) } }

  /// Records facts about the connection before the transfer loses it.
  func recordConnection() {
    guard let transfer else { return }
    let isSecure = transfer.job.isSecure
    if isSecure, transfer.sharing == .agreed {
      loop.exclusive.record(transfer.job.origin, speaksHTTP1: transfer.life.isAlone)
    }
    guard !isReused else { return }
    if let alerts, transfer.life.bodyEnd != .connection { martlet_tls_ignore_alerts(alerts.tls) }
    alerts = nil
    let hasSecureProxy = transfer.route?.proxy?.kind == .https
    if isSecure != hasSecureProxy || proxyTLS != nil { tls = martlet_easy_session(easy) }
  }

  /// Watches for the end of TLS, which has to precede the end of the body.
  ///
  /// - Returns: The number to query it by; 0 without TLS, or if the end is irrelevant or unknown.
  func watchEnd() -> UInt {
    guard loop.tls.settings.needsEnd, let tls = martlet_easy_tls(easy) else { return 0 }
    return martlet_tls_watch_end(tls)
  }

  func release() {
    transfer?.handle = nil
    transfer = nil
    (resting, connectionNumber, tls, proxyTLS, socket) = (nil, nil, nil, nil, nil)
    if isGuarded || isLogging { _ = martlet_easy_log(easy, false) }
    (isGuarded, isLogging, isRepeating) = (false, false, false)
    (isMultiplexed, isStreamClosed, isWritingHead) = (false, false, false)
    (alerts, hasAwaitedRoom, incoming, isLeaving) = (nil, false, IncomingStream(), false)
  }

  /// Sets a list of one line of ``WireText``, and keeps it while libcurl may read it.
  func setList(_ option: Int, _ line: String, _ options: inout EasyOptions) {
    guard let list = Self.append(line, to: nil) else { return options.run(27) }  // OUT_OF_MEMORY
    lists.append(list)
    options.set(option, to: list)
  }

  private func freeLists() {
    for list in lists { martlet_list_free(list) }
    lists = []
  }

  /// The transfer's connection, while the transfer runs.
  var connection: CurlConnection {
    if let known = resting?.addresses { return CurlConnection(addresses: known, isReused: isReused) }
    guard !loop.connections.hasUnixSocket, let remotePort = port(CInt(martlet_info_remote_port)) else {
      return CurlConnection(addresses: nil, isReused: isReused)
    }
    let reported = text(CInt(martlet_info_remote_address))
    let addresses = CurlAddresses(
      remoteAddress: resting?.actualAddress ?? reported, remotePort: remotePort,
      localAddress: text(CInt(martlet_info_local_address)), localPort: port(CInt(martlet_info_local_port)))
    resting?.addresses = addresses
    return CurlConnection(addresses: addresses, isReused: isReused)
  }

  private func port(_ info: CInt) -> Int? {
    let port = martlet_easy_number(easy, info)
    return port > 0 ? port : nil
  }

  private func text(_ info: CInt) -> String? {
    guard let text = martlet_easy_text(easy, info), text.pointee != 0 else { return nil }
    return String(cString: text)
  }

  /// The times measured so far, while the transfer runs.
  var timing: CurlTiming {
    guard !isReused else { return CurlTiming() }
    let connect = martlet_easy_connect_time(easy)
    let tls = martlet_easy_tls_time(easy)
    return CurlTiming(
      nameLookup: martlet_easy_name_lookup_time(easy), connect: connect, tls: tls > 0 ? max(0, tls - connect) : nil)
  }
}
