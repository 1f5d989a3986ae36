extension RequestTarget {
  /// Resolves the target to a URL, by the joining rule of ``RequestTarget``.
  ///
  /// `base` must be absolute. A full URL ignores it; a target that is joined to it inherits its user name and password.
  /// The items of `query` follow those of the base and of the target.
  package func resolve(against base: RequestTarget?, adding query: Query = [:]) throws(InvalidInput) -> AbsoluteURL {
    switch storage {
    case .resolved(let url): return try url.adding(query)
    case .invalid(_, let problem): throw problem
    case .text(let text):
      let bytes = Array(text.utf8)[...]
      try URLParser.refuseControls(in: bytes)
      let parts = URLParts(bytes)
      if parts.scheme != nil { return try URLParser.absolute(parts, text: text).adding(query) }
      try Self.checkRelative(parts, text: text)
      guard let base else {
        throw InvalidInput(
          "no scheme in \"\(URLRedaction.printable(text))\": set baseURL, or write a full URL that begins with https://"
        )
      }
      return try base.absoluteBase().appending(parts, adding: query)
    }
  }

  /// The URL of a base, which must be absolute.
  private func absoluteBase() throws(InvalidInput) -> AbsoluteURL {
    switch storage {
    case .resolved(let url): return url
    case .invalid(_, let problem): throw InvalidInput("baseURL: \(problem.message)")
    case .text(let text):
      do throws(InvalidInput) {
        return try AbsoluteURL.parse(text)
      } catch {
        throw InvalidInput("baseURL: \(error.message)")
      }
    }
  }

  /// Rejects text that a parser could read as a host or a scheme.
  private static func checkRelative(_ parts: URLParts, text: String) throws(InvalidInput) {
    try URLParser.refuseLeadingBlank(in: text)
    guard parts.authority == nil, !parts.hasHostForBrowsers else {
      throw InvalidInput(
        "\"\(URLRedaction.printable(text))\" would change the host: write the scheme, https://, before it")
    }
    guard !parts.hasColonInFirstSegment else {
      let shown = URLRedaction.printable(text)
      throw InvalidInput("a colon in the first segment of \"\(shown)\": write https:// before a host, / before a path")
    }
  }
}

extension AbsoluteURL {
  /// Appends the path and query of a relative reference, and uses its fragment.
  fileprivate func appending(_ parts: URLParts, adding items: Query) throws(InvalidInput) -> AbsoluteURL {
    var path = path
    if !parts.path.isEmpty {
      let addition = PercentEncoding.repair(parts.path, keeping: .path)
      let joint = (path.hasSuffix("/") ? "" : "/") + (addition.hasPrefix("/") ? addition.dropFirst() : addition[...])
      path = URLParser.normalisedPath(path + joint)
    }
    let own = parts.query.map { PercentEncoding.repair($0, keeping: .query) }
    return try AbsoluteURL(
      scheme: scheme, authority: authority, path: path,
      query: Query.joined([query, own, items.isEmpty ? nil : items.encoded]),
      fragment: parts.fragment.map { PercentEncoding.repair($0, keeping: .query) })
  }
}
