import Martlet

/// Checks the requests that the server received.
struct ServerCheck {
  let steps: [Step]
  let responses: [Fields]
  /// The server's record of each received request.
  let seen: [JSON]

  func run() throws(Failure) {
    var place = 0
    for (index, step) in steps.enumerated() {
      let number = index + 1
      let request = seen.indices.contains(place) ? seen[place] : nil
      let type = step["expected_type"]?.string
      if type == "cached" { continue }
      place += 1
      try checkType(type, step, request, number)
      try checkRequestFields(step, request, number)
      if let request { try checkResponseFields(request, responses[index], number) }
      if let expected = step["expected_method"] {
        let method = try found(request, number)["request_method"]
        try Failure.unless(
          method == expected, setup: step.isSetup("expected_method"),
          "Request \(number) had method \(method), not \(expected)")
      }
    }
  }

  private func found(_ request: JSON?, _ number: Int) throws(Failure) -> JSON {
    guard let request else { throw Failure("TypeError", "Request \(number) was not seen by the server") }
    return request
  }

  private func checkType(_ type: String?, _ step: Step, _ request: JSON?, _ number: Int) throws(Failure) {
    let isSetup = step.isSetup("expected_type")
    var validator: String?
    switch type {
    case "not_cached":
      let served = try found(request, number)["request_num"]
      try Failure.unless(
        served.int == number, setup: isSetup,
        "Response \(number) comes from cache (\(served) on server)")
    case "etag_validated": validator = "if-none-match"
    case "lm_validated": validator = "if-modified-since"
    default: break
    }
    guard let validator else { return }
    try Failure.unless(request != nil, setup: isSetup, "request \(number) wasn't sent to server")
    try Failure.unless(
      request?["request_headers"].object?[validator] != nil, setup: isSetup,
      "request \(number) doesn't have \(validator) header")
  }

  private func checkRequestFields(_ step: Step, _ request: JSON?, _ number: Int) throws(Failure) {
    for expected in step["expected_request_headers"]?.list ?? [] {
      let name = expected.string ?? expected[0].description
      let value = try found(request, number)["request_headers"].object?[name.lowercased()]
      let isRight = expected.string == nil ? value == expected[1] : value != nil
      try Failure.unless(
        isRight, setup: step.isSetup("expected_request_headers"),
        "Request \(number) header \(name) is \(value.map { "\"\($0)\"" } ?? "missing")"
          + (expected.string == nil ? ", not \"\(expected[1])\"" : ""))
    }
    for unexpected in step["expected_request_headers_missing"]?.list ?? [] {
      let name = unexpected.string ?? unexpected[0].description
      let value = try found(request, number)["request_headers"].object?[name.lowercased()]
      let isRight = unexpected.string == nil ? value != unexpected[1] : value == nil
      try Failure.unless(
        isRight, setup: step.isSetup("expected_request_headers_missing"),
        "Request \(number) header \(name) is \"\(value ?? .null)\"")
    }
  }

  /// Checks that the response contains the fields that the server has sent.
  private func checkResponseFields(_ request: JSON, _ response: Fields, _ number: Int) throws(Failure) {
    for field in request["response_headers"].list {
      let name = field[0].description
      // Dates may have any value, and pages in a browser cannot read cookies.
      if ["date", "set-cookie", "set-cookie2"].contains(name.lowercased()) { continue }
      let sent: String? = if case .array = field[1] { field[1].description } else { field[1].string }
      let received = response[name]
      try Failure.unless(
        received == sent, setup: true,
        "Response \(number) header \(name) is \"\(received ?? "null")\", not \"\(field[1])\"")
    }
  }
}
