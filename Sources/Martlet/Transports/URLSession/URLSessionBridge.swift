#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The delegate of a session, which forwards calls to the exchanges.
  final class URLSessionBridge: NSObject, URLSessionDataDelegate, URLSessionWebSocketDelegate, Sendable {
    private let exchanges = Locked<[Int: URLSessionExchange]>([:])
    #if canImport(Security)
      private let security: SessionSecurity

      init(_ security: SessionSecurity) { self.security = security }
    #endif

    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
      exchanges.withLock { $0[task.taskIdentifier] = exchange }
    }

    private func exchange(_ task: URLSessionTask) -> URLSessionExchange? {
      exchanges.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      let exchange = exchange(dataTask)
      #if canImport(Security)
        if let exchange, !security.allowsResponse(for: exchange) { return completionHandler(.cancel) }
      #endif
      if let response = response as? HTTPURLResponse { exchange?.received(response) }
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      exchange(dataTask)?.received(data)
    }

    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
      let exchange = exchange(webSocketTask)
      #if canImport(Security)
        if let exchange, !security.allowsResponse(for: exchange) { return }
      #endif
      exchange?.opened(webSocketTask, subprotocol: `protocol`)
    }

    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
      didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
      guard let closure = WebSocketTask.closure(closeCode.rawValue, reason) else { return }
      exchange(webSocketTask)?.closed(closure)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend: Int64
    ) {
      exchange(task)?.sent(Int(clamping: bytesSent))
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      exchange(task)?.waitsForConnectivity()
    }

    /// Foundation on Linux never calls this.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      guard let facts = metrics.transactionMetrics.last else { return }
      exchange(task)?.measured(TransactionFacts(facts).measurement)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
      #if canImport(Security)
        // The last response may be the first one that is reported.
        if let exchange, task.response != nil, !security.allowsResponse(for: exchange) { return }
      #endif
      exchange?.completed(error, last: task.response as? HTTPURLResponse)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      #if canImport(FoundationNetworking)
        // Completing this for a task that is being cancelled crashes the loader of Linux.
        guard let exchange = exchange(task), !exchange.isCancelled else { return }
      #endif
      completionHandler(nil)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      #if canImport(FoundationNetworking)
        // The other dispositions crash, hang or send an empty body. This one ends the task as cancelled, after its 401.
        exchange(task)?.challenged()
        completionHandler(.cancelAuthenticationChallenge, nil)
      #else
        // Without credentials, the challenges of servers become a 401.
        guard let exchange = exchange(task) else { return completionHandler(.cancelAuthenticationChallenge, nil) }
        security.respond(to: challenge, for: exchange, completionHandler)
      #endif
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      // On Linux the only loading thread waits for this.
      completionHandler(exchange(task)?.wire.upload?.anotherStream())
    }
  }
#endif
