import CMartletShim
import Foundation
import Martlet

/// An open file of a recording, which only its owner may read; closed with its last reference.
final class HARStorage: Sendable {
  private let descriptor: Int32
  private let path: String

  /// Creates a file, whose name must be free.
  init(creating path: String) throws(HTTPError) {
    self.path = path
    descriptor = martlet_above_streams(open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600))
    guard descriptor >= 0 else { throw Self.error("cannot be made", path, errno) }
  }

  deinit { close(descriptor) }

  /// Writes all bytes.
  func put(_ bytes: [UInt8], at offset: Int64) throws(HTTPError) {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset) + done) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Self.error("cannot be written", path, count < 0 ? errno : EIO) }
      done += count
    }
  }

  /// Whether a path names the file.
  func isAt(_ path: String) -> Bool {
    var (own, named) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && lstat(path, &named) == 0 && own.st_ino == named.st_ino
  }

  /// Exchanges the names of two files atomically; returns `false` if that fails or is not supported.
  static func exchange(_ one: String, _ other: String) -> Bool {
    #if canImport(Darwin)
      return renamex_np(one, other, UInt32(RENAME_SWAP)) == 0
    #else
      return renameat2?(AT_FDCWD, one, AT_FDCWD, other, 2) == 0
    #endif
  }

  #if !canImport(Darwin)
    private typealias Rename =
      @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

    /// Some C libraries lack the function, or its declaration; 2 is its `RENAME_EXCHANGE`.
    private static let renameat2: Rename? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: Rename.self) }
  #endif

  static func error(_ what: String, _ path: String, _ code: Int32) -> HTTPError {
    HTTPError(.fileFailed, "\(shown(path)) \(what): \(String(cString: strerror(code)))")
  }

  static func needsFileURL(_ url: URL) -> HTTPError {
    let request = HTTPRequest(.get, RequestTarget(url))
    return HTTPError(.fileFailed, "a HAR file needs a file URL, not '\(Redaction.strict.maskedURL(of: request))'")
  }

  /// Text of others for one line, without control and format characters, truncated after 300 Unicode scalars.
  static func shown(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(300).map { scalar -> String in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
        scalar.escaped(asASCII: true)
      default: String(scalar)
      }
    }
    return scalars.joined() + (text.unicodeScalars.count > 300 ? "…" : "")
  }
}
