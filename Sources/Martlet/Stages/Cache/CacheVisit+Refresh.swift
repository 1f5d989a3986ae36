import MartletBase

extension CacheVisit {
  /// Has the response renewed by a request of its own, which nobody waits for and everybody can see.
  func refresh() {
    let (key, cache, call) = (CacheFlights.Key(query), cache, context.call)
    guard cache.refreshing.withLock({ $0.insert(key).inserted }) else { return }
    var options = call.options.source
    options.cache = policy.subtracting([.revalidateWhenStale, .preferCached, .staleWhileRevalidate, .fallbackOnError])
      .union(.alwaysRevalidate)
    options.onProgress = nil
    // It may have come with the URL.
    options.credential = options.credential ?? call.credential?.credential
    if call.timeouts.total == nil { options = options.timeout(.seconds(120)) }
    _ = call.core.start(
      call.request, options: options, endpoint: call.endpoint, decode: { $0 },
      finish: { result in
        cache.refreshing.withLock { _ = $0.remove(key) }
        return result
      })
  }
}

extension RequestContext {
  /// What vouches for the response to a request, and what of it is asked for: nothing is served across.
  func cachePartition(_ request: HTTPRequest) -> String {
    var partition = call.settings.partition.name
    // The resource is that of this name, whatever the URL says (RFC 9110 §7.1).
    if let host = request.headers["Host"] { partition += "\nhost \(FieldSyntax.lowercased(host))" }
    if call.options.decompression == .off { partition += "\ncoded" }
    return partition
  }

  /// Who a request is from, as far as it says; what is stored for one is not served to another.
  func cacheIdentity(_ request: HTTPRequest, _ cache: ResponseCache) -> CacheIdentity? {
    if let name = call.options.cachePartition { return CacheIdentity(name: "p:\(name)", isLasting: true) }
    var secrets: [String] = []
    if let certificate = call.settings.partition.certificate { secrets += ["certificate", certificate] }
    if let credential, request.headers.contains("Authorization") || handshake != nil {
      secrets += ["credential", credential.user ?? "", credential.password ?? "", credential.domain ?? ""]
      secrets += [credential.token ?? "", credential.isTicket ? "ticket" : ""]
    }
    switch call.options.cookies.kind {
    case .automatic, .none: break
    case .jar(let jar): secrets += ["jar", "\(jar.number)"]
    case .only(let cookies): for cookie in cookies { secrets += ["cookie", cookie.name, cookie.value] }
    }
    if call.settings.areDefaultHeadersSecret || !request.headers.isIdentical(to: call.settings.defaultHeaders) {
      let isOwnCookie = call.request.headers.contains("Cookie")
      for field in request.headers where SecretNames.isSecret(field: field.name) {
        if FieldSyntax.isSameName(field.name, "Authorization"), credential != nil { continue }
        if FieldSyntax.isSameName(field.name, "Cookie"), !isOwnCookie { continue }
        secrets += [FieldSyntax.lowercased(field.name), field.value]
      }
    }
    return secrets.isEmpty ? nil : CacheIdentity(name: "s:\(cache.digest(secrets))", isLasting: false)
  }
}
