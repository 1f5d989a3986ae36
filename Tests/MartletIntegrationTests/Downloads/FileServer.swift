#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport

  @testable import MartletBase
  @testable import MartletTesting

  /// A server for one file, which serves ranges as in RFC 9110 §14 or as a test requires.
  ///
  /// Each of at most 64 connections has its own thread, which can limit its rate and counts the bytes it sends.
  final class FileServer: Sendable {
    /// The file and how it is served.
    struct File: Sendable {
      var bytes: Data
      var entityTag: String? = "\"1\""
      var lastModified: String?
      /// The body bytes per second on each connection; `nil` means unlimited.
      var rate: Int?
      /// Whether the server supports `Range`.
      var servesRanges = true
      /// Whether the response contains the length.
      var saysLength = true
      /// The number of body bytes after which the connection closes.
      var cutsAfter: Int?
      /// Replaces the correct response head, which it receives together with the request.
      var head: (@Sendable (_ head: Head, _ request: String) -> Head)?
    }

    /// The head of a response.
    struct Head: Sendable {
      var status: Int
      var fields: [String: String]
      var body: Range<Int>
    }

    private struct State {
      var file: File
      var isRunning = true
      var connections = 0
      var sent: Int64 = 0
      var requests: [String] = []
    }

    let port: Int
    private let listener: Int32
    private let state: Shared<State>

    init(_ file: File) throws {
      state = Shared(State(file: file))
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      guard descriptor >= 0 else { throw MockServerError(operation: "socket", code: errno) }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      // A small buffer, because bytes that wait in the system's buffers have not reached the client.
      var size: Int32 = 32 << 10
      setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0 && getsockname(descriptor, $0, &length) == 0
        }
      }
      guard isBound else { throw MockServerError(operation: "bind", code: errno) }
      listener = descriptor
      port = Int(UInt16(bigEndian: address.sin_port))
      let (listener, state) = (listener, state)
      Thread.detachNewThread { Self.accept(listener, state) }
    }

    deinit { stop() }

    func stop() {
      let wasRunning = state.withLock { state in
        defer { state.isRunning = false }
        return state.isRunning
      }
      if wasRunning {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
      }
    }

    var url: String { "http://127.0.0.1:\(port)/file.bin" }
    var target: RequestTarget { "\(raw: url)" }
    /// The number of body bytes passed to the system.
    var sent: Int64 { state.withLock { $0.sent } }
    /// The heads of the requests.
    var requests: [String] { state.withLock { $0.requests } }
    /// The requested ranges.
    var ranges: [String?] { requests.map { Self.field("Range", of: $0) } }

    func change(_ change: (inout File) -> Void) { state.withLock { change(&$0.file) } }

    static func field(_ name: String, of head: String) -> String? {
      for line in head.split(separator: "\r\n").dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { continue }
        return parts[1].trimmingCharacters(in: .whitespaces)
      }
      return nil
    }

    // MARK: Threads of the server

    private static func accept(_ listener: Int32, _ state: Shared<State>) {
      while state.withLock({ $0.isRunning }) {
        let socket = Glibc.accept(listener, nil, nil)
        guard socket >= 0 else {
          if errno == EINTR || errno == ECONNABORTED { continue }
          return
        }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        let mayServe = state.withLock { state in
          state.connections += 1
          return state.connections <= 64
        }
        guard mayServe else {
          close(socket)
          state.withLock { $0.connections -= 1 }
          continue
        }
        Thread.detachNewThread {
          var limit = timeval(tv_sec: 30, tv_usec: 0)
          setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
          setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
          while let head = readHead(socket), answer(head, socket, state) {}
          close(socket)
          state.withLock { $0.connections -= 1 }
        }
      }
    }

    private static func readHead(_ socket: Int32) -> String? {
      var bytes: [UInt8] = []
      var byte: UInt8 = 0
      while bytes.count < 64 << 10 {
        guard recv(socket, &byte, 1, 0) == 1 else { return nil }
        bytes.append(byte)
        if byte == 0x0A, bytes.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] { return String(decoding: bytes, as: UTF8.self) }
      }
      return nil
    }

    /// Responds to a request.
    ///
    /// - Returns: Whether the connection stays open.
    private static func answer(_ request: String, _ socket: Int32, _ state: Shared<State>) -> Bool {
      let file = state.withLock { state in
        state.requests.append(request)
        return state.file
      }
      var head = rightHead(request, file)
      if let other = file.head { head = other(head, request) }
      var text = "HTTP/1.1 \(head.status) Status\r\n"
      for (name, value) in head.fields.sorted(by: { $0.key < $1.key }) { text += "\(name): \(value)\r\n" }
      guard send(Data("\(text)\r\n".utf8), socket) else { return false }
      var (offset, end) = (head.body.lowerBound, head.body.upperBound)
      if let cut = file.cutsAfter { end = min(end, offset + cut) }
      let isCut = end < head.body.upperBound
      while offset < end {
        let count = min(file.rate == nil ? 64 << 10 : 16 << 10, end - offset)
        guard send(file.bytes[offset..<(offset + count)], socket) else { return false }
        offset += count
        let (isRunning, rate) = state.withLock { state in
          state.sent += Int64(count)
          return (state.isRunning, state.file.rate)
        }
        if !isRunning { return false }
        guard let rate else { continue }
        // The wait ends early if the rate changes.
        let end = ContinuousClock.now + Duration.seconds(1) * count / rate
        while ContinuousClock.now < end, state.withLock({ $0.isRunning && $0.file.rate == rate }) { usleep(2_000) }
      }
      return !isCut && head.fields["Content-Length"] != nil && head.fields["Connection"] != "close"
    }

    private static func rightHead(_ request: String, _ file: File) -> Head {
      var fields = ["Accept-Ranges": "bytes", "Date": "Tue, 01 Sep 2026 12:00:00 GMT"]
      fields["ETag"] = file.entityTag
      fields["Last-Modified"] = file.lastModified
      let size = file.bytes.count
      var (status, body) = (200, 0..<size)
      if file.servesRanges, let range = field("Range", of: request), isSame(field("If-Range", of: request), file) {
        let ends = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        let start = Int(ends[0]) ?? 0
        let last = min(Int(ends[1]) ?? size - 1, size - 1)
        let shown = file.saysLength ? "\(size)" : "*"
        if start <= last {
          (status, body) = (206, start..<(last + 1))
          fields["Content-Range"] = "bytes \(start)-\(last)/\(shown)"
        } else {
          (status, body) = (416, 0..<0)
          fields["Content-Range"] = "bytes */\(size)"
        }
      }
      if file.saysLength || status == 416 {
        fields["Content-Length"] = "\(body.count)"
      } else {
        fields["Connection"] = "close"
      }
      return Head(status: status, fields: fields, body: body)
    }

    private static func isSame(_ condition: String?, _ file: File) -> Bool {
      condition == nil || condition == file.entityTag || condition == file.lastModified
    }

    private static func send(_ data: Data, _ socket: Int32) -> Bool {
      data.withUnsafeBytes { bytes in
        var done = 0
        while done < bytes.count {
          let count = Glibc.send(
            socket, bytes.baseAddress.map { $0 + done }, bytes.count - done, Int32(MSG_NOSIGNAL))
          if count < 0 && errno == EINTR { continue }
          guard count > 0 else { return false }
          done += count
        }
        return true
      }
    }
  }

  extension FileServer {
    /// Returns pseudorandom bytes, which are the same for each seed.
    static func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
      let made = Self.made.withLock { $0[seed] ?? Data() }
      if made.count >= count { return made.prefix(count) }
      var data = Data(count: count)
      data.withUnsafeMutableBytes { buffer in
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        for index in 0..<(count / 8) {
          state ^= state << 13
          state ^= state >> 7
          state ^= state << 17
          buffer.storeBytes(of: state, toByteOffset: index * 8, as: UInt64.self)
        }
      }
      // The bytes after the last whole number would differ in a longer result, so they must not be stored.
      if count % 8 == 0 { Self.made.withLock { [data] in $0[seed] = data } }
      return data
    }

    /// The longest result for each seed.
    private static let made = Locked<[UInt64: Data]>([:])
  }
#endif
