package import Foundation
import Testing

/// A folder of one test, in which nothing is yet; it is removed with its last reference.
package final class TemporaryFolder: Sendable {
  package let url = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")

  /// - Throws: What skips the test where the disk is too full for it.
  package init() throws {
    try Self.requireRoom()
    // Whatever the mask of the user: stores refuse folders that others may write in, and servers of other users read them.
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
  }

  deinit { remove() }

  /// Skips the running test, by name, where the disk of temporary files has less room than all tests at once may take.
  ///
  /// For tests that write to the temporary directory without a folder of their own.
  package static func requireRoom() throws {
    let directory = FileManager.default.temporaryDirectory.path
    let free = try FileManager.default.attributesOfFileSystem(forPath: directory)[.systemFreeSize] as? NSNumber
    guard let free, free.int64Value < 256 << 20 else { return }
    try Test.cancel("fewer than 256 MiB are free in \(directory)")
  }

  /// The names of what is in it, in order.
  package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path))?.sorted() ?? [] }

  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  package func contents(_ name: String) throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  /// Makes a file in it, with the folders on the way.
  ///
  /// - Returns: Where it is.
  @discardableResult
  package func write(_ data: Data, to name: String) throws -> URL {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: file)
    return file
  }

  @discardableResult
  package func write(_ text: String, to name: String) throws -> URL { try write(Data(text.utf8), to: name) }

  /// Removes it with all that is in it.
  package func remove() { try? FileManager.default.removeItem(at: url) }
}
