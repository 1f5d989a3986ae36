import Martlet
import MartletBase

/// The file names of a recorder, which it claims within the process.
///
/// A folder is identified by its inode, because several paths may lead to it.
final class HARClaim: Sendable {
  private struct Name: Hashable {
    let device: UInt64
    let folder: UInt64
    /// UTF-8, because characters that are equal can be different names.
    let name: [UInt8]
  }

  private static let claimed = Locked<Set<Name>>([])

  private let names: Set<Name>

  /// Claims a file and its copy.
  init(_ path: String, _ copyPath: String) throws(HTTPError) {
    let names = Set([path, copyPath].compactMap(Self.name))
    let isFree = Self.claimed.withLock { claimed in
      guard claimed.isDisjoint(with: names) else { return false }
      claimed.formUnion(names)
      return true
    }
    guard isFree else {
      throw HTTPError(
        .fileFailed,
        "\(DiskCalls.shown(path)) is in use by another recorder: close that recorder first, or choose another file")
    }
    // Set last, because a completely initialized object is deinitialized even if its initializer throws.
    self.names = names
  }

  deinit { Self.claimed.withLock { $0.subtract(names) } }

  /// The name of a file; `nil` if its folder does not exist, so nothing can be written there.
  private static func name(_ path: String) -> Name? {
    let (folder, given) = DiskCalls.split(path)
    #if canImport(Darwin)
      // Most file systems ignore case and Unicode normalization.
      let name = given.lowercased().decomposedStringWithCanonicalMapping
    #else
      let name = given
    #endif
    return DiskCalls.targetFacts(folder + ".").map {
      Name(device: $0.device, folder: $0.inode, name: Array(name.utf8))
    }
  }
}
