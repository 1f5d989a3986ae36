import Foundation
import Martlet

/// Checks one response in the suite's order; reports the first failure.
struct ResponseCheck {
  let step: Step
  let number: Int
  private let status: Int
  private let fields: Fields
  private let body: String

  init(step: Step, number: Int, response: HTTPResponse) {
    self.step = step
    self.number = number
    status = response.status.rawValue
    fields = Fields(response.headers)
    body = String(decoding: response.body, as: UTF8.self)
  }

  func run(uuid: String) throws(Failure) {
    try checkRepetition()
    try checkType()
    try checkStatus()
    try checkFields()
    try checkMissingFields()
    try checkBody(uuid)
  }

  private func checkRepetition() throws(Failure) {
    guard let numbers = fields["Request-Numbers"]?.split(separator: " ") else { return }
    try Failure.unless(numbers.count == Set(numbers).count, setup: true, "retry")
  }

  private func checkType() throws(Failure) {
    let isSetup = step.isSetup("expected_type")
    let served = fields.number("Server-Request-Count")
    switch step["expected_type"]?.string {
    case "cached":
      if status == 304, served == nil { return }
      let isOlder = served.map { $0 < number } ?? false
      try Failure.unless(isOlder, setup: isSetup, "Response \(number) does not come from cache")
    case "not_cached":
      try Failure.unless(served == number, setup: isSetup, "Response \(number) comes from cache")
    default:
      return
    }
  }

  private func checkStatus() throws(Failure) {
    func expect(_ expected: Int?, setup isSetup: Bool) throws(Failure) {
      let message = "Response \(number) status is \(status), not \(expected.map { "\($0)" } ?? "a number")"
      try Failure.unless(status == expected, setup: isSetup, message)
    }
    if let expected = step["expected_status"] {
      if expected != .null { try expect(expected.int, setup: step.isSetup("expected_status")) }
    } else if let planned = step["response_status"] {
      try expect(planned[0].int, setup: true)
    } else if status == 999 {
      throw Failure(
        step.isSetup("expected_type") ? "Setup" : "Assertion",
        "Request \(number) should have been conditional, but it was not.")
    } else {
      try expect(200, setup: true)
    }
  }

  private func checkFields() throws(Failure) {
    let isSetup = step.isSetup("expected_response_headers")
    for expected in step["expected_response_headers"]?.list ?? [] {
      let name = expected.string ?? expected[0].description
      let value = fields[name]
      let message = "Response \(number) header \(name) is \(value.map { "\"\($0)\"" } ?? "missing")"
      if expected.string != nil {
        try Failure.unless(value != nil, setup: isSetup, message)
      } else if expected.list.count > 2 {
        try Failure.unless(value != nil, setup: isSetup, message)
        switch expected[1].string {
        case "=":
          let other = expected[2].description
          try Failure.unless(value == fields[other], setup: isSetup, "\(message), should match \(other)")
        case ">":
          let isMore = fields.number(name).map { $0 > expected[2].int ?? .max } ?? false
          try Failure.unless(isMore, setup: isSetup, "\(message), should be bigger than \(expected[2])")
        default:
          throw Failure("Error", "Unknown expected-header operator '\(expected[1])'")
        }
      } else {
        let wanted = Fields.expanded(name, expected[1], by: fields, in: step)
        try Failure.unless(value == wanted.string, setup: isSetup, "\(message), not \"\(wanted)\"")
      }
    }
  }

  private func checkMissingFields() throws(Failure) {
    // The tests also contain pairs of name and value, but the suite's client never fails a response on them.
    for name in (step["expected_response_headers_missing"]?.list ?? []).compactMap(\.string) {
      try Failure.unless(
        fields[name] == nil, setup: step.isSetup("expected_response_headers_missing"),
        "Response \(number) includes unexpected header \(name): \"\(fields[name] ?? "")\"")
    }
  }

  private func checkBody(_ uuid: String) throws(Failure) {
    if step["check_body"] == .bool(false) { return }
    let expected: String
    var isSetup = true
    if let text = step["expected_response_text"] {
      guard let text = text.string else { return }
      expected = text
      isSetup = step.isSetup("expected_response_text")
    } else if let text = step["response_body"]?.string {
      expected = text
    } else {
      if status == 204 || status == 304 || step["request_method"] == .string("HEAD") { return }
      expected = uuid
    }
    try Failure.unless(body == expected, setup: isSetup, "Response body is \"\(body)\", not \"\(expected)\"")
  }
}
