import CMartletShim

extension CurlLoop {
  private static let maximumEvents = 64

  static func run(_ mailbox: CurlMailbox) {
    let poll = martlet_poll_new(mailbox.wake)
    guard poll >= 0 else { return mailbox.refuseAll() }
    defer { martlet_close(poll) }
    let isThere = mailbox.withLoop { loop in
      loop = CurlLoop(mailbox, poll)
      return loop != nil
    }
    guard isThere else { return mailbox.refuseAll() }
    var events = [martlet_event](repeating: martlet_event(), count: Self.maximumEvents)
    var count = 0
    while true {
      let wait = mailbox.withLoop { loop in
        let wait = loop?.turn(events.prefix(count))
        if wait == nil {
          loop?.close()
          loop = nil
        }
        return wait
      }
      guard let wait else { return }
      count = Int(martlet_poll_wait(poll, &events, CInt(Self.maximumEvents), wait))
    }
  }
}
