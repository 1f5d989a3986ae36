import Foundation
import Martlet

/// The format of `--write-out`: text with variables, as in curl.
struct WriteOut: Equatable, Sendable {
  /// A variable, with the name that curl uses.
  enum Variable: String, CaseIterable, Sendable {
    case httpCode = "http_code"
    case responseCode = "response_code"
    case httpVersion = "http_version"
    case method, scheme, url
    case effectiveURL = "url_effective"
    case redirectURL = "redirect_url"
    case redirects = "num_redirects"
    case retries = "num_retries"
    case connects = "num_connects"
    case headers = "num_headers"
    case contentType = "content_type"
    case downloadSize = "size_download"
    case uploadSize = "size_upload"
    case downloadSpeed = "speed_download"
    case queueTime = "time_queue"
    case lookupTime = "time_namelookup"
    case connectTime = "time_connect"
    case handshakeTime = "time_appconnect"
    case pretransferTime = "time_pretransfer"
    case firstByteTime = "time_starttransfer"
    case totalTime = "time_total"
    case remoteAddress = "remote_ip"
    case remotePort = "remote_port"
    case localAddress = "local_ip"
    case localPort = "local_port"
    case file = "filename_effective"
    case exitCode = "exitcode"
    case error = "errormsg"

    /// The meaning on one line.
    var help: String {
      switch self {
      case .httpCode: "status of the response, or 000"
      case .responseCode: "the same as http_code"
      case .httpVersion: "HTTP version of the response"
      case .method: "method of the last request"
      case .scheme: "scheme of the last URL"
      case .url: "URL on the command line"
      case .effectiveURL: "URL of the last request"
      case .redirectURL: "target of a redirect that was not followed"
      case .redirects: "number of followed redirects"
      case .retries: "number of retries"
      case .connects: "1 if the last request opened a connection"
      case .headers: "number of header fields of the response"
      case .contentType: "Content-Type of the response"
      case .downloadSize: "bytes of the decoded body"
      case .uploadSize: "bytes of the request body, if known"
      case .downloadSpeed: "bytes per second"
      case .queueTime: "seconds before the last request was started"
      case .lookupTime: "seconds until the name lookup ended"
      case .connectTime: "seconds until the connection was open"
      case .handshakeTime: "seconds until the TLS handshake ended"
      case .pretransferTime: "seconds until the request could be sent"
      case .firstByteTime: "seconds until the response began"
      case .totalTime: "seconds until the transfer ended"
      case .remoteAddress: "IP address of the server or proxy"
      case .remotePort: "port of the server or proxy"
      case .localAddress: "local IP address"
      case .localPort: "local port"
      case .file: "file of --output"
      case .exitCode: "exit code of the tool"
      case .error: "error message"
      }
    }
  }

  /// A part of the format.
  enum Part: Equatable, Sendable {
    case text(String)
    case variable(Variable)
    case header(String)
    /// Continues on standard error, or on standard output.
    case stream(isError: Bool)
  }

  /// The values for one transfer.
  struct Values: Sendable {
    var variables: [Variable: String] = [.httpCode: "000", .responseCode: "000"]
    var headers = HTTPHeaders()
  }

  let parts: [Part]

  /// Reads a format.
  ///
  /// - Throws: ``UsageError`` that names the unknown variable and the nearest known one.
  init(_ format: String) throws(UsageError) {
    var parts: [Part] = []
    var text = ""
    func add(_ part: Part) {
      if !text.isEmpty { parts.append(.text(text)) }
      text = ""
      parts.append(part)
    }
    var rest = Substring(format)
    while let character = rest.popFirst() {
      switch character {
      case "\\": text += Self.escape(&rest)
      case "%" where rest.hasPrefix("%"):
        rest.removeFirst()
        text += "%"
      case "%" where rest.hasPrefix("header{"):
        add(.header(try Self.name(&rest, after: "header{")))
      case "%" where rest.hasPrefix("{"):
        add(try Self.part(try Self.name(&rest, after: "{")))
      default: text.append(character)
      }
    }
    if !text.isEmpty { parts.append(.text(text)) }
    self.parts = parts
  }

  private static func escape(_ rest: inout Substring) -> String {
    let escapes: [Character: String] = ["n": "\n", "r": "\r", "t": "\t", "\\": "\\"]
    guard let next = rest.first, let text = escapes[next] else { return "\\" }
    rest.removeFirst()
    return text
  }

  private static func name(_ rest: inout Substring, after start: String) throws(UsageError) -> String {
    let text = rest.dropFirst(start.count)
    guard let end = text.firstIndex(of: "}") else {
      throw UsageError("--write-out has '%\(start)' without '}'; '%%' prints a percent sign")
    }
    rest = text[text.index(after: end)...]
    return String(text[..<end])
  }

  private static func part(_ name: String) throws(UsageError) -> Part {
    if name == "stderr" { return .stream(isError: true) }
    if name == "stdout" { return .stream(isError: false) }
    if let variable = Variable(rawValue: name) { return .variable(variable) }
    let guess = Suggestion.nearest(to: name, in: Variable.allCases.map(\.rawValue)).map { "did you mean %{\($0)}?" }
    throw UsageError("unknown variable '%{\(name)}' of --write-out; \(guess ?? "see martlet help write-out")")
  }

  /// Returns the text for standard output and standard error, in the order of the format.
  func text(_ values: Values) -> [(text: String, isError: Bool)] {
    var result: [(text: String, isError: Bool)] = []
    var isError = false
    for part in parts {
      let text: String
      switch part {
      case .text(let own): text = own
      case .variable(let variable): text = values.variables[variable] ?? ""
      case .header(let name): text = values.headers[name] ?? ""
      case .stream(let next):
        isError = next
        continue
      }
      if let last = result.last, last.isError == isError {
        result[result.count - 1].text += text
      } else {
        result.append((text, isError))
      }
    }
    return result
  }
}

extension WriteOut.Values {
  /// The values before the response.
  init(of command: RequestCommand) {
    variables[.url] = Self.withoutUser(command.url)
    variables[.effectiveURL] = variables[.url]
    variables[.file] = command.output ?? ""
    variables[.method] = command.request.method.rawValue
    for name in WriteOut.Variable.allCases {
      let kind = name.rawValue.prefix { $0 != "_" }
      if kind == "time" { variables[name] = Self.seconds(.zero) }
      if ["num", "size", "speed"].contains(kind) { variables[name] = "0" }
    }
  }

  /// Adds the values of a response whose body has been read.
  ///
  /// - Parameters:
  ///   - response: The response.
  ///   - received: The number of bytes of its decoded body.
  ///   - total: The time from the start of the call.
  mutating func add(_ response: StreamedResponse, received: Int, total: Duration) {
    headers = response.headers
    variables[.httpCode] = "\(response.status.rawValue)"
    variables[.responseCode] = variables[.httpCode]
    variables[.httpVersion] = response.httpVersion.map { "\($0)" } ?? ""
    variables[.method] = response.request.method.rawValue
    variables[.scheme] = response.url.scheme ?? ""
    variables[.effectiveURL] = Self.withoutUser(response.url.absoluteString)
    if response.status.isRedirection, let location = response.headers["Location"] {
      variables[.redirectURL] = URL(string: location, relativeTo: response.url)?.absoluteString ?? location
    }
    variables[.redirects] = "\(response.redirects.count)"
    variables[.retries] = "\(max(response.attempts.count - 1, 0))"
    variables[.connects] = response.connection?.isReused == false ? "1" : "0"
    variables[.headers] = "\(response.headers.count)"
    variables[.contentType] = response.headers["Content-Type"] ?? ""
    variables[.downloadSize] = "\(received)"
    variables[.uploadSize] = "\(response.request.body?.length ?? 0)"
    variables[.downloadSpeed] = "\(Int((Double(received) / max(total / .seconds(1), 1e-6)).rounded()))"
    add(response.timing, total: total)
    variables[.remoteAddress] = response.connection?.remoteAddress ?? ""
    variables[.remotePort] = response.connection?.remotePort.map { "\($0)" } ?? ""
    variables[.localAddress] = response.connection?.localAddress ?? ""
    variables[.localPort] = response.connection?.localPort.map { "\($0)" } ?? ""
  }

  private mutating func add(_ timing: HTTPResponse.Timing, total: Duration) {
    // The library's connect time includes the lookup, and its TLS time begins afterwards.
    let connected = timing.connect ?? .zero
    let secured = timing.tls.map { connected + $0 }
    variables[.queueTime] = Self.seconds(timing.queued)
    variables[.lookupTime] = Self.seconds(timing.nameLookup ?? .zero)
    variables[.connectTime] = Self.seconds(connected)
    variables[.handshakeTime] = Self.seconds(secured ?? .zero)
    variables[.pretransferTime] = Self.seconds(secured ?? connected)
    variables[.firstByteTime] = Self.seconds(timing.firstByte ?? .zero)
    variables[.totalTime] = Self.seconds(total)
  }

  private static func seconds(_ duration: Duration) -> String { String(format: "%.6f", duration / .seconds(1)) }

  /// A URL without its user or password.
  private static func withoutUser(_ text: String) -> String {
    guard var parts = URLComponents(string: text) else { return Address.shown(text) }
    (parts.user, parts.password) = (nil, nil)
    return parts.string ?? text
  }
}
