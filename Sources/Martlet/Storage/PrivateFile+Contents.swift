import MartletBase

extension PrivateFile {
  /// Reads a file; `nil` if it does not exist.
  ///
  /// Throws an error if the file is not regular, is a symbolic link, belongs to another user or exceeds the limit. With
  /// `isSecret`, it also throws one if others have any permission (mode 0600 is required).
  static func read(_ path: String, limit: Int = 64 << 20, isSecret: Bool = false) throws(HTTPError) -> Data? {
    guard let file = OpenFile.at(path, O_RDONLY) else {
      if errno == ENOENT { return nil }
      throw error("cannot be opened", path, errno)
    }
    let facts = try file.check()
    guard !isSecret || facts.isPrivate else {
      throw HTTPError(
        .fileFailed, "\(DiskCalls.shown(path)) is accessible to other users; use mode 0600")
    }
    var data = Data()
    while true {
      let piece = try file.read(at: Int64(data.count), count: 64 << 10)
      if piece.isEmpty { return data }
      data += piece
      guard data.count <= limit else {
        throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) is larger than \(limit) bytes")
      }
    }
  }

  /// Replaces a file with data, as ``replace(_:isSynced:calls:_:)`` does.
  static func replace(
    _ path: String, with data: Data, isSynced: Bool = true, calls: ParentFolderCalls = .system
  ) throws(HTTPError) {
    try replace(path, isSynced: isSynced, calls: calls) { file throws(HTTPError) in try file.append(data) }
  }

  /// Replaces a file with a value as JSON.
  static func replace(
    _ path: String, withJSON value: some Encodable, isPretty: Bool = true, isSynced: Bool = true
  ) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
    let data: Data
    do { data = try encoder.encode(value) } catch {
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) cannot be encoded", underlying: error)
    }
    try replace(path, with: data, isSynced: isSynced)
  }

  /// Removes a file, if it exists.
  static func remove(_ path: String) throws(HTTPError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw error("cannot be removed", path, errno) }
  }
}
