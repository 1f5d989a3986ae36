import Foundation
import Martlet

/// `martlet download`: downloads files and resumes those of an earlier run.
struct DownloadCommand: Equatable, Sendable {
  /// The complete URLs.
  var urls: [String]
  /// The file or the folder; `nil` means the current folder.
  var output: String?
  var segments = 1
  var checksum: String?
  var resumes = true
  /// The connection and identity options.
  var template: RequestCommand

  /// Reads the words after `download`, and the options.
  init(_ words: [String], _ arguments: Arguments) throws(UsageError) {
    var urls: [String] = []
    for word in words { urls.append(try arguments.url(word)) }
    guard let first = urls.first else {
      throw arguments.missingURL("'martlet download' needs a URL; see martlet help download")
    }
    self.urls = urls
    template = try arguments.request([first], for: .download)
    if let method = template.method, method != "GET" {
      throw UsageError("a download is a GET request, not \(method)")
    }
    if template.output == "-" { throw UsageError("a download is a file: 'martlet URL' writes to standard output") }
    output = template.output
    checksum = arguments.own["--sha256"]
    resumes = arguments.own["--no-resume"] == nil
    if let value = arguments.own["--segments"] {
      segments = try Arguments.count(value, of: "--segments", in: 1...16)
    }
    if urls.count > 1 {
      if checksum != nil { throw UsageError("--sha256 supports one URL, but got \(urls.count)") }
      if let output, !Self.isFolder(output) {
        throw UsageError("-o must be a folder for several URLs, and '\(output)' is not one")
      }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }

  private var options: DownloadOptions {
    var options = DownloadOptions()
    options.segments = segments
    options.checksum = checksum.map { .sha256($0) }
    options.resume = resumes ? .automatic : .never
    return options
  }

  private var destination: URL {
    guard let output else {
      return URL(filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory)
    }
    return URL(filePath: output, directoryHint: Self.isFolder(output) ? .isDirectory : .notDirectory)
  }

  /// Downloads a few files at a time, and reports them in command-line order.
  func run(_ output: Terminal, _ errors: Terminal) async -> ExitCode {
    let bar = ProgressBar(line: LiveLine(output: errors), count: urls.count)
    let signals = Signals {
      bar.end()
      errors.complain("interrupted; the same command resumes the download")
    }
    defer { signals.ignore() }
    do {
      let client = try await Self.client(template)
      let queue = RequestQueue(client: client)
      var options = options
      options.request = template.options.accepts(.success)
      let handles = urls.enumerated().map { index, url in
        queue.download(
          .get(RequestTarget(url), headers: template.headers), to: destination, options: options
        ) { bar.show($0, of: index) }
      }
      var code = ExitCode.success
      for (index, handle) in handles.enumerated() {
        do {
          let file = try await handle.value
          bar.finish(index)
          try output.write("\(Visible.line(file.url.path))\n")
        } catch let error as WriteError {
          throw error
        } catch {
          bar.finish(index)
          code = Self.complain(error, errors)
        }
      }
      bar.end()
      await template.identity.save(client.cookies, errors)
      return code
    } catch let error as WriteError {
      return error.isBrokenPipe ? .brokenPipe : .failure
    } catch {
      errors.complain("\(error)")
      return .usage
    }
  }

  /// Creates a client with the settings from the command line.
  static func client(_ template: RequestCommand) async throws -> HTTPClient {
    var configuration = HTTPClient.Configuration()
    configuration.userAgent = RunRequest.userAgent
    configuration.cache = template.cache.map { .disk(URL(filePath: $0)) } ?? .off
    template.connecting.apply(to: &configuration)
    try await template.identity.apply(to: &configuration, url: template.url)
    if template.isVerbose {
      configuration.exchangeMiddleware.append(
        Trace(errors: Terminal(STDERR_FILENO), hasEngine: template.connecting.usesEngine))
    }
    let client = HTTPClient { [configuration] in $0 = configuration }
    try await template.identity.fill(client.cookies)
    return client
  }

  /// Reports an error.
  ///
  /// - Returns: The exit code.
  static func complain(_ error: any Error, _ errors: Terminal) -> ExitCode {
    guard let error = error as? HTTPError else {
      errors.complain("\(error)")
      return .noResponse
    }
    errors.complain(RunRequest.text(of: error))
    if error.kind == .status, let status = error.status { return RunRequest.code(of: status) }
    return error.kind == .fileFailed && error.phase == nil ? .failure : RunRequest.code(of: error)
  }
}
