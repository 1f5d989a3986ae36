#if canImport(Darwin) || URLSession
  public import Foundation

  extension RequestHandle {
    /// The progress as Foundation's `Progress`.
    ///
    /// It counts in thousandths of ``TransferProgress/fraction``, and is indeterminate while that is `nil`. Each access
    /// creates a new object, without a parent. Its `cancel()` cancels the request. On Apple platforms it changes as
    /// bytes are transferred, on a thread of a queue. Elsewhere a `Progress` has no lock: it changes on the main queue,
    /// which must run, and must be used only there.
    public var foundationProgress: Progress {
      let progress = Progress(parent: nil, userInfo: nil)
      progress.totalUnitCount = -1
      progress.isCancellable = true
      progress.cancellationHandler = { self.cancel() }
      guard let call else { return progress }
      // The past progress is set here, while no other code has the object.
      progress.show(call.progress)
      call.watchProgress { [weak progress] now in
        #if canImport(Darwin)
          progress?.show(now)
        #else
          DispatchQueue.main.async { progress?.show(now) }
        #endif
      }
      return progress
    }
  }

  extension Progress {
    fileprivate func show(_ progress: TransferProgress) {
      guard let fraction = progress.fraction else { return }
      totalUnitCount = 1000
      completedUnitCount = Int64((fraction * 1000).rounded(.down))
    }
  }
#endif
