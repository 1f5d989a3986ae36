import CMartletShim

/// Closing idle connections while something is in flight.
extension CurlLoop {
  /// How long after a shutdown libcurl looks for ended connections; it does so at most once a second.
  private static let sweepDelay: Int64 = 1_010_000

  /// Ends the idle connections; libcurl finds them dead before it would use them.
  func closeIdle() {
    // The connection of a paused transfer looks idle.
    guard !handles.values.contains(where: { $0.transfer?.life.isPaused == true }) else { return }
    isClosingIdle = false
    for (socket, watch) in watches where watch.isConnection && watch.wanted == 0 {
      ignore(socket)
      martlet_shutdown(socket)
      origins[socket] = nil
      sweepTime = martlet_microseconds() + Self.sweepDelay
    }
  }

  /// Makes libcurl close the sockets of ended connections, which it does before it creates a connection.
  func sweep(from time: Int64, _ multi: UnsafeMutableRawPointer) {
    guard time <= martlet_microseconds() else { return }
    sweepTime = nil
    // Nothing is sent, because the address is refused.
    guard let easy = martlet_scout_new("http://127.0.0.1/", { _, _, _ in -1 }, nil) else { return }
    defer { martlet_easy_free(easy) }
    withoutLimits(multi) {
      guard martlet_multi_add(multi, easy) == 0 else { return }
      _ = martlet_multi_act(multi, -1, 0)
      _ = martlet_multi_remove(multi, easy)
    }
  }

  /// Adds a handle that makes no connection, and must not wait for one to end.
  func withoutLimits(_ multi: UnsafeMutableRawPointer, _ body: () -> Void) {
    _ = martlet_multi_set_limits(multi, 0, 0)
    body()
    _ = martlet_multi_set_limits(multi, connections.perHost, connections.total)
  }
}
