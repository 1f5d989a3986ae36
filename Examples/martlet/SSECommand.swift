import Foundation
import Martlet

/// `martlet sse`: prints a server's events as they arrive, until the server or the user ends them.
struct SSECommand: Equatable, Sendable {
  /// The request, and the connection and identity options.
  var command: RequestCommand

  /// Runs the command.
  func run(_ output: Terminal, _ errors: Terminal) async -> ExitCode {
    do {
      var configuration = HTTPClient.Configuration()
      configuration.userAgent = RunRequest.userAgent
      command.connecting.apply(to: &configuration)
      try await command.identity.apply(to: &configuration, url: command.url)
      if command.isVerbose {
        configuration.exchangeMiddleware.append(
          Trace(errors: errors, hasEngine: command.connecting.usesEngine))
      }
      let client = HTTPClient { [configuration] in $0 = configuration }
      try await command.identity.fill(client.cookies)
      for try await event in client.serverSentEvents(command.request, options: .init { $0.request = command.options }) {
        try output.write(Self.text(of: event))
      }
      await command.identity.save(client.cookies, errors)
      return .success
    } catch let error as HTTPError {
      errors.complain(RunRequest.text(of: error))
      if let response = error.response { try? errors.write(Printer(palette: errors.palette).body(of: response)) }
      guard error.kind == .status, let status = error.status else { return RunRequest.code(of: error) }
      return status.isSuccess ? .noResponse : RunRequest.code(of: status)
    } catch let error as WriteError {
      return error.isBrokenPipe ? .brokenPipe : .failure
    } catch {
      errors.complain("\(error)")
      return .noResponse
    }
  }

  /// Formats an event as a server would send it, with control characters escaped.
  static func text(of event: ServerSentEvents.Event) -> String {
    var lines: [String] = []
    if event.type != "message" { lines.append("event: \(Visible.line(event.type))") }
    if !event.id.isEmpty { lines.append("id: \(Visible.line(event.id))") }
    for line in event.data.split(separator: "\n", omittingEmptySubsequences: false) {
      lines.append("data: \(Visible.line(String(line)))")
    }
    return lines.joined(separator: "\n") + "\n\n"
  }
}
