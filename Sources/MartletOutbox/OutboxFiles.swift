import Martlet
import MartletBase

/// Converts failed file operations to `HTTPError` of kind `.fileFailed`.
enum OutboxFileErrors: FileErrors {
  static func error(_ message: String, code: Int32?) -> HTTPError {
    if let code { .file(message, code: code) } else { HTTPError(.fileFailed, message) }
  }
}

typealias OpenFile = MartletBase.OpenFile<OutboxFileErrors>
typealias FileLock = MartletBase.FileLock<OutboxFileErrors>
typealias ParentFolder = MartletBase.ParentFolder<OutboxFileErrors>
typealias PrivateFile = MartletBase.PrivateFile<OutboxFileErrors>
typealias DiskFolder = MartletBase.DiskFolder<OutboxFileErrors>
