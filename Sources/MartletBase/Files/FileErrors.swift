/// Converts failed file operations to the errors that a module throws.
///
/// The file types have it as a parameter, so `Martlet` and each product above it throw their own errors, and convert
/// them in one place.
public protocol FileErrors: SendableMetatype {
  associatedtype Failure: Error

  /// The error for a failed operation.
  ///
  /// `message` is one line with the path. `code` is the system's error number, or `nil` if the library refused the file.
  static func error(_ message: String, code: Int32?) -> Failure
}

extension FileErrors {
  /// The error for a file that the library refuses.
  public static func error(_ message: String) -> Failure { error(message, code: nil) }
}
