/// An endpoint whose output is divided into pages.
public protocol PagedEndpoint: Endpoint {
  /// The endpoint of the page after this one, or `nil` after the last one.
  ///
  /// - Parameters:
  ///   - page: The output of this page.
  ///   - response: Its response, for links in header fields.
  /// - Returns: The next page, if any.
  func next(after page: Output, response: HTTPResponse) -> Self?
}
