@testable import Martlet

extension TransferProgress {
  init(sent: Int64, received: Int64, expectedToSend: Int64?, expectedToReceive: Int64?) {
    self.init()
    self.sent = sent
    self.received = received
    self.expectedToSend = expectedToSend
    self.expectedToReceive = expectedToReceive
  }
}
