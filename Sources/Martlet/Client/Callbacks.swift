/// The callbacks of a request, and their delivery.
///
/// `@unchecked Sendable`, because the closures need not be Sendable: they are called only on the actor on which they
/// were created. Without an actor, they are called on a separate actor, after everything that the caller did before
/// starting the request. Their captured values may be released on any thread.
struct Callbacks<Output: Sendable>: @unchecked Sendable {
  var onStart: (() -> Void)?
  /// Decodes the output, if that is done on the actor, and returns the call.
  var success: (Output) throws -> () -> Void
  var onError: (HTTPError) -> Void

  /// Delivers the outcome of a request and of its repetitions on the caller's actor.
  func attach(to handle: RequestHandle<Output>, isolation: isolated (any Actor)?) {
    let place = CallbackIsolation(isolation)
    handle.onRetry { next in deliver(next, at: place) }
    deliver(handle, at: place)
  }

  /// The isolation in which callbacks run.
  ///
  /// The caller's actor is held weakly: a request must not keep the owner of its scope alive.
  private struct CallbackIsolation: Sendable {
    private actor FallbackActor {}

    private weak let actor: (any Actor)?
    private let own: FallbackActor?

    init(_ actor: (any Actor)?) {
      self.actor = actor
      own = actor == nil ? FallbackActor() : nil
    }

    /// Runs `work` on the actor, or not at all if the actor is gone.
    func run(_ work: @Sendable (isolated any Actor) -> Void) async {
      if let actor = own ?? actor { await work(actor) }
    }
  }

  private func deliver(_ handle: RequestHandle<Output>, at place: CallbackIsolation) {
    handle.call?.expectDelivery()
    Task {
      if onStart != nil {
        await place.run { (_: isolated any Actor) in
          if !handle.isSilenced { onStart?() }
        }
      }
      let outcome = await handle.outcome()
      await place.run { (_: isolated any Actor) in end(handle, outcome) }
      handle.call?.delivered()
    }
  }

  /// Runs on the actor: a request that was cancelled there earlier reports at most its cancellation.
  private func end(_ handle: RequestHandle<Output>, _ outcome: Result<Output, any Error>) {
    if handle.isSilenced { return cancelled(handle) }
    switch outcome {
    case .success(let output):
      do {
        let call = try success(output)
        // Decoding takes time, in which another thread may have cancelled the request.
        if handle.isSilenced { cancelled(handle) } else { call() }
      } catch {
        if handle.isSilenced { cancelled(handle) } else { failed(handle.call?.complete(error) ?? error) }
      }
    case .failure(is CancellationError) where handle.call?.isCancelled == true: cancelled(handle)
    case .failure(let error): failed(error)
    }
  }

  private func cancelled(_ handle: RequestHandle<Output>) {
    if handle.reportsCancellation { onError(HTTPError(.cancelled, "the request was cancelled")) }
  }

  private func failed(_ error: any Error) {
    // Also a `CancellationError` that a transport or middleware has thrown, without a cancellation of the request.
    let made = HTTPError(.middlewareFailed, InvalidInput.printable(String(describing: error)), underlying: error)
    onError(error as? HTTPError ?? made)
  }
}

extension Callbacks {
  init(onStart: (() -> Void)? = nil, onSuccess: @escaping (Output) -> Void, onError: @escaping (HTTPError) -> Void) {
    self.init(onStart: onStart, success: { output in { onSuccess(output) } }, onError: onError)
  }
}

extension Callbacks<HTTPResponse> {
  /// Decodes the JSON of the response on the actor.
  init<T: Decodable>(
    onStart: (() -> Void)?, decoding type: T.Type, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void
  ) {
    self.init(
      onStart: onStart,
      success: { response in
        let value = try response.json(type)
        return { onSuccess(value) }
      }, onError: onError)
  }
}
