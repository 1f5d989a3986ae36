import MartletBase

/// Converts failed file operations to ``HTTPError`` of kind ``HTTPError/Kind/fileFailed``.
enum HTTPFileErrors: FileErrors {
  static func error(_ message: String, code: Int32?) -> HTTPError {
    if let code { .file(message, code: code) } else { HTTPError(.fileFailed, message) }
  }
}

typealias OpenFile = MartletBase.OpenFile<HTTPFileErrors>
typealias FileLock = MartletBase.FileLock<HTTPFileErrors>
typealias ParentFolder = MartletBase.ParentFolder<HTTPFileErrors>
typealias PrivateFile = MartletBase.PrivateFile<HTTPFileErrors>
typealias DiskFolder = MartletBase.DiskFolder<HTTPFileErrors>
