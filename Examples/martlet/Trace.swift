import Foundation
import Martlet

#if os(Linux)
  import CurlEngine
#endif

/// Shows sent requests and received responses: exchange middleware sees every hop and every attempt.
struct Trace: Middleware {
  let errors: Terminal
  /// Whether Martlet's own engine sends the request and adds its own field.
  var hasEngine = true
  /// The protocol that the request asks for; the transport adds the fields for it.
  var upgrade: String?

  func intercept(
    _ request: HTTPRequest, context: RequestContext,
    next: MiddlewareNext
  ) async throws -> StreamedResponse {
    let printer = Printer(palette: errors.palette, isForTerminal: true)
    var sent = Self.asSent(request, hasEngine: hasEngine && upgrade == nil)
    if let upgrade { (sent.headers["Connection"], sent.headers["Upgrade"]) = ("Upgrade", upgrade) }
    var text = printer.marked(printer.head(of: sent), with: ">")
    let body = printer.marked(printer.body(of: request), with: ">")
    if !body.isEmpty { text += errors.palette.paint(">", .dim) + "\n" + body }
    try? errors.write(text)
    do {
      let response = try await next(request)
      try? errors.write(printer.marked(printer.head(of: response, masksSecrets: true), with: "<"))
      return response
    } catch let error as HTTPError {
      note(error.message)
      throw error
    }
  }

  /// Returns the request with the engine's field.
  static func asSent(_ request: HTTPRequest, hasEngine: Bool) -> HTTPRequest {
    #if os(Linux)
      if hasEngine, !request.headers.contains("Accept-Encoding"), !ContentCoding.accepted.isEmpty {
        var sent = request
        sent.headers["Accept-Encoding"] = request.headers.contains("Range") ? "identity" : ContentCoding.accepted
        return sent
      }
    #endif
    return request
  }

  /// Reports the delays before retries, until the task is cancelled.
  ///
  /// A streamed call has no handle with events, so this polls the activity monitor.
  func announcePauses(of client: HTTPClient) async {
    var announced: Int?
    while (try? await Task.sleep(for: .milliseconds(2))) != nil {
      guard let waiting = client.activity.current.waiting.first, case .retryDelay(let pause) = waiting.reason else {
        announced = nil
        continue
      }
      if announced != waiting.request.attempt {
        announced = waiting.request.attempt
        note("retrying in \(pause.text) (attempt \(waiting.request.attempt))")
      }
    }
  }

  /// Shows an event that is not a message.
  func note(_ text: String) {
    try? errors.write(errors.palette.paint("* \(Visible.line(text))", .notice) + "\n")
  }
}

extension Duration {
  /// The duration in seconds, with two decimals.
  var text: String {
    let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
    return String(format: "%.2f s", seconds)
  }
}
