import MartletBase

/// Sends an exchange if the ``DataBudget`` is sufficient for it.
struct DataStage: Stage {
  let ledger: DataLedger

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    while true {
      let (bytes, until) = try await ledger.rest(call.tag, now: call.settings.configuration.now())
      guard bytes == 0 || hop.body?.length.map({ $0 > bytes }) ?? false else { break }
      if context.lane?.isHedge == true { throw NoCapacityForHedge() }
      let error = exceeded(bytes, hop.body?.length ?? 0, until, call)
      guard ledger.budget.whenExhausted == .waits,
        hop.body?.length.map({ $0 <= ledger.budget.bytes ?? .max }) ?? true
      else { throw error }
      try await context.pause(for: until, reason: .dataBudget)
    }
    return try await next(hop, context)
  }

  @inline(never) private func exceeded(
    _ bytes: Int64, _ length: Int64, _ until: Duration, _ call: Call
  ) -> HTTPError {
    call.decided(
      "limit.dataBudget",
      "the data budget has \(bytes) bytes left for the next \(until.shown), which is not enough")
    return HTTPError(
      .dataBudgetExceeded,
      bytes == 0
        ? "the data budget is used up for another \(until.shown)"
        : "the body has \(length) bytes, but only \(bytes) are left in the data budget",
      phase: .queued)
  }
}

extension HTTPHeaders {
  /// The size of a header section in the form of HTTP/1.1, with its first line.
  func wireBytes(line: Int) -> Int { reduce(line + 4) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } }
}
