import Foundation
import MartletTesting

/// A greeter that speaks the Connect protocol; its framing is independent of the client's.
enum ConnectServer {
  struct Frame: Equatable {
    var flags: UInt8 = 0
    var text: String

    var data: Data {
      let count = text.utf8.count
      let head: [UInt8] = [flags] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
      return Data(head + Array(text.utf8))
    }

    static func end(_ json: String = "{}") -> Frame { Frame(flags: 2, text: json) }
  }

  static func frames(in body: Data) -> [Frame] {
    var bytes = Array(body)[...]
    var frames: [Frame] = []
    while bytes.count >= 5 {
      let flags = bytes.removeFirst()
      var count = 0
      for _ in 0..<4 { count = count * 256 + Int(bytes.removeFirst()) }
      frames.append(Frame(flags: flags, text: String(decoding: bytes.prefix(count), as: UTF8.self)))
      bytes = bytes.dropFirst(count)
    }
    return frames
  }

  static func stream(_ frames: [Frame]) -> MockResponse { stream(frames.reduce(Data()) { $0 + $1.data }) }

  static func stream(_ body: Data, type: String = "application/connect+json") -> MockResponse {
    .data(body, headers: ["Content-Type": type, "X-Leading": "a"])
  }

  @Sendable static func respond(to request: RecordedRequest) -> MockResponse {
    guard request.header("Connect-Protocol-Version") == "1" || request.query?.hasPrefix("connect=v1&") == true else {
      return .status(400)
    }
    switch request.path {
    case "/api/greet.v1.GreetService/Greet":
      let type = request.header("Content-Type") ?? "application/json"
      return .data(
        request.method == "GET" ? Data("{}".utf8) : request.body,
        headers: ["Content-Type": type, "X-Leading": "a", "Trailer-X-Cost": "1", "trailer-x-cost": "2"])
    case "/api/greet.v1.GreetService/GreetGroup":
      guard request.header("Content-Type") == "application/connect+json" else { return .status(415) }
      let names = frames(in: request.body).map { "\($0.flags)\($0.text)" }
      return stream([
        Frame(text: names.joined(separator: " ")), .end(#"{"metadata":{"x-cost":["1","2"]}}"#),
      ])
    case "/api/greet.v1.GreetService/GreetMany":
      guard request.header("Content-Type") == "application/connect+json" else { return .status(415) }
      let count = frames(in: request.body).first.flatMap { Int($0.text) } ?? 0
      let all = (0..<count).map { Frame(text: "\($0)") } + [.end(#"{"metadata":{"x-cost":["3"]}}"#)]
      let body = all.reduce(Data()) { $0 + $1.data }
      let head = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nContent-Length: \(body.count)\r\n\r\n"
      return .steps([.text(head), .drip(body, chunk: 3, every: .milliseconds(1))])
    default: return .status(404)
    }
  }
}
