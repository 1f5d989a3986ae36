import MartletBase
import Foundation

extension HTTPResponse {
  /// A safe filename for the body, as suggested by the server.
  ///
  /// It comes from `Content-Disposition` (RFC 6266, `filename*` before `filename`), otherwise from the last path
  /// component of the URL; `nil` if neither contains one. It is a single path component of at most 255 bytes of UTF-8,
  /// including its extension. It contains no separators (`/`, `\`), no control or invisible characters, no dots or
  /// spaces at either end, and no characters or names that Windows forbids. It therefore never points outside its
  /// folder, but a file with that name may exist, and the server chooses the extension.
  public var suggestedFilename: String? { SafeFilename.suggested(by: headers, for: finalRequest) }
}

extension StreamedResponse {
  /// A safe filename for the body, as suggested by the server; see ``HTTPResponse/suggestedFilename``.
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
