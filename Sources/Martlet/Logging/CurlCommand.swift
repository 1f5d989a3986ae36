import MartletBase

/// A request as a curl command line.
struct CurlCommand {
  /// The maximum size of a body in the command; the system allows 128 KiB for one argument.
  static let maximumInlineBytes = 16 << 10

  let request: HTTPRequest
  let url: AbsoluteURL
  let redaction: Redaction
  /// Whether the request has every field to be sent, so curl must not add its own.
  var isComplete = false
  /// Whether an encoded body is requested and decoded.
  var isDecoding = false

  /// The command on one line.
  ///
  /// Throws if no command can contain the request, or curl would not send it.
  func text() throws(InvalidInput) -> String {
    try check()
    var words = ["curl"]
    // curl would read brackets and braces as URL patterns.
    if url.requestString.utf8.contains(where: { [UInt8]("[]{}".utf8).contains($0) }) { words.append("--globoff") }
    if isDecoding { words.append("--compressed") }
    switch (request.method, request.body) {
    case (.head, _): words.append("--head")
    case (.get, nil): break
    default: words += ["--request", try ShellText.word(request.method.rawValue)]
    }
    for field in request.headers { words += ["--header", try word(of: field)] }
    for name in absentFields { words += ["--header", "\(name):"] }
    let (input, body) = try bodyWords()
    words += body
    words.append(try ShellText.word(redaction.text(of: url)))
    return (input.map { "\($0) | " } ?? "") + words.joined(separator: " ")
  }

  private func check() throws(InvalidInput) {
    guard request.method.isValid, request.method != .connect else {
      throw InvalidInput("the method '\(InvalidInput.printable(request.method.rawValue))' cannot be sent")
    }
    if request.method == .head && request.body != nil { throw InvalidInput("a HEAD request has no body") }
    for field in request.headers {
      guard FieldSyntax.isToken(field.name), FieldSyntax.isFieldValue(field.value) else {
        throw InvalidInput("the header '\(InvalidInput.printable(field.name))' cannot be sent")
      }
    }
    if case .invalid(let problem)? = request.body?.content.settled { throw problem }
    if request.body?.trailers != nil { throw InvalidInput("curl cannot send trailers") }
  }

  /// The word with a field, whose octets may not be UTF-8.
  private func word(of field: HTTPHeaders.Field) throws(InvalidInput) -> String {
    let line = line(of: field)
    guard field.hasOtherOctets, line.hasSuffix(field.value) else { return try ShellText.word(line) }
    return "\"$(\(ShellText.printf(Array("\(field.name): ".utf8) + field.octets)))\""
  }

  /// Formats a field for curl.
  ///
  /// A field without a value ends in a semicolon, because curl would otherwise remove it.
  private func line(of field: HTTPHeaders.Field) -> String {
    let value = redaction.value(of: field)
    return FieldSyntax.trimmed(value).isEmpty ? "\(field.name);" : "\(field.name): \(value)"
  }

  /// The fields that curl would add, but the request does not have.
  private var absentFields: [String] {
    var names = isComplete ? ["Accept", "User-Agent"] : []
    if let body = request.body {
      if body.contentType == nil { names.append("Content-Type") }
      // For large bodies curl would send `Expect: 100-continue` and wait for a second.
      if body.length.map({ $0 > Self.maximumInlineBytes }) ?? true { names.append("Expect") }
    }
    return names.filter { !request.headers.contains($0) }
  }

  /// The source of the body: a command before curl, and options of curl.
  private func bodyWords() throws(InvalidInput) -> (input: String?, words: [String]) {
    guard let body = request.body else { return (nil, []) }
    let type = request.headers["Content-Type"] ?? body.contentType
    var words: [String] = []
    if let own = body.contentType, !request.headers.contains("Content-Type") {
      words += ["--header", try ShellText.word("Content-Type: \(own)")]
    }
    let piped = words + ["--data-binary", "@-"]
    switch body.content.settled {
    case .file(let file):
      guard file.isFileURL else { throw InvalidInput("a file body needs a file URL") }
      return (nil, words + ["--data-binary", try ShellText.word("@\(file.path(percentEncoded: false))")])
    case .data(let data) where !redaction.hidesBodies && data.count <= Self.maximumInlineBytes:
      let isText = BodyMask.isText(data, contentType: type, coding: request.headers["Content-Encoding"])
      // Data that cannot be searched for secrets is not shown.
      guard
        let bytes = isText
          ? BodyMask.masked(data, contentType: type, redaction) : redaction.revealsSecrets ? [UInt8](data) : nil
      else { return (nil, piped) }
      if let text = String(validating: bytes, as: UTF8.self), text.unicodeScalars.allSatisfy(Printable.isPrintable) {
        // Not --data-binary, which reads a file if the text begins with an @.
        return (nil, words + ["--data-raw", try ShellText.word(text)])
      }
      return (ShellText.printf(bytes), piped)
    case .data, .stream, .pieces, .compressed, .spool, .json, .invalid: return (nil, piped)
    }
  }
}

extension HTTPRequest {
  /// This request as a curl command, to run in a terminal or to share.
  ///
  /// The command is always one line for a POSIX shell. Secrets are masked, so a request that needs them does not work
  /// unchanged. curl adds its own `User-Agent` and `Accept`. Fields that a client would add are missing: for them, see
  /// ``HTTPClient/curlCommand(for:options:redaction:)``.
  ///
  /// A body of at most 16 KiB is part of the command, masked like in a log. A file is
  /// referenced by its path. The command reads any other body from standard input (`@-`): a larger body, a stream, data
  /// whose secrets could not be masked unless secrets are shown, and with ``Redaction/strict`` every body.
  ///
  /// - Parameters:
  ///   - redaction: The secrets to mask; ``Redaction/standard`` by default, ``Redaction/revealingSecrets`` for a
  ///     command that works.
  ///   - base: The base URL of a relative target.
  /// - Returns: The command.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/invalidRequest`` if the request cannot be sent, contains a NUL
  ///   where a command cannot have one, or has trailers, which curl cannot send.
  public func curlCommand(redaction: Redaction = .standard, base: RequestTarget? = nil) throws -> String {
    do throws(InvalidInput) {
      let url = try target.resolve(against: base, adding: query)
      var request = self
      request.add(url.user.map { Credential.user($0, password: url.password ?? "", isPreemptive: true) }, url)
      return try CurlCommand(request: request, url: url, redaction: redaction).text()
    } catch {
      throw HTTPError(.invalidRequest, error.message, request: self)
    }
  }

  fileprivate mutating func add(_ credential: Credential?, _ url: AbsoluteURL) {
    guard let credential, credential.isPreemptive, !headers.contains("Authorization") else { return }
    headers[wire: "Authorization"] = try? Answer(unasked: credential).field(method: method, url: url)
  }
}

extension HTTPClient {
  /// A request of this client as an equivalent curl command.
  ///
  /// Like ``HTTPRequest/curlCommand(redaction:base:)``, with everything that the client adds: its base URL, its header
  /// fields, preemptive credentials of the URL or the options, and the cookies of its jar. The command omits the fields
  /// that middleware and authenticators add, cookies of ``CookiePolicy/only(_:)``, and the connection settings:
  /// proxies, TLS settings, limits.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - options: Per-request options.
  ///   - redaction: The secrets to mask; by default ``Configuration/redaction``.
  /// - Returns: The command.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/invalidRequest`` if the request cannot be sent.
  public nonisolated func curlCommand(
    for request: HTTPRequest, options: RequestOptions = RequestOptions(), redaction: Redaction? = nil
  ) throws -> String {
    let settings = core.settings
    let resolved = ResolvedOptions(options.over(settings.configuration.options))
    let (admitted, credential) = try RequestGate.admit(
      request, settings: settings, options: resolved, credential: options.credential)
    // As the client would send it to an HSTS host.
    let hop = settings.upgraded(admitted)
    var (sent, url) = (hop.request, hop.url)
    do throws(InvalidInput) {
      sent.add(credential?.credential, url)
      if !sent.headers.contains("Cookie"), let shelf = settings.shelf(for: resolved) {
        sent.headers[wire: "Cookie"] = Cookie.field(
          shelf.cookies(for: url, .same, in: settings.partition.authority, now: settings.configuration.now()))
      }
      let isDecoding = resolved.decompression == .automatic && !sent.headers.contains("Accept-Encoding")
      return try CurlCommand(
        request: sent, url: url, redaction: redaction ?? settings.configuration.redaction, isComplete: true,
        isDecoding: isDecoding
      ).text()
    } catch {
      throw HTTPError(.invalidRequest, error.message, request: sent)
    }
  }
}

extension ClientSettings {
  fileprivate func shelf(for options: ResolvedOptions) -> CookieStorage? {
    switch options.cookies.kind {
    case .automatic: jar.shelf
    case .jar(let other): other.shelf
    case .none, .only: nil
    }
  }
}
