public import MartletBase

extension UpgradedConnection {
  /// Reports a message of the connection's protocol to the client's instruments.
  ///
  /// For implementations of a protocol. Report a sent message just before its bytes are written, so its event precedes
  /// that of the response. To spare the work without instruments, check ``maximumReportedBytes`` first. After the end of
  /// the connection, nothing is reported.
  ///
  /// - Parameters:
  ///   - direction: Whether the message is sent or received.
  ///   - kind: The kind of the message.
  ///   - beginning: The content, at least its first ``maximumReportedBytes``; further bytes are ignored.
  ///   - count: The number of bytes of the whole content.
  public func report(
    _ direction: InstrumentEvent.Message.Direction, _ kind: InstrumentEvent.Message.Kind, _ beginning: Data, count: Int
  ) {
    guard let limit = maximumReportedBytes else { return }
    let data = beginning.count > limit ? Data(beginning.prefix(limit)) : beginning
    let body = InstrumentEvent.Body(data: data, isWhole: data.count == count, count: Int64(count))
    call.notifyInstruments(
      .message(InstrumentEvent.Message(direction: direction, kind: kind, body: body), exchange: exchange))
  }
}
