#if os(Linux)
  import CurlEngine
  import MartletBase

  extension CurlJob {
    /// Checks that a request can be sent, and returns it in the engine's form.
    ///
    /// Throws ``HTTPError/Kind/unsupported``, or the problem of the request. `cache` contains the lines of the last
    /// request. Without `expectations`, the client adds no `Expect: 100-continue` to the caller's fields.
    static func make(
      for request: HTTPRequest, _ context: RequestContext, _ cache: HeaderLinesCache,
      _ expectations: CurlExpectations?
    ) throws -> CurlJob {
      let upgrade = context.upgradeProtocol
      if upgrade != nil { try checkUpgrade(request) }
      let (target, announced) = try check(request)
      let length = upgrade == nil ? announced : nil
      let origin = target.origin
      let hasExpect = announced != 0 && request.headers.contains("Expect")
      let addsExpect =
        announced != 0 && !hasExpect && upgrade == nil && expectations?.asks(origin, length: announced, context) == true
      if announced != 0 && request.method == .head {
        throw request.unsupported("libcurl cannot send a HEAD with a body")
      }
      let decompression = context.call.options.decompression
      let isUsual = request.method == .get && request.body == nil && decompression == .automatic && upgrade == nil
      let known = isUsual ? cache.lines(for: request.headers) : nil
      let lines =
        known
        ?? Self.lines(of: request, length: announced, addsExpect: addsExpect, decompression, upgrade: upgrade)
      if isUsual && known == nil { cache.keep(lines, for: request.headers) }
      let limits = context.call.timeouts
      return CurlJob(
        origin: origin, url: target.requestString, target: isChangeable(target) ? target.pathAndQuery : nil,
        method: request.method.rawValue, lines: lines, length: length, expectsContinue: addsExpect || hasExpect,
        addsExpect: addsExpect, isIdempotent: request.isIdempotent, needsNewConnection: context.needsNewConnection,
        isDecoded: decompression == .automatic, isStreamed: context.isStreamed, connectLimit: limits.connect,
        silenceLimit: announced == 0 || upgrade != nil ? nil : [limits.idle, limits.firstByte].compactMap { $0 }.min(),
        isUpgrade: upgrade != nil)
    }

    private static func checkUpgrade(_ request: HTTPRequest) throws {
      guard request.body == nil || request.bodyInMemory != nil else {
        throw RequestGate.problem(
          InvalidInput("the body of an upgrade request must be in memory: use HTTPBody.data"), of: request)
      }
      guard request.method != .head else {
        throw RequestGate.problem(InvalidInput("a HEAD request cannot change the protocol: use GET"), of: request)
      }
      guard !request.headers.contains("Connection") else {
        throw RequestGate.problem(
          InvalidInput("the header 'Connection' would close the upgraded connection: remove it"), of: request)
      }
    }

    private static func check(_ request: HTTPRequest) throws -> (AbsoluteURL, length: Int64?) {
      do {
        guard let target = request.absoluteURL else { throw InvalidInput("\(request.target) is not a complete URL") }
        guard let body = request.body else { return (target, 0) }
        return (target, try body.check())
      } catch {
        throw RequestGate.problem(error, of: request)
      }
    }

    /// Whether libcurl may change the request target.
    ///
    /// Some versions drop an empty query, and newer ones write percent-encodings in upper case.
    private static func isChangeable(_ target: AbsoluteURL) -> Bool {
      if target.query?.isEmpty == true { return true }
      guard CurlLibrary.changesEscapes, target.string.utf8.contains(0x25) else { return false }
      let bytes = Array(target.pathAndQuery.utf8)
      return bytes.indices.dropLast(2).contains { index in
        bytes[index] == 0x25 && (bytes[index + 1] >= 0x61 || bytes[index + 2] >= 0x61)
      }
    }

    func makeUpload(of request: HTTPRequest) throws -> CurlUpload? {
      if isUpgrade { return CurlUpload(writesAfter: request.bodyInMemory ?? Data()) }
      guard let body = request.body else { return nil }
      switch body.content {
      case .data, .file, .invalid: if !hasBody { return nil }
      // Even an empty stream must be read to find out that it is empty.
      case .stream, .pieces, .compressed, .spool, .json: break
      }
      if let trailers = body.trailers {
        return try CurlUpload(.stream(try body.source(for: request)), length: nil, request: request, trailers)
      }
      return try CurlUpload(body.content, length: length, request: request)
    }

    private static func lines(
      of request: HTTPRequest, length: Int64?, addsExpect: Bool, _ decompression: RequestOptions.Decompression,
      upgrade: String?
    ) -> HeaderLines {
      var lines: [String] = []
      lines.reserveCapacity(request.headers.count + 3)
      var hasAccept = false
      var hasCoding = false
      var hasExpect = false
      var hasRange = false
      var hasTE = false
      var closesConnection = false
      var hasProxyCredentials = false
      let isCoded = request.headers.contains(where: \.hasOtherOctets)
      for field in request.headers {
        // Without a body, `Expect` has no meaning (RFC 9110 §10.1.1).
        if length == 0 && FieldSyntax.isSameName(field.name, "Expect") { continue }
        let value = FieldSyntax.trimmed(isCoded ? field.wire : field.value)
        lines.append(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")
        switch field.name.utf8.count {
        case 2: hasTE = hasTE || FieldSyntax.isSameName(field.name, "TE")
        case 5: hasRange = hasRange || FieldSyntax.isSameName(field.name, "Range")
        case 6:
          hasAccept = hasAccept || FieldSyntax.isSameName(field.name, "Accept")
          hasExpect = hasExpect || FieldSyntax.isSameName(field.name, "Expect")
        // `FieldRules` allows only `close`.
        case 10: closesConnection = closesConnection || FieldSyntax.isSameName(field.name, "Connection")
        case 19: hasProxyCredentials = hasProxyCredentials || FieldSyntax.isSameName(field.name, "Proxy-Authorization")
        case 15: hasCoding = hasCoding || FieldSyntax.isSameName(field.name, "Accept-Encoding")
        default: break
        }
      }
      // Over HTTP/2 libcurl does not send this field.
      if hasTE {
        lines.removeAll { FieldSyntax.isSameName($0.prefix(11), "Connection:") }
        lines.append("Connection: \(closesConnection ? "close, " : upgrade == nil ? "" : "Upgrade, ")TE")
      }
      if let upgrade {
        if !hasTE { lines.append("Connection: Upgrade") }
        lines.append("Upgrade: \(upgrade)")
        if let length, length > 0 { lines.append("Content-Length: \(length)") }
        // libcurl must not frame the bytes that it sends after the head.
        lines += ["Transfer-Encoding:", "Expect:"]
      }
      if let trailers = request.body?.trailers { lines.append("Trailer: \(trailers.names.joined(separator: ", "))") }
      // A part of an encoded body could not be decoded.
      if !hasCoding && decompression == .automatic && !ContentCoding.accepted.isEmpty {
        lines.append("Accept-Encoding: \(hasRange ? "identity" : ContentCoding.accepted)")
      }
      if !hasAccept { lines.append("Accept:") }
      if length != 0 {
        // By itself libcurl sends `Expect` over HTTP/1.1 only: for large bodies, and before 8.7 for all.
        if addsExpect {
          if let length, length <= CurlExpectations.smallBytes { lines.append("Expect: 100-continue") }
        } else if !hasExpect {
          lines.append("Expect:")
        }
      } else if request.body != nil || [.post, .put, .patch].contains(request.method) {
        lines.append("Content-Length: 0")
      }
      return HeaderLines(
        lines, isCoded: isCoded, closesConnection: closesConnection, hasProxyCredentials: hasProxyCredentials)
    }
  }

  extension HTTPRequest {
    /// The bytes of a body that is a value, without trailers.
    fileprivate var bodyInMemory: Data? {
      guard let body, body.trailers == nil, case .data(let data) = body.content.settled else { return nil }
      return data
    }

    func unsupported(_ message: String) -> HTTPError { HTTPError(.unsupported, message, request: self) }
  }

  /// The lines of the last `GET`.
  ///
  /// A client whose requests have only its default fields makes them once.
  final class HeaderLinesCache: Sendable {
    private let last = Locked<(headers: HTTPHeaders, lines: HeaderLines)?>(nil)

    func lines(for headers: HTTPHeaders) -> HeaderLines? {
      last.withLock { last in
        guard let last, last.headers.isIdentical(to: headers) else { return nil }
        return last.lines
      }
    }

    func keep(_ lines: HeaderLines, for headers: HTTPHeaders) { last.withLock { $0 = (headers, lines) } }
  }
#endif
