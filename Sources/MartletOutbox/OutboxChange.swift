import Martlet
import MartletBase

/// The state of a request without its contents.
struct OutboxEntry: Codable, Equatable, Sendable {
  let id: UUID
  let key: String?
  let host: String
  /// The length of its body file, or `nil` without one.
  let bodyLength: Int64?
  /// The position of its line in the journal.
  var span: Range<Int64> = 0..<0
  /// Its position in the order: where it was submitted or revived.
  var turn: Int64 = 0
  let submittedAt: Date
  var revivedAt: Date?
  var attempts: UInt32 = 0
  var death: DeadLetterInfo?

  struct DeadLetterInfo: Codable, Equatable, Sendable {
    let date: Date
    private let text: String
    var failure: Outbox.Failure { Outbox.Failure(text: text) }

    init(date: Date, failure: Outbox.Failure) { (self.date, text) = (date, failure.text) }
  }

  /// Positions are not stored.
  private enum CodingKeys: CodingKey { case id, key, host, bodyLength, submittedAt, revivedAt, attempts, death }

  /// The length of its line.
  var lineBytes: Int64 { span.upperBound - span.lowerBound }
  /// The stored length of the body is bounded: a sum of lengths must not overflow.
  var bytes: Int64 { lineBytes + min(max(bodyLength ?? 0, 0), 1 << 40) }
}

/// A change of an outbox; all changes of a journal in order are the state of the outbox.
enum OutboxChange: Codable, Equatable, Sendable {
  /// Begins a journal of this version.
  case began(version: Int)
  /// With a state, the request was submitted before the journal was rewritten.
  case submitted(OutboxEntry)
  /// A server has refused the request temporarily, with the number of refusals so far.
  case attempted(UUID, UInt32)
  /// Delivered or removed.
  case gone(UUID)
  case deadLettered(UUID, OutboxEntry.DeadLetterInfo)
  /// A dead letter is submitted again, as if it were new; its turn is the position of this change.
  case revived(UUID, at: Date, turn: Int64 = 0)

  var id: UUID? {
    switch self {
    case .began: nil
    case .submitted(let entry): entry.id
    case .attempted(let id, _), .gone(let id), .deadLettered(let id, _), .revived(let id, _, _): id
    }
  }

  /// The change at a position in the journal.
  func placed(at span: Range<Int64>) -> OutboxChange {
    switch self {
    case .submitted(var entry):
      (entry.span, entry.turn) = (span, span.lowerBound)
      return .submitted(entry)
    case .revived(let id, let date, _): return .revived(id, at: date, turn: span.lowerBound)
    default: return self
    }
  }
}

/// The contents of a request, which only its delivery needs.
struct OutboxContents: Codable, Equatable, Sendable {
  var method: String
  var url: String
  /// The names and values of the header fields; values keep their octets as wire text.
  private var fields: [[String]]
  /// The body; `nil` if there is none, or if it has a separate file.
  var body: Data?

  init(method: String, url: String, headers: HTTPHeaders, body: Data?) {
    (self.method, self.url, self.body) = (method, url, body)
    fields = headers.map { [$0.name, WireText.make($0.octets)] }
  }

  /// The request to send, with body files in a folder.
  func request(_ entry: OutboxEntry, in folder: String) -> HTTPRequest {
    let file = entry.bodyLength.map { _ in URL(filePath: OutboxBody.path(entry.id, in: folder)) }
    let fields = fields.filter { $0.count == 2 }.map { HTTPHeaders.Field(name: $0[0], octets: WireText.octets($0[1])) }
    return HTTPRequest(
      HTTPMethod(rawValue: method), RequestTarget(url), headers: HTTPHeaders(fields),
      body: file.map { .file($0, contentType: nil) } ?? body.map { .data($0, contentType: nil) })
  }
}
