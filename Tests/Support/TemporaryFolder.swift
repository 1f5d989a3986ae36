package import Foundation

/// A folder of one test, in which nothing is yet; it is removed with its last reference.
package final class TemporaryFolder: Sendable {
  package let url = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")

  package init() throws {
    // Whatever the mask of the user: stores refuse folders that others may write in, and servers of other users read them.
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
  }

  deinit { remove() }

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
