extension HTTPBody {
  /// A form with fields and files (`multipart/form-data`, RFC 7578).
  ///
  /// ```swift
  /// let body = HTTPBody.multipart {
  ///   $0.add("Ben", for: "first_name")
  ///   $0.add(file: photo, for: "photo")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - boundary: The boundary between the parts; by default a random one for each form, which occurs in none of the
  ///     parts in memory. A given boundary is checked against RFC 2046 §5.1.1 and against those parts; an illegal one
  ///     makes sending throw ``HTTPError/Kind/invalidRequest``. Files and streams are not searched.
  ///   - build: Adds the parts, in order.
  /// - Returns: The body; its length is known if the length of every part is.
  public static func multipart(
    boundary: String? = nil, _ build: (inout MultipartForm) throws -> Void
  ) rethrows -> HTTPBody {
    var form = MultipartForm()
    try build(&form)
    return multipart(form, boundary: boundary)
  }

  /// A form with fields and files (`multipart/form-data`, RFC 7578).
  ///
  /// - Parameters:
  ///   - form: The form.
  ///   - boundary: The boundary between the parts; by default a random one for each body.
  /// - Returns: The body; its length is known if the length of every part is.
  public static func multipart(_ form: MultipartForm, boundary: String? = nil) -> HTTPBody {
    if let problem = form.problem { return HTTPBody(problem) }
    let boundary = boundary ?? freeBoundary(for: form)
    if let problem = MultipartSyntax.problem(ofBoundary: boundary) { return HTTPBody(problem) }
    guard !form.contains(boundary: boundary) else {
      return HTTPBody(InvalidInput("the boundary '\(boundary)' occurs in a part of the form: choose another one"))
    }
    let type = MediaType(
      type: "multipart", subtype: "form-data", parameters: [MediaType.Parameter(name: "boundary", value: boundary)])
    return HTTPBody(form.content(boundary), contentType: type.description)
  }

  private static func freeBoundary(for form: MultipartForm) -> String {
    var boundary = MultipartSyntax.randomBoundary()
    while form.contains(boundary: boundary) { boundary = MultipartSyntax.randomBoundary() }
    return boundary
  }

  /// The concatenation of several bodies.
  ///
  /// The length is known if the length of every body is, and the concatenation can be sent again if every body can.
  /// Their content types are ignored. A body that is ``gzipped()`` or has trailers cannot be concatenated: gzip the
  /// result, and add the trailers to it.
  ///
  /// - Parameters:
  ///   - bodies: The bodies, in order.
  ///   - contentType: The media type of the whole; `nil` sends no `Content-Type`.
  /// - Returns: The body.
  public static func concatenating(
    _ bodies: [HTTPBody], contentType: String? = "application/octet-stream"
  ) -> HTTPBody {
    guard bodies.allSatisfy({ $0.compression == nil }) else {
      return HTTPBody(InvalidInput("a compressed body cannot be part of a concatenation: compress the whole"))
    }
    guard bodies.allSatisfy({ $0.trailers == nil }) else {
      return HTTPBody(InvalidInput("a body with trailers cannot be part of a concatenation: add them to the whole"))
    }
    var pieces = PieceList()
    for body in bodies { pieces.append(body.content) }
    return HTTPBody(pieces.content, contentType: contentType)
  }
}
