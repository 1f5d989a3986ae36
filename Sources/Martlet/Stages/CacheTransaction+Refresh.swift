import MartletBase

extension CacheTransaction {
  /// Revalidates the response with a separate, visible request that no caller awaits.
  ///
  /// It is sent to the same server of a cluster, because the response is stored under its URL.
  func refresh() {
    let (key, cache, call) = (RequestCoalescer.Key(query), cache, context.call)
    guard cache.refreshing.withLock({ $0.insert(key).inserted }) else { return }
    var options = call.options.source
    options.cache = policy.subtracting([.revalidateWhenStale, .preferCached, .staleWhileRevalidate, .fallbackOnError])
      .union(.alwaysRevalidate)
    options.onProgress = nil
    // The credential may come from the URL.
    options.credential = options.credential ?? call.credential?.credential
    if call.timeouts.total == nil { options = options.timeout(.seconds(120)) }
    Deadline.$current.withValue(nil) {
      let core = call.core
      do {
        let renewal = try core.begin(
          call.request, options: options, endpoint: call.endpoint, server: context.server?.choice.index,
          isManaged: true)
        core.run(
          renewal, Promise<HTTPResponse>(),
          { result in
            cache.refreshing.withLock { _ = $0.remove(key) }
            return result
          }, { try await core.response(of: $0) })
      } catch {
        cache.refreshing.withLock { _ = $0.remove(key) }
      }
    }
  }
}

extension RequestContext {
  /// The partition of a request's responses, which are not shared with other partitions.
  func cachePartition(_ headers: HTTPHeaders) -> String {
    var partition = call.settings.partition.name
    // The Host field identifies the resource, whatever the URL says (RFC 9110 §7.1).
    if let host = headers["Host"] { partition += "\nhost \(FieldSyntax.lowercased(host))" }
    if call.options.decompression == .off { partition += "\ncoded" }
    return partition
  }

  /// The identity of a request's sender, whose responses are not served to others.
  ///
  /// It derives from the partition key or from the request's secrets; `nil` without either.
  func cacheIdentity(_ headers: HTTPHeaders, _ cache: ResponseCache) -> CacheIdentity? {
    if let name = call.options.cachePartition { return CacheIdentity(name: "p:\(name)", isLasting: true) }
    var secrets: [String] = []
    if let certificate = call.settings.partition.certificate { secrets += ["certificate", certificate] }
    if let credential, headers.contains("Authorization") || handshake != nil {
      secrets += ["credential", credential.user ?? "", credential.password ?? "", credential.domain ?? ""]
      secrets += [credential.token ?? "", credential.isKerberosTicket ? "ticket" : ""]
    }
    switch call.options.cookies.kind {
    case .automatic, .none: break
    case .jar(let jar): secrets += ["jar", "\(jar.number)"]
    case .only(let cookies): for cookie in cookies { secrets += ["cookie", cookie.name, cookie.value] }
    }
    if call.settings.areDefaultHeadersSecret || !headers.isIdentical(to: call.settings.defaultHeaders) {
      let isOwnCookie = call.request.headers.contains("Cookie")
      for field in headers where call.settings.originFields.isSecret(field.name) {
        if FieldSyntax.isSameName(field.name, "Authorization"), credential != nil { continue }
        if FieldSyntax.isSameName(field.name, "Cookie"), !isOwnCookie { continue }
        secrets += [FieldSyntax.lowercased(field.name), field.value]
      }
    }
    return secrets.isEmpty ? nil : CacheIdentity(name: "s:\(cache.digest(secrets))", isLasting: false)
  }
}
