public import MartletBase

/// The fields and files of a form (`multipart/form-data`, RFC 7578).
///
/// Parts are sent in the order they were added; a name may be added more than once. Nothing is read before it is sent,
/// and nothing is copied to disk. Names and filenames are written as browsers write them (WHATWG, "multipart/form-data
/// encoding algorithm"): in UTF-8, with `"`, CR and LF as `%22`, `%0D` and `%0A`, so no name can break out of its
/// quotes. Line breaks in names and in field values become CR LF. A field name that ends in a backslash and is followed
/// by a filename is refused, because servers read it in different ways: sending throws
/// ``HTTPError/Kind/invalidRequest``.
public struct MultipartForm: Sendable, Hashable {
  struct Part: Sendable, Hashable {
    /// The header of the part, with the empty line that ends it.
    var head: Data
    var content: HTTPBody.Content
  }

  private(set) var parts: [Part] = []
  /// The first problem of a part, or `nil`.
  private(set) var problem: InvalidInput?

  /// Creates an empty form.
  public init() {}

  /// Adds a field.
  ///
  /// - Parameters:
  ///   - value: The value, sent as UTF-8.
  ///   - name: The name of the field.
  public mutating func add(_ value: String, for name: String) {
    add(.data(Data(MultipartSyntax.withCRLF(value).utf8)), name, filename: nil, type: nil)
  }

  /// Adds bytes, as a file if a filename is given.
  ///
  /// - Parameters:
  ///   - data: The bytes, sent unchanged.
  ///   - name: The name of the field.
  ///   - filename: The filename; with `nil`, most servers treat the part as a field and not as a file.
  ///   - type: The media type; by default that of the filename's extension (``MediaType/forFileExtension(_:)``), or
  ///     `application/octet-stream`. An invalid media type makes sending throw ``HTTPError/Kind/invalidRequest``.
  public mutating func add(_ data: Data, for name: String, filename: String? = nil, type: String? = nil) {
    add(.data(data), name, filename: filename, type: type ?? MediaType.forFilename(filename ?? "").description)
  }

  /// Adds a file, read in chunks while it is sent.
  ///
  /// A file that does not exist, is not a regular file, or cannot be read throws ``HTTPError/Kind/fileFailed`` before
  /// connecting. A file whose length changes while it is sent throws the same error, and the server never receives a
  /// complete request.
  ///
  /// - Parameters:
  ///   - file: A file URL.
  ///   - name: The name of the field.
  ///   - filename: The filename for the server; by default the name of the file.
  ///   - type: The media type; by default that of the filename's extension (``MediaType/forFileExtension(_:)``), or
  ///     `application/octet-stream`. An invalid media type makes sending throw ``HTTPError/Kind/invalidRequest``.
  public mutating func add(file: URL, for name: String, filename: String? = nil, type: String? = nil) {
    let filename = filename ?? file.lastPathComponent
    add(.file(file), name, filename: filename, type: type ?? MediaType.forFilename(filename).description)
  }

  /// Adds a body of any kind: JSON, a stream, another form.
  ///
  /// ```swift
  /// form.add(.stream(chunks, contentType: "video/mp4"), for: "clip", filename: "clip.mp4")
  /// form.add(.standardInput(), for: "log", filename: "log.txt")
  /// ```
  ///
  /// A stream of unknown length makes the length of the form unknown, and a form with a stream that can be sent only
  /// once can be sent only once; ``HTTPBody/spooled(upTo:in:)`` solves both. A compressed body
  /// (``HTTPBody/compressed(_:)``) cannot be a part (RFC 7578 §4.8): compress the form.
  ///
  /// - Parameters:
  ///   - body: The body; its ``HTTPBody/contentType`` is the type of the part.
  ///   - name: The name of the field.
  ///   - filename: The filename; `nil` for none.
  public mutating func add(_ body: HTTPBody, for name: String, filename: String? = nil) {
    if body.compression != nil {
      problem = problem ?? InvalidInput("a compressed body cannot be a part of a form: compress the form")
    }
    if body.trailers != nil {
      problem = problem ?? InvalidInput("a body with trailers cannot be a part of a form: add them to the form")
    }
    add(body.content, name, filename: filename, type: body.contentType)
  }

  private mutating func add(_ content: HTTPBody.Content, _ name: String, filename: String?, type: String?) {
    if let type, !MultipartSyntax.isMediaType(type) {
      problem = problem ?? InvalidInput("'\(InvalidInput.printable(type))' is not a media type, such as image/png")
    }
    if filename != nil, name.utf8.reversed().prefix(while: { $0 == 0x5C }).count % 2 == 1 {
      // Browsers send such a name. But servers that read `\"` as an escaped quote would read the filename as part of
      // the name, so a crafted filename could replace the name.
      problem = problem ?? InvalidInput("the name of a file's field cannot end in a backslash")
    }
    var head = "Content-Disposition: form-data; name=\"\(MultipartSyntax.escaped(MultipartSyntax.withCRLF(name)))\""
    if let filename { head += "; filename=\"\(MultipartSyntax.escaped(filename))\"" }
    if let type { head += "\r\nContent-Type: \(type)" }
    parts.append(Part(head: Data((head + "\r\n\r\n").utf8), content: content))
  }

  /// Whether a boundary occurs in the parts in memory.
  func contains(boundary: String) -> Bool {
    let delimiter = Array("--\(boundary)".utf8)
    return parts.contains { part in
      MultipartSyntax.contains(delimiter, in: part.head) || Self.contains(delimiter, in: part.content)
    }
  }

  private static func contains(_ delimiter: [UInt8], in content: HTTPBody.Content) -> Bool {
    switch content {
    case .data(let data): MultipartSyntax.contains(delimiter, in: data)
    case .pieces(let pieces): pieces.contains { contains(delimiter, in: $0) }
    case .json(let value): contains(delimiter, in: value.plain)
    case .file, .stream, .compressed, .spool, .invalid: false
    }
  }

  /// The parts with their boundaries (RFC 2046 §5.1.1).
  func content(_ boundary: String) -> HTTPBody.Content {
    var pieces = PieceList()
    for part in parts {
      pieces.append(Data("--\(boundary)\r\n".utf8))
      pieces.append(part.head)
      pieces.append(part.content)
      pieces.append(Data("\r\n".utf8))
    }
    pieces.append(Data("--\(boundary)--\r\n".utf8))
    return pieces.content
  }
}
