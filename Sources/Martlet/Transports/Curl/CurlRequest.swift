#if os(Linux)
  import CurlEngine
  import MartletBase
  import Foundation

  /// A request in libcurl's form.
  struct CurlRequest: Sendable {
    let request: HTTPRequest
    let origin: Origin
    let url: String
    let lines: HeaderLines
    let length: Int64?
    /// Whether to send `Expect: 100-continue` in addition to the caller's fields.
    let asksLeave: Bool

    var method: HTTPMethod { request.method }

    /// Whether the request has `Expect: 100-continue` for any reason.
    var expectsContinue: Bool { asksLeave || request.headers.contains("Expect") }

    var trailers: TrailerSource? { request.body?.trailers }

    var hasBody: Bool { length != 0 }

    /// Checks that the request can be sent.
    ///
    /// Throws ``HTTPError/Kind/unsupported``, or what is wrong with the request. `cache` has the lines of the last
    /// request. `asksLeave` returns whether to send `Expect: 100-continue` to an origin, given the length of the body.
    init(
      _ request: HTTPRequest, _ decompression: RequestOptions.Decompression, _ cache: HeaderLinesCache,
      asksLeave: (Origin, Int64?) -> Bool
    ) throws {
      do {
        let target = try request.target.resolve(against: nil, adding: request.query)
        origin = target.origin
        if let body = request.body { length = try body.check() } else { length = 0 }
        self.request = request
        self.asksLeave = length != 0 && !request.headers.contains("Expect") && asksLeave(origin, length)
        url = target.requestString
        let isUsual = request.method == .get && request.body == nil && decompression == .automatic
        if isUsual, let made = cache.lines(for: request.headers) {
          lines = made
        } else {
          lines = Self.lines(of: request, length: length, asksLeave: self.asksLeave, decompression)
          if isUsual { cache.keep(lines, for: request.headers) }
        }
      } catch let error as InvalidInput {
        throw HTTPError(.invalidRequest, error.message, request: request)
      } catch let error as InvalidBody {
        throw HTTPRequest.error(error, of: request)
      }
      if hasBody && method == .head { throw unsupported("libcurl cannot send a HEAD with a body") }
    }

    func unsupported(_ message: String) -> HTTPError { HTTPError(.unsupported, message, request: request) }

    func job(_ context: RequestContext, _ route: CurlRoute?) -> CurlJob {
      let limits = context.call.timeouts
      return CurlJob(
        origin: origin, url: url, target: changeableTarget(through: route?.proxy),
        method: method.rawValue, lines: lines, length: length, expectsContinue: hasBody && expectsContinue,
        asksLeave: asksLeave, isIdempotent: request.isIdempotent, needsNewConnection: context.needsNewConnection,
        isDecoded: context.call.options.decompression == .automatic, connectLimit: limits.connect,
        silenceLimit: hasBody ? [limits.idle, limits.firstByte].compactMap { $0 }.min() : nil)
    }

    /// The request target, if libcurl may change it.
    ///
    /// Some versions drop an empty query, and newer ones write percent-encodings in upper case.
    private func changeableTarget(through proxy: CurlRoute.Proxy?) -> String? {
      guard url.utf8.last == UInt8(ascii: "?") || CurlLibrary.changesEscapes && hasLowercaseEscape else { return nil }
      if let proxy, proxy.kind != .socks5, origin.scheme == "http" { return url }
      let path = url.dropFirst(origin.scheme.count + 3).drop { $0 != "/" && $0 != "?" }
      return path.hasPrefix("/") ? String(path) : "/\(path)"
    }

    private var hasLowercaseEscape: Bool {
      guard url.utf8.contains(0x25) else { return false }
      let bytes = Array(url.utf8)
      return bytes.indices.dropLast(2).contains { index in
        bytes[index] == 0x25 && (bytes[index + 1] >= 0x61 || bytes[index + 2] >= 0x61)
      }
    }

    func makeUpload() throws -> CurlUpload? {
      guard let content = request.body?.content else { return nil }
      switch content {
      case .data, .file, .invalid: if !hasBody { return nil }
      // Even an empty stream must be read to find out that it is empty.
      case .stream, .pieces, .gzip, .spool, .json: break
      }
      if let trailers, let body = request.body {
        return try CurlUpload(.stream(try body.source(for: request)), length: nil, request: request, trailers)
      }
      return try CurlUpload(content, length: length, request: request)
    }

    private static func lines(
      of request: HTTPRequest, length: Int64?, asksLeave: Bool, _ decompression: RequestOptions.Decompression
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
      for field in request.headers {
        // Without a body, `Expect` has no meaning (RFC 9110 §10.1.1).
        if length == 0 && FieldSyntax.isSameName(field.name, "Expect") { continue }
        let value = FieldSyntax.trimmed(field.value)
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
        lines.append(closesConnection ? "Connection: close, TE" : "Connection: TE")
      }
      if let trailers = request.body?.trailers { lines.append("Trailer: \(trailers.names.joined(separator: ", "))") }
      // A part of a coded body could not be decoded.
      if !hasCoding && decompression == .automatic && !ContentCoding.accepted.isEmpty {
        lines.append("Accept-Encoding: \(hasRange ? "identity" : ContentCoding.accepted)")
      }
      if !hasAccept { lines.append("Accept:") }
      if length != 0 {
        // By itself libcurl sends `Expect` over HTTP/1.1 only: for large bodies, and before 8.7 for all.
        if asksLeave {
          if let length, length <= CurlExpectations.smallBytes { lines.append("Expect: 100-continue") }
        } else if !hasExpect {
          lines.append("Expect:")
        }
      } else if request.body != nil || [.post, .put, .patch].contains(request.method) {
        lines.append("Content-Length: 0")
      }
      return HeaderLines(lines, closesConnection: closesConnection, hasProxyCredentials: hasProxyCredentials)
    }
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
