public import MartletBase

/// Chainable options: `.segments(4).overwrite(.fail)`.
extension DownloadOptions {
  /// Sets ``DownloadOptions/segments-swift.property``.
  @export(implementation)
  public func segments(_ count: Int) -> Self { with { $0.segments = count } }
  /// Options that set ``DownloadOptions/segments-swift.property``.
  @export(implementation)
  public static func segments(_ count: Int) -> Self { Self().segments(count) }

  /// Sets ``DownloadOptions/overwrite-swift.property``.
  @export(implementation)
  public func overwrite(_ treatment: Overwrite) -> Self { with { $0.overwrite = treatment } }
  /// Options that set ``DownloadOptions/overwrite-swift.property``.
  @export(implementation)
  public static func overwrite(_ treatment: Overwrite) -> Self { Self().overwrite(treatment) }

  /// Sets ``DownloadOptions/resume-swift.property``.
  @export(implementation)
  public func resume(_ treatment: Resume) -> Self { with { $0.resume = treatment } }
  /// Options that set ``DownloadOptions/resume-swift.property``.
  @export(implementation)
  public static func resume(_ treatment: Resume) -> Self { Self().resume(treatment) }

  /// Sets ``DownloadOptions/checksum-swift.property``.
  @export(implementation)
  public func checksum(_ checksum: Checksum) -> Self { with { $0.checksum = checksum } }
  /// Options that set ``DownloadOptions/checksum-swift.property``.
  @export(implementation)
  public static func checksum(_ checksum: Checksum) -> Self { Self().checksum(checksum) }

  /// Sets ``DownloadOptions/partFolder-swift.property``.
  @export(implementation)
  public func partFolder(_ folder: URL) -> Self { with { $0.partFolder = folder } }
  /// Options that set ``DownloadOptions/partFolder-swift.property``.
  @export(implementation)
  public static func partFolder(_ folder: URL) -> Self { Self().partFolder(folder) }

  /// Sets ``DownloadOptions/maximumBytes-swift.property``.
  @export(implementation)
  public func maximumBytes(_ bytes: Int64) -> Self { with { $0.maximumBytes = bytes } }
  /// Options that set ``DownloadOptions/maximumBytes-swift.property``.
  @export(implementation)
  public static func maximumBytes(_ bytes: Int64) -> Self { Self().maximumBytes(bytes) }

  /// Sets ``DownloadOptions/keepsModificationDate-swift.property``.
  @export(implementation)
  public func keepsModificationDate(_ keeps: Bool) -> Self { with { $0.keepsModificationDate = keeps } }
  /// Options that set ``DownloadOptions/keepsModificationDate-swift.property``.
  @export(implementation)
  public static func keepsModificationDate(_ keeps: Bool) -> Self { Self().keepsModificationDate(keeps) }
}
