import CMartletShim

/// The callbacks from libcurl into Swift.
///
/// Their context is a ``CurlHandle`` or a ``CurlLoop``. Both outlive every call.
enum CurlCallbacks {
  private static let failed = 0  // Any number other than the expected one.
  private static let pause = 0x1000_0001  // CURL_WRITEFUNC_PAUSE and CURL_READFUNC_PAUSE
  private static let abortReading = 0x1000_0000  // CURL_READFUNC_ABORT

  static func handle<Result>(_ pointer: UnsafeMutableRawPointer, _ body: (CurlHandle) -> Result) -> Result {
    Unmanaged<CurlHandle>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
  }

  private static func loop(_ pointer: UnsafeMutableRawPointer, _ body: (CurlLoop) -> Void) {
    Unmanaged<CurlLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
  }

  private static let easy = martlet_curl_callbacks(
    head: { bytes, size, count, pointer in
      guard let pointer else { return failed }
      let length = size &* count
      let lines = UnsafeRawBufferPointer(start: bytes, count: length).bindMemory(to: UInt8.self)
      return handle(pointer) { $0.received(lines) } ? length : failed
    },
    body: { bytes, size, count, pointer in
      guard let pointer else { return failed }
      let length = size &* count
      // For no bytes, 0 means that all were taken.
      guard length > 0 else { return 0 }
      switch handle(pointer, { $0.transfer?.received(UnsafeRawBufferPointer(start: bytes, count: length)) }) {
      case .taken: return length
      case .wait: return pause
      case .stop, nil: return failed
      }
    },
    read: { bytes, size, count, pointer in
      guard let pointer else { return abortReading }
      let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size &* count)
      switch handle(pointer, { $0.transfer?.read(into: buffer) }) {
      case .bytes(let count): return count
      case .wait: return pause
      case .failed, nil: return abortReading
      }
    },
    seek: { pointer, offset, origin in
      guard let pointer, offset == 0, origin == 0 else { return 1 }  // CURL_SEEKFUNC_FAIL
      return handle(pointer) { $0.transfer?.canRewind == true } ? 0 : 1
    },
    ready: { pointer, remote, local, port, localPort in
      guard let pointer else { return 1 }  // CURL_PREREQFUNC_ABORT
      return handle(pointer) { $0.willSend(to: remote, port, from: local, localPort) } ? 0 : 1
    },
    opened: { pointer, socket, _ in
      guard let pointer else { return 1 }  // CURL_SOCKOPT_ERROR
      return handle(pointer) { handle in
        handle.loop.opened(socket, by: handle)
        // No new connection for sending a request again.
        return handle.transfer?.life.sends.mayConnect == false ? 1 : 0
      }
    },
    opening: { pointer, _, address in
      guard let pointer, let address else { return -1 }  // CURL_SOCKET_BAD
      return handle(pointer) { handle in
        if handle.allows(address: address) { return handle.loop.newSocket(for: handle, to: address) }
        handle.loop.refused(handle)
        return -1
      }
    },
    closed: { pointer, socket in
      if let pointer { loop(pointer) { $0.closed(socket) } }
      martlet_close(socket)
      return 0
    },
    logged: { _, type, bytes, count, pointer in
      if let pointer { handle(pointer) { $0.logged(type, bytes, count) } }
      return 0
    })

  private static let multi = martlet_multi_callbacks(
    socket: { easy, socket, what, pointer, _ in
      if let pointer { loop(pointer) { $0.watch(socket, what, for: easy) } }
      return 0
    },
    timer: { _, milliseconds, pointer in
      if let pointer { loop(pointer) { $0.setTimer(milliseconds) } }
      return 0
    })

  fileprivate static let streamNoted: martlet_stream_noted = { pointer, easy, event, value in
    guard let pointer else { return }
    loop(pointer) { $0.handles[easy]?.recordStream(event, value) }
  }

  fileprivate static let sendFailed: martlet_send_failed = { pointer, socket, isReset in
    guard let pointer else { return false }
    return Unmanaged<CurlLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.sendFailed(socket, isReset: isReset) }
  }

  static func prepare(_ handle: CurlHandle, error: UnsafeMutablePointer<CChar>) -> CInt {
    withUnsafePointer(to: easy) {
      martlet_easy_prepare(
        handle.easy, $0, Unmanaged.passUnretained(handle).toOpaque(),
        Unmanaged.passUnretained(handle.loop).toOpaque(), error)
    }
  }

  static func makeMulti(
    _ owner: UnsafeMutableRawPointer, _ settings: CurlConnectionSettings
  ) -> UnsafeMutableRawPointer? {
    withUnsafePointer(to: multi) { martlet_multi_new($0, owner, settings.perHost, settings.total) }
  }
}

extension CurlLoop {
  /// Observes the HTTP/2 streams and the failed sends of a loop, while libcurl works for the loop on this thread.
  ///
  /// - Returns: The loop that was observed before, for ``observeAgain(_:)``: loops can be nested on a thread.
  static func observe(_ loop: CurlLoop?) -> UnsafeMutableRawPointer? {
    martlet_streams_listen(
      CurlCallbacks.streamNoted, CurlCallbacks.sendFailed, loop.map { Unmanaged.passUnretained($0).toOpaque() })
  }

  static func observeAgain(_ previous: UnsafeMutableRawPointer?) {
    _ = martlet_streams_listen(CurlCallbacks.streamNoted, CurlCallbacks.sendFailed, previous)
  }
}
