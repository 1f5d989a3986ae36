extension HTTPRequest: ExpressibleByStringInterpolation {
  /// A `GET` request to a target written as a literal.
  ///
  /// - Parameter value: A URL, or a reference that is joined to the base URL.
  public init(stringLiteral value: String) { self.init(.get, RequestTarget(stringLiteral: value)) }

  /// A `GET` request to an interpolated target; each value is escaped for its position.
  ///
  /// - Parameter stringInterpolation: The interpolation built by the compiler.
  public init(stringInterpolation: RequestTarget.StringInterpolation) {
    self.init(.get, RequestTarget(stringInterpolation: stringInterpolation))
  }
}
