import Foundation
import Martlet

extension TransportConformance {
  /// Tasks that a transport leaves to the stages above it.
  static let abstinenceCases: [Case] = [
    Case("delivers a 401 with any challenge") { bench in
      let challenges = [
        "Basic realm=\"a\"", "basic realm=a", "Basic", "Basic realm=\"\u{E9}\", charset=\"UTF-8\"",
        "Digest realm=\"a\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256", "NTLM", "Negotiate", "Negotiate dG9rZW4=",
        "Bearer error=\"invalid_token\"", "Newauth x=1, Basic realm=\"a\"", "", ",,=\"", "Basic realm=\"unterminated",
      ]
      for challenge in challenges {
        let response = try await bench.answer(
          .status(401, headers: ["WWW-Authenticate": challenge], body: "who are you?"))
        try bench.expect(response, 401, "who are you?", for: " for '\(challenge)'")
      }
    },
    .reads(
      "delivers a 401 without a challenge", "who are you?", from: .status(401, body: "who are you?"), status: 401),
    .reads(
      "delivers a 401 with several challenges", "who are you?",
      from: .status(401, body: "who are you?")
        .adding("WWW-Authenticate", "Negotiate").adding("WWW-Authenticate", "Basic realm=\"a\""), status: 401),
    .reads(
      "delivers a 407", "who are you?",
      from: .status(407, headers: ["Proxy-Authenticate": "Basic realm=\"a\""], body: "who are you?"), status: 407),
    Case("follows no redirect") { bench in
      for status in [300, 301, 302, 303, 305, 307, 308] {
        let server = try MockServer(script: [
          .status(status, headers: ["Location": "/other"], body: "over there"), .ok("followed"),
        ])
        let response = try await bench.send(.get(RequestTarget(server.url("/here"))))
        try bench.expect("the status", response.status.rawValue, is: status)
        try bench.expect("the body of \(status)", response.text, is: "over there")
        try bench.expect("Location of \(status)", response.headers["Location"], is: "/other")
        try bench.expect("the targets", server.requests.map(\.target), is: ["/here"])
      }
    },
    Case("follows no redirect of a POST") { bench in
      for status in [302, 303, 307] {
        let server = try MockServer(script: [
          .status(status, headers: ["Location": "/other"], body: "over there"), .ok("followed"),
        ])
        let response = try await bench.send(.post(RequestTarget(server.url("/here")), body: .text("x")))
        try bench.expect("the status", response.status.rawValue, is: status)
        try bench.expect("the body of \(status)", response.text, is: "over there")
        try bench.expect("the targets", server.requests.map(\.target), is: ["/here"])
      }
    },
    Case("delivers a redirect without a Location") { bench in
      for status in [301, 302, 303, 307, 308] {
        let response = try await bench.answer(.status(status, body: "nowhere"))
        try bench.expect("the status", response.status.rawValue, is: status)
        try bench.expect("the body of \(status)", response.text, is: "nowhere")
      }
    },
    Case("delivers a redirect to an invalid URL") { bench in
      for location in ["//[::1]/x", "//h%2f/x", "//%00/", "http://", "http://[", ":", ""] {
        let response = try await bench.answer(.status(302, headers: ["Location": location], body: "nowhere"))
        try bench.expect(response, 302, "nowhere", for: " for '\(location)'")
      }
    },
    Case("keeps no cookies") { bench in
      let server = try MockServer(.ok("hello", headers: ["Set-Cookie": "a=1; Path=/"]))
      for _ in 0..<2 { _ = try await bench.send(.get(RequestTarget(server.url("/x")))) }
      try bench.expect("the number of requests", server.requests.count, is: 2)
      try bench.expect("Cookie", server.requests.last?.header("Cookie"), is: nil)
    },
    Case("sends a Cookie field unchanged") { bench in
      let server = try MockServer(.ok("hello", headers: ["Set-Cookie": "a=1; Path=/"]))
      for _ in 0..<2 {
        _ = try await bench.send(.get(RequestTarget(server.url("/x")), headers: ["Cookie": "own=2"]))
      }
      try bench.expect("Cookie", server.requests.map { $0.header("Cookie") }, is: ["own=2", "own=2"])
    },
    Case("stores no responses") { bench in
      let server = try MockServer(
        script: [
          .ok("first", headers: ["Cache-Control": "public, max-age=3600", "ETag": "\"1\""]),
          .ok("second", headers: ["Cache-Control": "public, max-age=3600", "ETag": "\"2\""]),
        ])
      let first = try await bench.send(.get(RequestTarget(server.url("/x"))))
      let second = try await bench.send(.get(RequestTarget(server.url("/x"))))
      try bench.expect("the first body", first.text, is: "first")
      try bench.expect("the second body", second.text, is: "second")
      try bench.expect("If-None-Match", server.requests.last?.header("If-None-Match"), is: nil)
    },
    Case("repeats no request that failed") { bench in
      let server = try MockServer(script: [.steps([.cut]), .ok("repeated")])
      let outcome = try await bench.outcome(of: .post(RequestTarget(server.url), body: .text("x")))
      try bench.expectError([.connectionLost], in: outcome)
      try bench.expect("the number of requests", server.requests.count, is: 1)
    },
  ]
}
