package import MartletBase

#if os(Linux)
  import CMartletShim
#elseif canImport(CryptoKit)
  import CryptoKit
#endif

/// SHA-256 of a file or a body, by the system's library if there is one.
///
/// The library is many times faster than our own implementation.
package final class SHA256Stream {
  private var own = SHA2.Running256()
  #if os(Linux)
    private let library = martlet_sha256_new()

    deinit { if let library { martlet_sha256_free(library) } }
  #elseif canImport(CryptoKit)
    private var library = SHA256()
  #endif

  package init() {}

  package func update(_ bytes: Data) {
    #if os(Linux)
      guard let library else { return own.update(bytes) }
      bytes.withUnsafeBytes { _ = martlet_sha256_update(library, $0.baseAddress, $0.count) }
    #elseif canImport(CryptoKit)
      library.update(data: bytes)
    #else
      own.update(bytes)
    #endif
  }

  /// The digest in hexadecimal digits; must be the last call.
  package func digits() -> String {
    #if os(Linux)
      guard let library else { return own.value().hexadecimal }
      var octets = [UInt8](repeating: 0, count: 32)
      // If the library fails, the result matches no file.
      return martlet_sha256_finish(library, &octets) ? octets.hexadecimal : ""
    #elseif canImport(CryptoKit)
      return library.finalize().hexadecimal
    #else
      return own.value().hexadecimal
    #endif
  }
}
