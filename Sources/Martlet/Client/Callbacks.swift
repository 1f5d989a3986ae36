/// The callbacks of a request, and their delivery.
///
/// `@unchecked Sendable`, because the closures need not be Sendable: they are called only on the actor on which they
/// were created, one at a time for one request. Without an actor they are called on the global executor, one at a time,
/// after everything that the caller did before starting the request.
struct Callbacks<Output: Sendable>: @unchecked Sendable {
  var onStart: (() -> Void)?
  /// Throws if the output cannot be decoded on the actor.
  var onSuccess: (Output) throws -> Void
  var onError: (HTTPError) -> Void

  /// Delivers the outcome of a request and of its repetitions on the caller's actor.
  func attach(to handle: RequestHandle<Output>, isolation: isolated (any Actor)?) {
    let place = Place(isolation)
    handle.onRetry { next in deliver(next, at: place) }
    deliver(handle, at: place)
  }

  /// The isolation in which callbacks run.
  ///
  /// The actor is held weakly: a request must not keep the owner of its scope alive.
  private struct Place: Sendable {
    private weak let actor: (any Actor)?
    private let isAnywhere: Bool

    init(_ actor: (any Actor)?) {
      self.actor = actor
      isAnywhere = actor == nil
    }

    /// Runs `work` on the actor, or not at all if the actor is gone.
    func run(_ work: @Sendable (isolated (any Actor)?) -> Void) async {
      if let actor { await work(actor) } else if isAnywhere { work(nil) }
    }
  }

  private func deliver(_ handle: RequestHandle<Output>, at place: Place) {
    handle.call?.expectDelivery()
    Task {
      if onStart != nil {
        await place.run { (_: isolated (any Actor)?) in
          if !handle.isSilenced { onStart?() }
        }
      }
      let outcome = await handle.outcome()
      await place.run { (_: isolated (any Actor)?) in end(handle, outcome) }
      handle.call?.delivered()
    }
  }

  /// Runs on the actor: a request that was cancelled there earlier reports at most its cancellation.
  private func end(_ handle: RequestHandle<Output>, _ outcome: Result<Output, any Error>) {
    if handle.isSilenced {
      if handle.reportsCancellation { onError(HTTPError(.cancelled, "the request was cancelled")) }
      return
    }
    do {
      try onSuccess(outcome.get())
    } catch let error as HTTPError {
      var error = error
      handle.call?.complete(&error)
      onError(error)
    } catch is CancellationError {
      if handle.reportsCancellation { onError(HTTPError(.cancelled, "the request was cancelled")) }
    } catch {
      onError(HTTPError(.middleware, InvalidInput.printable(String(describing: error)), underlying: error))
    }
  }
}
