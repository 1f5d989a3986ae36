#if os(Linux)
  import CMartletShim

  extension CurlLoop {
    /// Finds the transfers that libcurl has ended, and which HTTP/2 connections have broken with them.
    ///
    /// libcurl tells one stream at a time that its connection is broken, when it next has to receive. So the others are made
    /// to, before an end is judged.
    func findEnded(_ multi: UnsafeMutableRawPointer) {
      noteEnded(multi)
      while let handle = multiplexed.nextToAsk({ $0.transfer?.isPaused == false }) {
        // A pause that ends at once has libcurl receive.
        if let transfer = handle.transfer { pause(transfer, holdsUpload: !transfer.holdsUpload, multi) }
        if let transfer = handle.transfer { pause(transfer, holdsUpload: transfer.holdsUpload, multi) }
        _ = martlet_multi_act(multi, -1, 0)
        noteEnded(multi)
      }
    }

    private func noteEnded(_ multi: UnsafeMutableRawPointer) {
      var code: CInt = 0
      while let easy = martlet_multi_next_done(multi, &code) {
        guard let handle = handles[easy] else { continue }
        let isDoubtful = code != 0 || handle.transfer?.endsWithStream == true
        handle.leaveConnection(isDoubtful ? .inDoubt : .surely)
        ended.append((handle, code))
      }
    }

    /// Tells libcurl which directions still have to wait; the other ones go on.
    func goOn(with transfer: CurlTransfer) {
      guard let multi else { return }
      pause(transfer, holdsUpload: transfer.holdsUpload, multi)
      if transfer.wire.hasBody, transfer.body != nil { mayBeAnswered.append(transfer) }
    }

    private func pause(_ transfer: CurlTransfer, holdsUpload: Bool, _ multi: UnsafeMutableRawPointer) {
      guard let handle = transfer.handle else { return }
      // What is refused of what libcurl has kept meanwhile, it tells nobody but us. BAD_FUNCTION_ARGUMENT: there is no
      // connection, not yet or not any more.
      let code = martlet_easy_pause(handle.easy, transfer.isPaused, holdsUpload)
      guard code != 0, code != 43, transfer.handle === handle else { return }
      end(handle, handle.result(code), multi)
    }
  }
#endif
