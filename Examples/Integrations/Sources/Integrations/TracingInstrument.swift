public import Martlet
import Synchronization
public import Tracing

/// Creates spans with swift-distributed-tracing: one for each request, with a child for each exchange.
///
/// ```swift
/// let client = HTTPClient { $0.instruments = [TracingInstrument()] }
/// ```
///
/// A request's span is a child of its task's span (`ServiceContext.current`), and each exchange propagates its own span
/// to the server. A request without an exchange, because a stored response was used, has no span. Attributes have
/// OpenTelemetry's names.
public final class TracingInstrument: Martlet.Instrument {
  private struct Call: Sendable {
    let span: any Tracing.Span
    var exchanges: [Int: any Tracing.Span] = [:]
  }

  private let tracer: any Tracer
  private let calls = Mutex<[RequestID: Call]>([:])

  /// Creates an instrument.
  ///
  /// - Parameter tracer: The tracer; by default, the program's global tracer.
  public init(_ tracer: (any Tracer)? = nil) { self.tracer = tracer ?? InstrumentationSystem.tracer }

  public func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders {
    // This runs in the request's task, so the task's context is the parent.
    let parent = ServiceContext.current ?? .topLevel
    let method = exchange.request.method.rawValue
    let span = calls.withLock { calls -> any Tracing.Span in
      let call = calls[exchange.call.id] ?? Call(span: tracer.startAnySpan(method, context: parent, ofKind: .internal))
      let span = tracer.startAnySpan(method, context: call.span.context, ofKind: .client)
      calls[exchange.call.id] = call
      calls[exchange.call.id]?.exchanges[exchange.number] = span
      return span
    }
    var fields: HTTPHeaders = [:]
    tracer.inject(span.context, into: &fields, using: FieldInjector())
    return fields
  }

  public func observe(_ event: InstrumentEvent) {
    let id = event.call.id
    switch event.kind {
    case .exchangeBegan(let exchange): describe(calls.withLock { $0[id]?.exchanges[exchange.number] }, event)
    case .head(_, let exchange): describe(calls.withLock { $0[id]?.exchanges[exchange] }, event)
    case .exchangeEnded(_, let exchange): end(calls.withLock { $0[id]?.exchanges.removeValue(forKey: exchange) }, event)
    case .ended: end(calls.withLock { $0.removeValue(forKey: id) }?.span, event)
    default: break
    }
  }

  private func describe(_ span: (any Tracing.Span)?, _ event: InstrumentEvent) {
    guard let span else { return }
    for (name, value) in event.attributes {
      if let text = value.string {
        span.attributes[name] = text
      } else if let number = value.int {
        span.attributes[name] = number
      }
      if name == "error.type" { span.setStatus(SpanStatus(code: .error)) }
    }
  }

  private func end(_ span: (any Tracing.Span)?, _ event: InstrumentEvent) {
    describe(span, event)
    span?.end()
  }
}

private struct FieldInjector: Injector {
  func inject(_ value: String, forKey key: String, into carrier: inout HTTPHeaders) { carrier[key] = value }
}
