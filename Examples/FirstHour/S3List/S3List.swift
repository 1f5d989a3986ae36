// S3List BUCKET-URL [PREFIX]
// Lists a bucket. Each attempt is signed by a middleware, with the token in S3_TOKEN.
import Foundation
import Martlet

/// A simplified signature: a static token and the time of sending.
func signature(token: String, at date: Date) -> HTTPHeaders {
  let time = date.ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted))
  return ["X-Amz-Date": time, "Authorization": "S3-Token \(token)"]
}

struct Signing: Middleware {
  var token: String

  func intercept(
    _ request: HTTPRequest, context: RequestContext,
    next: MiddlewareNext
  ) async throws -> StreamedResponse {
    // A redirect may lead to another server, which must not see the token.
    guard context.hop == 0 else { return try await next(request) }
    var request = request
    request.headers.replace(with: signature(token: token, at: Date()))
    return try await next(request)
  }
}

@main enum S3List {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard let first = arguments.first, let bucket = URL(string: first), bucket.host() != nil,
      let token = ProcessInfo.processInfo.environment["S3_TOKEN"]
    else {
      fail("usage: S3_TOKEN=… S3List BUCKET-URL [PREFIX]", code: 64)
    }
    let prefix = arguments.dropFirst().first

    let client = HTTPClient {
      // Exchange middleware runs below the retries, so a retry after a minute gets a new date.
      $0.exchangeMiddleware = [Signing(token: token)]
      $0.retry = .backoff(attempts: 5)
      $0.timeout = TimeoutPolicy(connect: .seconds(5), idle: .seconds(20), total: .seconds(120))
      $0.cache = .off
    }
    do {
      let response = try await client.get(
        RequestTarget(bucket), query: ["list-type": 2, "max-keys": 1000, "prefix": prefix],
        headers: ["Accept": "application/xml"])
      print(response.text)
      if response.text.contains("<IsTruncated>true</IsTruncated>") { note("there are more than 1,000 objects") }
      if response.attempts.count > 1 { note("after \(response.attempts.count) attempts") }
    } catch let error as HTTPError where error.status == .forbidden {
      fail("the signature was refused\n\(error.response?.text ?? "")", code: 77)
    } catch let error as HTTPError where error.status == .notFound {
      fail("there is no such bucket", code: 1)
    } catch let error as HTTPError {
      // S3's message is in the error's XML.
      fail("\(error)\n\(error.response?.text ?? "")", code: error.isTransient ? 75 : 1)
    }
  }

  static func note(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
  }

  static func fail(_ message: String, code: Int32) -> Never {
    note(message)
    exit(code)
  }
}
