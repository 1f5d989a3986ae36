import Foundation
import Martlet

/// The curl command for `--curl`: the request as it would be sent, and the options of its connection.
struct CurlLine {
  let command: RequestCommand

  /// Returns the command line of a request, with secrets masked.
  ///
  /// - Throws: ``HTTPError`` if curl cannot send the request.
  func text(of request: HTTPRequest) throws -> String {
    var request = request
    // curl adds its own fields.
    if request.headers["Accept"] == "*/*" { request.headers["Accept"] = nil }
    if request.headers["User-Agent"] == RunRequest.userAgent { request.headers["User-Agent"] = nil }
    var words = options(of: request)
    if case .multipart(let parts) = command.content {
      // A multipart body would be standard input, so its parts are options.
      request.body = nil
      request.headers["Content-Type"] = nil
      words += parts.flatMap { Self.words(of: $0) }
    }
    return ([try request.curlCommand()] + words.map(Self.quoted)).joined(separator: " ")
  }

  private func options(of request: HTTPRequest) -> [String] {
    var words = request.headers.contains("Accept-Encoding") ? [] : ["--compressed"]
    if command.followsRedirects { words.append("--location") }
    if let limit = command.maximumRedirects { words += ["--max-redirs", "\(limit)"] }
    if let limit = command.timeout { words += ["--max-time", Self.seconds(limit)] }
    if let limit = command.connectTimeout { words += ["--connect-timeout", Self.seconds(limit)] }
    if command.retries > 0 { words += ["--retry", "\(command.retries)"] }
    // A preemptive password is a header field.
    if let user = command.identity.user, command.identity.scheme != .basic {
      // curl asks for the password.
      words += [command.identity.scheme == .digest ? "--digest" : "--anyauth", "--user", user.name]
    }
    if let file = command.identity.savedCookies { words += ["--cookie-jar", file] }
    return words + connectionOptions(to: request.url)
  }

  private func connectionOptions(to url: URL?) -> [String] {
    let connecting = command.connecting
    var words: [String] = []
    switch connecting.version {
    case .http1_0?: words.append("--http1.0")
    case .http1_1?: words.append("--http1.1")
    case .http2?: words.append("--http2")
    case .http2PriorKnowledge?: words.append("--http2-prior-knowledge")
    case .http3?: words.append("--http3")
    default: break
    }
    if let proxy = connecting.proxy { words += ["--proxy", "\(proxy)"] }
    if connecting.isDirect { words += ["--noproxy", "*"] }
    if connecting.isInsecure { words.append("--insecure") }
    let files = [
      ("--cacert", connecting.roots), ("--cert", connecting.certificate?.file), ("--key", connecting.key),
      ("--unix-socket", connecting.unixSocket),
    ]
    for case (let name, let file?) in files { words += [name, file] }
    if let rate = connecting.rate { words += ["--limit-rate", "\(rate)"] }
    for (host, addresses) in connecting.addresses.sorted(by: { $0.key < $1.key }) {
      // In curl, each address belongs to a port.
      let port = url?.port ?? (url?.scheme == "http" ? 80 : 443)
      words += ["--resolve", "\(host.contains(":") ? host : "\(host):\(port)"):\(addresses.joined(separator: ","))"]
    }
    return words
  }

  private static func words(of part: Part) -> [String] {
    let (content, filename, type): (String, String?, String?)
    switch part.value {
    case .text(let text):
      return ["--form-string", "\(part.name)=\(Redaction.standard.hides(item: part.name) ? "***" : text)"]
    case .file(let path, let name, let kind): (content, filename, type) = ("@\(path)", name, kind)
    case .contents(let path, let name, let kind): (content, filename, type) = ("<\(path)", name, kind)
    // The data from standard input.
    case .data(_, let name, let kind): (content, filename, type) = ("@-", name, kind)
    }
    let attributes = (type.map { ";type=\($0)" } ?? "") + (filename.map { ";filename=\($0)" } ?? "")
    return ["--form", "\(part.name)=\(content)\(attributes)"]
  }

  /// A duration in seconds, rounded up to hundredths, because standard input may have used a part of the limit.
  private static func seconds(_ duration: Duration) -> String {
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    return String(format: "%g", (seconds * 100).rounded(.up) / 100)
  }

  /// A word for a POSIX shell.
  private static func quoted(_ word: String) -> String {
    let plain = word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_./:=@%+,".contains($0)) }
    return plain && !word.isEmpty ? word : "'\(word.replacing("'", with: #"'\''"#))'"
  }
}
