import Foundation
import Martlet

/// `martlet upload`: uploads a file to a URL, directly or in a form.
struct UploadCommand: Equatable, Sendable {
  var file: String
  /// The name of the form field; `nil` for an upload without a form.
  var field: String?
  var isGzipped = false
  /// The URL, and the connection and identity options.
  var template: RequestCommand

  /// Reads the words after `upload`, and the options.
  init(_ words: [String], _ arguments: Arguments) throws(UsageError) {
    guard words.count == 2 else {
      throw UsageError("'martlet upload' needs a file and a URL, not \(words.count) words; see martlet help upload")
    }
    file = words[0]
    if Self.isSurelyURL(file), !Self.isSurelyURL(words[1]) {
      throw UsageError("the URL precedes the file; write martlet upload FILE URL")
    }
    field = arguments.own["--field"]
    isGzipped = arguments.own["--gzip"] != nil
    template = try arguments.request([try arguments.url(words[1])], for: .upload)
  }

  /// Whether a word is a URL rather than the name of a file, which may contain a dot.
  private static func isSurelyURL(_ word: String) -> Bool {
    (word.contains("://") || word.hasPrefix(":")) && Address.isURL(word)
  }

  private var request: HTTPRequest {
    let file = URL(filePath: file)
    var body: HTTPBody
    if let field {
      body = .multipart { $0.add(file: file, for: field) }
    } else {
      body = .file(file, contentType: MediaType.forFileExtension(file.pathExtension)?.description)
    }
    if isGzipped { body = body.gzipped() }
    let method = template.method.map { HTTPMethod($0) } ?? (field == nil ? .put : .post)
    return HTTPRequest(method, RequestTarget(template.url), headers: template.headers, body: body)
  }

  /// Runs the command.
  func run(_ output: Terminal, _ errors: Terminal) async -> ExitCode {
    let bar = ProgressBar(line: LiveLine(output: errors), count: 1)
    let signals = Signals { bar.end() }
    defer { signals.ignore() }
    do {
      let client = try await DownloadCommand.client(template)
      var options = template.options.accepts(.success)
      if template.timeout == nil { options.timeout = TimeoutPolicy(total: nil) }
      options.onProgress = { bar.show(sent: $0) }
      let response = try await client.send(request, options: options)
      bar.end()
      await template.identity.save(client.cookies, errors)
      try output.write(response.body)
      return RunRequest.code(of: response.status)
    } catch let error as WriteError {
      return error.isBrokenPipe ? .brokenPipe : .failure
    } catch let error as UsageError {
      errors.complain("\(error)")
      return .usage
    } catch {
      bar.end()
      return DownloadCommand.complain(error, errors)
    }
  }
}
