// GitHubPages ORGANIZATION
// Prints an organization's repositories page by page. GITHUB_TOKEN, if set, raises the rate limit.
import Foundation
import Martlet

struct Repository: Decodable, Sendable {
  var name: String
  var stargazersCount: Int
  var description: String?
}

struct RateLimited: Error {
  var reset: Date?
}

struct ListRepositories: PagedEndpoint {
  typealias Output = [Repository]
  var organisation: String
  var page = 1

  var target: RequestTarget { "/orgs/\(organisation)/repos" }
  var query: Query { ["per_page": 100, "page": page] }

  func next(after repositories: [Repository], response: HTTPResponse) -> ListRepositories? {
    // The Link header only says whether there is a next page; its URL is not followed, so it cannot lead elsewhere.
    guard response.link("next") != nil, page < 200 else { return nil }
    return ListRepositories(organisation: organisation, page: page + 1)
  }

  /// Reports rate limiting, to which GitHub responds with 429, or with 403 if the limit is used up.
  func recover(from error: HTTPError) throws -> [Repository] {
    guard let response = error.response else { throw error }
    let isSpent = response.headers["X-RateLimit-Remaining"] == "0" || response.headers["Retry-After"] != nil
    guard response.status == .tooManyRequests || (response.status == .forbidden && isSpent) else { throw error }
    if let seconds = response.headers["Retry-After"].flatMap({ TimeInterval($0) }) {
      throw RateLimited(reset: Date() + seconds)
    }
    let epoch = response.headers["X-RateLimit-Reset"].flatMap { TimeInterval($0) }
    throw RateLimited(reset: epoch.map { Date(timeIntervalSince1970: $0) })
  }
}

@main enum GitHubPages {
  static func main() async throws {
    guard let organisation = CommandLine.arguments.dropFirst().first else {
      fail("usage: GitHubPages ORGANISATION", code: 64)
    }
    let token = ProcessInfo.processInfo.environment["GITHUB_TOKEN"]
    let client = HTTPClient {
      $0.baseURL = "https://api.github.com"
      $0.headers["Accept"] = "application/vnd.github+json"
      $0.userAgent = "GitHubPages/1.0"
      $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
      $0.retry = .backoff(attempts: 3)
      $0.timeout.total = .seconds(30)
      if let token { $0.authenticators[.baseURL] = .bearer(token) }
    }

    do {
      var count = 0
      for try await repositories in client.pages(of: ListRepositories(organisation: organisation)) {
        for repository in repositories {
          print(repository.name, repository.stargazersCount, repository.description ?? "", separator: "\t")
        }
        count += repositories.count
      }
      print("\(count) repositories")
    } catch let limit as RateLimited {
      fail("rate limit reached; try again after \(limit.reset?.formatted(.iso8601) ?? "a while")", code: 75)
    } catch let error as HTTPError where error.status == .notFound {
      fail("GitHub has no organization '\(organisation)'", code: 1)
    } catch let error as HTTPError where error.status == .unauthorized {
      fail("GITHUB_TOKEN was refused", code: 77)
    } catch let error as HTTPError {
      fail(error.isTransient ? "try again later: \(error)" : "\(error)", code: 1)
    }
  }

  static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
