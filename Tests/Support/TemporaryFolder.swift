package import Foundation
import Testing

/// A test's own folder, empty at first; removed with its last reference.
package final class TemporaryFolder: Sendable {
  package let url = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")

  /// - Throws: An error that skips the test if the disk is too full.
  package init() throws {
    try Self.requireRoom()
    // These permissions ignore the user's umask: stores refuse folders that others may write to, and servers that run
    // as other users read them.
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
  }

  deinit { remove() }

  /// Skips the running test, by name, if the disk of temporary files has less space than all tests together may need.
  ///
  /// For tests that write to the temporary directory without their own folder.
  package static func requireRoom() throws {
    let directory = FileManager.default.temporaryDirectory.path
    let free = try FileManager.default.attributesOfFileSystem(forPath: directory)[.systemFreeSize] as? NSNumber
    guard let free, free.int64Value < 256 << 20 else { return }
    try Test.cancel("fewer than 256 MiB are free in \(directory)")
  }

  /// The names of the folder's contents, sorted.
  package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path))?.sorted() ?? [] }

  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  package func contents(_ name: String) throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  /// Writes a file into the folder and creates intermediate folders.
  ///
  /// - Returns: The URL of the file.
  @discardableResult
  package func write(_ data: Data, to name: String) throws -> URL {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: file)
    return file
  }

  @discardableResult
  package func write(_ text: String, to name: String) throws -> URL { try write(Data(text.utf8), to: name) }

  /// Removes the folder and its contents.
  package func remove() { try? FileManager.default.removeItem(at: url) }
}
