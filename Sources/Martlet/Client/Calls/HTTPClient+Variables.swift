/// The verbs with variables as arguments.
extension HTTPClient {
  /// The `GET` verb for variables: a `URL` or `String` as the target, dictionaries as query and headers.
  ///
  /// ```swift
  /// let response = try await client.get(url, headers: headers)
  /// ```
  ///
  /// The arguments and errors are those of ``get(_:query:headers:options:)`` and its variants. A literal target is
  /// always a ``RequestTarget``, with escaped values. Dictionaries are sorted by name. A literal query or literal
  /// headers combined with a dictionary are a dictionary as well, so each name may occur once.
  ///
  /// With callbacks, and in a request such as `.get(url)`, write `RequestTarget(url)` if there is a dictionary.
  @export(implementation)
  @_disfavoredOverload public nonisolated var get: Verb { Verb(.get, self) }

  /// The `HEAD` verb for targets and fields in variables; see ``get-swift.property``.
  @export(implementation)
  @_disfavoredOverload public nonisolated var head: HeadVerb { HeadVerb(.head, self) }

  /// The `DELETE` verb for targets and fields in variables; see ``get-swift.property``.
  @export(implementation)
  @_disfavoredOverload public nonisolated var delete: BodyVerb { BodyVerb(.delete, self) }

  /// The `POST` verb for targets and fields in variables; see ``get-swift.property``.
  @export(implementation)
  @_disfavoredOverload public nonisolated var post: BodyVerb { BodyVerb(.post, self) }

  /// The `PUT` verb for targets and fields in variables; see ``get-swift.property``.
  @export(implementation)
  @_disfavoredOverload public nonisolated var put: BodyVerb { BodyVerb(.put, self) }

  /// The `PATCH` verb for targets and fields in variables; see ``get-swift.property``.
  @export(implementation)
  @_disfavoredOverload public nonisolated var patch: BodyVerb { BodyVerb(.patch, self) }
}

extension HTTPClient {
  /// A verb without a body, whose arguments can be variables; see ``HTTPClient/get-swift.property``.
  public struct Verb: Sendable {
    @usableFromInline let method: HTTPMethod
    @usableFromInline let client: HTTPClient

    @usableFromInline init(_ method: HTTPMethod, _ client: HTTPClient) {
      self.method = method
      self.client = client
    }
  }

  /// The `HEAD` verb, whose arguments can be variables; see ``HTTPClient/head-swift.property``.
  public struct HeadVerb: Sendable {
    @usableFromInline let method: HTTPMethod
    @usableFromInline let client: HTTPClient

    @usableFromInline init(_ method: HTTPMethod, _ client: HTTPClient) {
      self.method = method
      self.client = client
    }
  }

  /// A verb with a body, whose arguments can be variables; see ``HTTPClient/post-swift.property``.
  public struct BodyVerb: Sendable {
    @usableFromInline let method: HTTPMethod
    @usableFromInline let client: HTTPClient

    @usableFromInline init(_ method: HTTPMethod, _ client: HTTPClient) {
      self.method = method
      self.client = client
    }
  }
}
