import Foundation
import Martlet

extension TransportConformance {
  /// Requests as they arrive (RFC 9112 §3, RFC 9110 §9).
  static let requestCases: [Case] = [
    Case("sends every method as written") { bench in
      let server = try MockServer(.ok("done"))
      let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]
      for method in methods {
        let response = try await bench.send(HTTPRequest(HTTPMethod(method), RequestTarget(server.url("/x"))))
        try bench.expect("the body of \(method)", response.text, is: method == "HEAD" ? "" : "done")
      }
      try bench.expect("the methods", server.requests.map(\.method), is: methods)
      try bench.expect("the targets", Set(server.requests.map(\.target)), is: ["/x"])
    },
    Case("sends header fields with their names and values") { bench in
      let fields: HTTPHeaders = [
        "X-Mixed-CASE": "one", "x-lower": "two  words", "Accept": "text/plain;q=0.5, */*;q=0.1",
        "User-Agent": "Own/1.0", "X-Quoted": #""a, b"; c"#, "Authorization": "Bearer abc.def",
      ]
      let request = try await bench.arrival(of: .get("/", headers: fields))
      for field in fields {
        let all = request.headers.filter { $0.name.lowercased() == field.name.lowercased() }
        try bench.expect("the fields \(field.name)", all, is: [RecordedRequest.Field(field.name, field.value)])
      }
    },
    Case("sends repeated header fields with all their values in order") { bench in
      let request = try await bench.arrival(of: .get("/", headers: ["X-A": "1", "X-B": "2", "X-A": "3", "x-a": "4"]))
      // A single comma-separated line is equivalent (RFC 9110 §5.3).
      try bench.expect("the values of X-A", request.headers(named: "X-A").joined(separator: ", "), is: "1, 3, 4")
    },
    Case("sends header values in UTF-8") { bench in
      let request = try await bench.arrival(of: .get("/", headers: ["X-A": "caf\u{E9} 😀"]))
      try bench.expect("X-A", request.header("X-A"), is: "caf\u{E9} 😀")
    },
    Case("sends path and query byte for byte") { bench in
      let target = "/a%20b/%C3%A9/%2e%2e;p=1/~x?x=a%2Bb+c&empty=&none&y=%7E~&z=/?:@!$'()*,&%3D=%26"
      try bench.expect("the target", try await bench.arrival(of: .get(RequestTarget(target))).target, is: target)
    },
    Case("sends a slash for an empty path") { bench in
      try bench.expect("the target", try await bench.arrival(of: .get("")).target, is: "/")
      try bench.expect("the target", try await bench.arrival(of: .get("?a=1")).target, is: "/?a=1")
    },
    Case("does not send the fragment") { bench in
      try bench.expect("the target", try await bench.arrival(of: .get("/a?b#c")).target, is: "/a?b")
    },
    Case("sends the host with its port") { bench in
      let server = try MockServer(.ok())
      _ = try await bench.send(.get(RequestTarget(server.url("/"))))
      try bench.expect("Host", server.requests.first?.headers(named: "Host"), is: ["127.0.0.1:\(server.port)"])
    },
    Case("connects to a host by its name") { bench in
      let server = try MockServer(.ok("found"))
      let response = try await bench.send(.get(RequestTarget("http://localhost:\(server.port)/")))
      try bench.expect("the body", response.text, is: "found")
      try bench.expect("Host", server.requests.first?.header("Host"), is: "localhost:\(server.port)")
    },
    Case("connects to an IPv6 address") { bench in
      guard let server = IPv6Responder(answering: Bench.ok + "Content-Length: 3\r\n\r\nsix") else { return }
      let response = try await bench.send(.get(RequestTarget("http://[::1]:\(server.port)/x")))
      let head = try await server.head()
      try bench.expect("the body", response.text, is: "six")
      try bench.expect("a request for /x", head.hasPrefix("GET /x HTTP/1.1\r\n"), actual: head)
      try bench.expect("the host in brackets", head.contains("\r\nHost: [::1]:\(server.port)\r\n"), actual: head)
    },
    Case("announces no body for a GET") { bench in
      let request = try await bench.arrival(of: .get("/"))
      try bench.expect("Content-Length", request.header("Content-Length"), is: nil)
      try bench.expect("Transfer-Encoding", request.header("Transfer-Encoding"), is: nil)
    },
  ]

  /// The bodies of requests (RFC 9112 §6).
  static let uploadCases: [Case] = [
    Case("announces an empty body for a POST without one") { bench in
      for body in [nil, HTTPBody.data(Data())] {
        let request = try await bench.arrival(of: .post("/", body: body))
        try bench.expect("Content-Length", request.headers(named: "Content-Length"), is: ["0"])
        try bench.expect("Transfer-Encoding", request.header("Transfer-Encoding"), is: nil)
      }
    },
    Case("uploads bytes with their length") { bench in
      try await expectEcho(bench, of: .data(Bench.megabyte))
    },
    Case("uploads a file with its length") { bench in
      let file = FileManager.default.temporaryDirectory.appending(path: "conformance-\(UUID().uuidString)")
      try Bench.megabyte.write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      try await expectEcho(bench, of: .file(file))
    },
    Case("uploads with PUT, PATCH, DELETE and a custom method") { bench in
      let server = try MockServer(answering: MockResponse.echo)
      for method in ["PUT", "PATCH", "DELETE", "REPORT"] {
        let request = HTTPRequest(HTTPMethod(method), RequestTarget(server.url("/")), body: .text("to \(method)"))
        let response = try await bench.send(request)
        try bench.expect("the body", response.text, is: "to \(method)")
        try bench.expect("X-Method", response.headers["X-Method"], is: method)
      }
      try bench.expect("malformed requests", server.malformed.map(\.reason), is: [])
    },
    Case("sends the media type of a body once") { bench in
      let body = HTTPBody.data(Data("{}".utf8), contentType: "application/json")
      let request = try await bench.arrival(of: .post("/", body: body))
      try bench.expect("Content-Type", request.headers(named: "Content-Type"), is: ["application/json"])
    },
    Case("delivers a response that arrives during the upload") { bench in
      try await expectEarlyAnswer(bench, .status(413, body: "too large"))
    },
    Case("delivers a response that arrives during the upload and closes the connection") { bench in
      try await expectEarlyAnswer(bench, .status(413, headers: ["Connection": "close"], body: "too large"))
    },
  ]

  private static func expectEcho(_ bench: ConformanceBench, of body: HTTPBody) async throws {
    let server = try MockServer(answering: MockResponse.echo)
    let response = try await bench.send(.post(RequestTarget(server.url), body: body))
    let arrived = server.requests.first
    try bench.expect("the body that arrived", arrived?.body, is: Bench.megabyte)
    try bench.expect("the returned body", response.body, is: Bench.megabyte)
    try bench.expect("Content-Length", arrived?.headers(named: "Content-Length"), is: ["\(Bench.megabyte.count)"])
    try bench.expect("Transfer-Encoding", arrived?.header("Transfer-Encoding"), is: nil)
  }

  private static func expectEarlyAnswer(_ bench: ConformanceBench, _ answer: MockResponse) async throws {
    let server = try MockServer(.ok("late"), options: .init(keepsBodies: false, earlyAnswer: { _ in answer }))
    let response = try await bench.send(.post(RequestTarget(server.url), body: .data(Bench.bytes(4 << 20))))
    try bench.expect(response, 413, "too large")
    try bench.expect("the number of requests", server.requests.count, is: 1)
  }
}
