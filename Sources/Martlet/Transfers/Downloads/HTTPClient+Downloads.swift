public import MartletBase

extension HTTPClient {
  /// Downloads a resource to a file, and resumes a partial download.
  ///
  /// ```swift
  /// let report = try await client.download("/reports/2026.pdf", to: folder) { now in print(now.fraction ?? 0) }
  /// ```
  ///
  /// The bytes go to a part file (`<name>.part`, with a small record `<name>.part.json`) beside the destination. Once
  /// they are complete and checked, the file gets its name in one step: until then the destination is unchanged. A
  /// download that failed, was cancelled or ended with the process is resumed by the next one to the same destination,
  /// with `Range` and `If-Range` (RFC 9110 §14.2, §13.1.5); if the file has changed on the server, it starts again. A
  /// retry (``RequestOptions/retry``) also resumes. Only a `GET` is resumed.
  ///
  /// The download belongs to the calling task. There is no total limit unless the request or the client has set one,
  /// and ``RequestOptions/maximumBodyBytes`` does not apply: use ``DownloadOptions/maximumBytes``.
  ///
  /// - Parameters:
  ///   - request: The request; a literal is a `GET`.
  ///   - destination: The file; or an existing folder, for a safe name that the server suggests
  ///     (``HTTPResponse/suggestedFilename``); or `nil` for a private file (mode 0600) in the temporary folder.
  ///   - options: Options for the download and its request.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must return quickly.
  /// - Returns: The file.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/status`` for a status other than 2xx, or one that the request rejects,
  ///   ``HTTPError/Kind/fileFailed`` for a failed file operation, ``HTTPError/Kind/downloadInProgress``,
  ///   ``HTTPError/Kind/checksumMismatch``; `CancellationError`; or an error thrown by middleware.
  @discardableResult
  public nonisolated func download(
    _ request: HTTPRequest, to destination: URL? = nil, options: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws -> DownloadedFile {
    try Task.checkCancellation()
    let order = DownloadParameters(destination: destination, options: options, progress: progress)
    return try await core.download(request, order, options: core.unbounded(options.request))
  }

  /// Starts a managed download, which is not tied to the calling task.
  ///
  /// It pauses with ``RequestHandle/cancel()``, which keeps the part file, and resumes with ``RequestHandle/retry()``.
  ///
  /// - Parameters:
  ///   - request: The request; a literal is a `GET`.
  ///   - destination: The file, a folder, or `nil` for a temporary file.
  ///   - options: Options for the download and its request.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must return quickly.
  /// - Returns: A handle to await, observe or cancel the download.
  @discardableResult
  public nonisolated func startDownload(
    _ request: HTTPRequest, to destination: URL? = nil, options: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> RequestHandle<DownloadedFile> {
    let order = DownloadParameters(destination: destination, options: options, progress: progress)
    return core.start(request, options: core.unbounded(options.request)) { [core] call in
      try await core.fetch(call, order)
    }
  }

  /// Downloads a target in a variable, such as a `URL` or a `String`, to a file.
  ///
  /// See ``download(_:to:options:progress:)-(HTTPRequest,_,_,_)``.
  @discardableResult
  @_disfavoredOverload public nonisolated func download(
    _ target: some RequestTargetConvertible, to destination: URL? = nil,
    options: DownloadOptions = DownloadOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws -> DownloadedFile {
    try await download(.get(target.requestTarget), to: destination, options: options, progress: progress)
  }

  /// Starts a managed download of a target in a variable, such as a `URL` or a `String`.
  ///
  /// See ``startDownload(_:to:options:progress:)-(HTTPRequest,_,_,_)``.
  @discardableResult
  @_disfavoredOverload public nonisolated func startDownload(
    _ target: some RequestTargetConvertible, to destination: URL? = nil,
    options: DownloadOptions = DownloadOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> RequestHandle<DownloadedFile> {
    startDownload(.get(target.requestTarget), to: destination, options: options, progress: progress)
  }
}
