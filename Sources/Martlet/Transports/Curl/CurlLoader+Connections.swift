#if os(Linux)
  import CurlEngine
  import MartletBase

  extension CurlLoader: PreconnectingTransport {
    func preconnect(for request: HTTPRequest, count: Int, context: RequestContext) async throws {
      // The first handshake shows whether one connection is enough.
      let isShared = try await preconnect(request, context)
      guard count > 1, !isShared else { return }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1..<count { group.addTask { _ = try await self.preconnect(request, context) } }
        try await group.waitForAll()
      }
    }

    /// Opens one connection; returns whether several exchanges share it.
    private func preconnect(_ request: HTTPRequest, _ context: RequestContext) async throws -> Bool {
      var context = context
      let control = ExchangeControl(call: context.call, start: context.call.core.timeline.now())
      context.exchange = control
      let source = context.abortSource
      let token = source.onAbort { control.abortSource.abort($0) }
      defer {
        control.end()
        source.remove(token)
      }
      do {
        return try await withTaskCancellationHandler {
          let transfer = try await makeTransfer(toPreconnect: request, context)
          transfer.watchForAbort()
          transfer.start()
          _ = try await transfer.value()
          return false
        } onCancel: {
          control.abortSource.abort(CancellationError())
        }
      } catch let result as ConnectionIsOpen {
        return result.isShared
      } catch {
        throw control.abortSource.error ?? error
      }
    }
  }

  extension CurlLoader: ConnectionCountingTransport {
    package var connectionPools: [ActivityMonitor.ConnectionPool] {
      var pools: [Origin: ActivityMonitor.ConnectionPool] = [:]
      for (origin, count) in mailboxes.flatMap({ $0.countConnections() }) {
        pools[origin, default: .init(origin)].open += count.open
        pools[origin]?.idle += count.idle
      }
      for (origin, count) in limiter.waitingByOrigin { pools[origin, default: .init(origin)].queued += count }
      return Array(pools.values)
    }
  }
#endif
