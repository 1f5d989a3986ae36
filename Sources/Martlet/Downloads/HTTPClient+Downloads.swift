public import Foundation

extension HTTPClient {
  /// Downloads a resource to a file, and resumes a partial download.
  ///
  /// The bytes go to a part file (`<name>.part`, with a small record `<name>.part.json`) beside the destination. When
  /// all are there and checked, the file gets its name in one instant: until then the destination is what it was. What
  /// a failure, a cancellation or the end of the process leaves is gone on with by the next download to the same
  /// destination, with `Range` and `If-Range` (RFC 9110 §14.2, §13.1.5); a file that has changed meanwhile is begun
  /// anew. A retry (``RequestOptions/retry``) goes on too.
  ///
  /// The caller's task owns it. There is no total limit unless the request or the client has set one, and
  /// ``RequestOptions/maximumBodyBytes`` does not count: use ``DownloadOptions/maximumBytes``.
  ///
  /// - Parameters:
  ///   - target: Where it comes from.
  ///   - destination: The file; or a folder that exists, for a name that the server suggests, made harmless
  ///     (``HTTPResponse/suggestedFilename``); or `nil` for a file in the folder for temporary ones, which only its
  ///     owner may read (mode 0600).
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this request.
  ///   - download: How the file is kept.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must be quick.
  /// - Returns: The file.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/status`` for a response that is no success (2xx),
  ///   ``HTTPError/Kind/file`` for what is wrong with files, ``HTTPError/Kind/checksumMismatch``; `CancellationError`;
  ///   or what middleware throws.
  @discardableResult
  public nonisolated func download(
    _ target: RequestTarget, to destination: URL? = nil, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), download: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws -> DownloadedFile {
    try await self.download(
      .get(target, query: query, headers: headers), to: destination, options: options, download: download,
      progress: progress)
  }

  /// Downloads the response to a request to a file.
  ///
  /// As `download(_:to:)` of a target. Only a `GET` is gone on with.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - destination: The file, a folder, or `nil` for a temporary file.
  ///   - options: What is different for this request.
  ///   - download: How the file is kept.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must be quick.
  /// - Returns: The file.
  /// - Throws: As `download(_:to:)` of a target.
  @discardableResult
  public nonisolated func download(
    _ request: HTTPRequest, to destination: URL? = nil, options: RequestOptions = RequestOptions(),
    download: DownloadOptions = DownloadOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws -> DownloadedFile {
    try Task.checkCancellation()
    let order = DownloadOrder(destination: destination, options: download, progress: progress)
    return try await core.download(request, order, options: core.unbounded(options))
  }

  /// Starts a managed download, which is not tied to the calling task.
  ///
  /// It pauses with ``RequestHandle/cancel()``, which keeps what is there, and goes on with ``RequestHandle/retry()``.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - destination: The file, a folder, or `nil` for a temporary file.
  ///   - options: What is different for this request.
  ///   - download: How the file is kept.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must be quick.
  /// - Returns: A handle to wait for it, watch it or cancel it.
  @discardableResult
  public nonisolated func startDownload(
    _ request: HTTPRequest, to destination: URL? = nil, options: RequestOptions = RequestOptions(),
    download: DownloadOptions = DownloadOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> RequestHandle<DownloadedFile> {
    let order = DownloadOrder(destination: destination, options: download, progress: progress)
    return core.startDownload(request, order, options: core.unbounded(options))
  }

  /// Downloads with ``shared``.
  ///
  /// As `download(_:to:)` of a target.
  ///
  /// - Parameters:
  ///   - target: Where it comes from.
  ///   - destination: The file, a folder, or `nil` for a temporary file.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this request.
  ///   - download: How the file is kept.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must be quick.
  /// - Returns: The file.
  /// - Throws: As `download(_:to:)` of a target.
  @discardableResult
  public static func download(
    _ target: RequestTarget, to destination: URL? = nil, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), download: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws -> DownloadedFile {
    try await shared.download(
      target, to: destination, query: query, headers: headers, options: options, download: download,
      progress: progress)
  }
}
