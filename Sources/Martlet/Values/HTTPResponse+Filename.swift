import MartletBase
import Foundation

extension HTTPResponse {
  /// A name for a file with the body, as the server suggests it, made harmless.
  ///
  /// It comes from `Content-Disposition` (RFC 6266, `filename*` before `filename`), else from the last component of the
  /// URL's path, and is `nil` if neither gives one. It is one path component: without separators (`/`, `\`), control and
  /// invisible characters, dots or spaces at its ends, characters that Windows forbids and names that Windows reserves,
  /// and at most 255 bytes of UTF-8, its extension included. So it never leaves the folder it is put in, but it may name
  /// a file that is there already, and its extension is still the server's choice.
  public var suggestedFilename: String? { SafeFilename.suggested(by: headers, for: finalRequest) }
}

extension StreamedResponse {
  /// A name for a file with the body, as the server suggests it, made harmless; see
  /// ``HTTPResponse/suggestedFilename``.
  public var suggestedFilename: String? { SafeFilename.suggested(by: headers, for: request) }
}

extension SafeFilename {
  fileprivate static func suggested(by headers: HTTPHeaders, for request: HTTPRequest) -> String? {
    let named = headers["Content-Disposition"].map(ContentDisposition.filenames) ?? []
    if let name = named.lazy.compactMap(SafeFilename.make).first { return name }
    guard let path = try? request.target.resolve(against: nil).path else { return nil }
    let last = path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed()
    return SafeFilename.make(of: ReceivedFields.text(PercentEncoding.decode(Array(last)[...])))
  }
}
