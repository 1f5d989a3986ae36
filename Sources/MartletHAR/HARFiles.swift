import Martlet
import MartletBase

/// Converts failed file operations to `HTTPError`.
enum HARFileErrors: FileErrors {
  static func error(_ message: String, code: Int32?) -> HTTPError {
    code.map { HTTPError.file(message, code: $0) } ?? HTTPError(.fileFailed, message)
  }

  static func needsFileURL(_ url: URL) -> HTTPError {
    error("a HAR file needs a file URL, not '\(Redaction.strict.maskedURL(of: HTTPRequest(.get, RequestTarget(url))))'")
  }
}

typealias OpenFile = MartletBase.OpenFile<HARFileErrors>
typealias PrivateFile = MartletBase.PrivateFile<HARFileErrors>
