import MartletBase

// Descriptions and dumps without secrets, for accidental printing. They have no client, so their redaction is strict.

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
  /// The method and the URL, with query values masked.
  public var description: String { "\(InvalidInput.printable(method.rawValue)) \(Redaction.strict.url(of: self))" }

  /// A mirror without header values, query values or body.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "method": InvalidInput.printable(method.rawValue), "url": Redaction.strict.url(of: self), "headers": headers,
        "body": body.map { "\($0)" } ?? "none",
      ], displayStyle: .struct)
  }
}

extension HTTPBody: CustomStringConvertible, CustomReflectable {
  /// The kind and the length of the body.
  public var description: String {
    let kind =
      switch content {
      case .data: "data"
      case .file: "a file"
      case .stream: "a stream"
      case .pieces: "in pieces"
      case .compressed(_, .gzip): "gzipped while it is being sent"
      case .compressed(_, let coding): "compressed with \(coding.rawValue) while it is being sent"
      case .spool: "a stream spooled to a file"
      case .json: "JSON"
      case .invalid: "a body that cannot be sent"
      }
    return ([kind] + (length.map { [LogText.bytes($0)] } ?? [])).joined(separator: ", ")
  }

  /// A mirror without children, so `dump` does not show the bytes.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension MultipartForm: CustomStringConvertible, CustomReflectable {
  /// The number of parts.
  public var description: String { "a form of \(parts.count) parts" }

  /// A mirror without children, so `dump` shows neither names nor values.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
  /// The status, the number of bytes, and the request, with query values masked.
  public var description: String { "\(status), \(LogText.bytes(body.count)), of \(request)" }

  /// A mirror without header values or body.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "status": status, "headers": headers, "body": LogText.bytes(body.count), "request": request,
        "finalRequest": finalRequest, "redirects": redirects, "attempts": attempts, "timing": timing,
      ], displayStyle: .struct)
  }
}

extension StreamedResponse: CustomStringConvertible, CustomReflectable {
  /// The status and the request, with query values masked.
  public var description: String { "\(status), of \(request)" }

  /// A mirror without header values or body.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "status": status, "headers": headers, "request": request, "redirects": redirects, "attempts": attempts,
        "timing": timing,
      ], displayStyle: .struct)
  }
}

extension HTTPResponse.Redirect: CustomStringConvertible, CustomReflectable {
  /// The status, the method and both URLs, with query values masked.
  public var description: String {
    let (from, to) = (URLRedaction.redact(from.absoluteString), URLRedaction.redact(to.absoluteString))
    return InvalidInput.printable("\(status.rawValue): \(method.rawValue) \(from) to \(to)", limit: .max)
  }

  /// A mirror without children, so `dump` does not show unmasked URLs.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPError: CustomReflectable {
  /// A mirror with the ``description`` and the parts without secrets.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "description": description, "kind": kind, "response": response as Any, "attempts": attempts,
        "underlying": underlying.map { "\(type(of: $0))" } ?? "none",
      ], displayStyle: .struct)
  }
}
