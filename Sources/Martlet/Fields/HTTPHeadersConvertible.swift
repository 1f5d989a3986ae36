/// A value that is a list of header fields as a whole: ``HTTPHeaders``, or a dictionary of strings.
///
/// Requests accept such a value wherever they accept an ``HTTPHeaders`` literal.
public protocol HTTPHeadersConvertible {
  /// The header fields.
  var requestHeaders: HTTPHeaders { get }
}

extension HTTPHeaders: HTTPHeadersConvertible {
  /// The header fields themselves.
  public var requestHeaders: HTTPHeaders { self }

  /// Creates headers from a dictionary, sorted by name.
  ///
  /// A dictionary is unordered. Sorting makes its fields the same in each request, as signatures and recordings need
  /// them. Names that differ only in case remain separate fields.
  ///
  /// - Parameter dictionary: Names and values.
  public init(_ dictionary: [String: String]) {
    self.init(dictionary.keys.sorted().map { Field(name: $0, value: dictionary[$0] ?? "") })
  }
}

extension Dictionary: HTTPHeadersConvertible where Key == String, Value == String {
  /// The fields sorted by name.
  public var requestHeaders: HTTPHeaders { HTTPHeaders(self) }
}
