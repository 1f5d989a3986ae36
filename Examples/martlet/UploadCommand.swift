import Foundation
import Martlet

/// `martlet upload`: uploads a file to a URL, directly or in a form.
struct UploadCommand: Equatable, Sendable {
  static let usage = """
    usage: martlet upload FILE URL [--field NAME] [--gzip] and the options of a request
           that say how and as whom; PUT, or POST with a form, or the method of -X
    """

  var file: String
  /// The name of the form field; `nil` for an upload without a form.
  var field: String?
  var isGzipped = false
  /// The URL, and the connection and identity options.
  var template: RequestCommand

  /// Reads the words after `upload`.
  static func parse(_ words: [String]) throws(UsageError) -> UploadCommand {
    var places: [String] = []
    var passed: [String] = []
    var command = UploadCommand(file: "", template: RequestCommand(url: ""))
    var rest = words[...]
    func value(of name: String) throws(UsageError) -> String {
      guard let value = rest.popFirst() else { throw UsageError("the option '\(name)' needs a value") }
      return value
    }
    while let word = rest.popFirst() {
      switch word {
      case "--field": command.field = try value(of: word)
      case "--gzip": command.isGzipped = true
      case _ where word.hasPrefix("--field="): command.field = String(word.dropFirst("--field=".count))
      case _ where DownloadCommand.takesValue(word): passed += [word, try value(of: word)]
      case _ where word.hasPrefix("-") && word != "-": passed.append(word)
      default: places.append(word)
      }
    }
    guard places.count == 2 else { throw UsageError(usage) }
    command.file = places[0]
    guard case .request(let template) = try Arguments.parse([try Arguments.absolute(places[1])] + passed) else {
      throw UsageError(usage)
    }
    if template.content != .none { throw UsageError("an upload sends the file and no other body") }
    if template.har != nil { throw UsageError("'martlet upload' has no --har") }
    if template.output != nil { throw UsageError("an upload shows the response on standard output, and has no -o") }
    command.template = template
    return command
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
