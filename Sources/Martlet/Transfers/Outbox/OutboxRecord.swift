import Foundation

struct OutboxRequest: Equatable, Sendable {
  enum Body: Equatable, Sendable {
    case none
    case bytes(Data)
    /// In a separate file of this length.
    case file(Int64)

    var fileLength: Int64? { if case .file(let length) = self { length } else { nil } }
  }

  var id: UUID
  /// The key for ordered delivery, or `nil`.
  var key: String?
  var method: String
  var url: String
  var fields: [HTTPHeaders.Field]
  var body: Body
  var submittedAt: Date
}

/// A record of the journal; all records in order are the state of an outbox.
enum OutboxRecord: Equatable, Sendable {
  case submitted(OutboxRequest)
  /// A server has refused the request temporarily, with the number of refusals so far.
  case attempted(UUID, Int)
  case delivered(UUID)
  case died(UUID, at: Date, Outbox.Failure)
  /// A dead letter is submitted again, as if it were new.
  case revived(UUID, at: Date)
  case removed(UUID)

  var id: UUID {
    switch self {
    case .submitted(let request): request.id
    case .attempted(let id, _), .delivered(let id), .died(let id, _, _), .revived(let id, _), .removed(let id): id
    }
  }

  // MARK: As bytes

  private enum Code: UInt8 {
    case submitted = 1
    case attempted, delivered, died, revived, removed
  }

  /// The record as bytes: little-endian numbers, and text after its length.
  var bytes: [UInt8] {
    var writer = RecordWriter()
    func begin(_ code: Code, _ id: UUID) {
      writer.number(code.rawValue)
      withUnsafeBytes(of: id.uuid) { writer.append(Array($0)) }
    }
    switch self {
    case .submitted(let request):
      begin(.submitted, request.id)
      writer.double(request.submittedAt.timeIntervalSince1970)
      writer.number(UInt8(request.key == nil ? 0 : 1))
      if let key = request.key { writer.text(key) }
      writer.text(request.method)
      writer.text(request.url)
      writer.length(request.fields.count)
      for field in request.fields { writer.field(field) }
      switch request.body {
      case .none: writer.number(UInt8(0))
      case .bytes(let data):
        writer.number(UInt8(1))
        writer.append(Array(data))
      case .file(let length):
        writer.number(UInt8(2))
        writer.number(length)
      }
    case .attempted(let id, let count):
      begin(.attempted, id)
      writer.number(UInt32(clamping: count))
    case .delivered(let id): begin(.delivered, id)
    case .died(let id, let date, let failure):
      begin(.died, id)
      writer.double(date.timeIntervalSince1970)
      writer.text(failure.text)
    case .revived(let id, let date):
      begin(.revived, id)
      writer.double(date.timeIntervalSince1970)
    case .removed(let id): begin(.removed, id)
    }
    return writer.bytes
  }

  /// Parses a record; `nil` if the bytes are not one.
  init?(_ bytes: [UInt8]) {
    let record: OutboxRecord? = bytes.withUnsafeBytes { bytes in
      var reader = RecordReader(bytes)
      return try? OutboxRecord(&reader)
    }
    guard let record else { return nil }
    self = record
  }

  private init(_ reader: inout RecordReader) throws(RecordReader.Malformed) {
    guard let code = Code(rawValue: try reader.number()) else { throw RecordReader.Malformed() }
    var uuid = UUID().uuid
    let place = try reader.bytes(16)
    withUnsafeMutableBytes(of: &uuid) { $0.copyMemory(from: place) }
    let id = UUID(uuid: uuid)
    switch code {
    case .submitted: self = .submitted(try OutboxRequest(id, &reader))
    case .attempted: self = .attempted(id, Int(try reader.number() as UInt32))
    case .delivered: self = .delivered(id)
    case .died:
      let date = Date(timeIntervalSince1970: try reader.double())
      self = .died(id, at: date, Outbox.Failure(text: try reader.text()))
    case .revived: self = .revived(id, at: Date(timeIntervalSince1970: try reader.double()))
    case .removed: self = .removed(id)
    }
  }
}

extension OutboxRequest {
  fileprivate init(_ id: UUID, _ reader: inout RecordReader) throws(RecordReader.Malformed) {
    self.id = id
    submittedAt = Date(timeIntervalSince1970: try reader.double())
    key = try reader.number() as UInt8 == 0 ? nil : try reader.text()
    method = try reader.text()
    url = try reader.text()
    fields = []
    for _ in 0..<(try reader.count(ofAtLeast: 8)) {
      let lengths = (Int(try reader.number() as UInt32), Int(try reader.number() as UInt32))
      let name = String(decoding: try reader.bytes(lengths.0), as: UTF8.self)
      fields.append(HTTPHeaders.Field(name: name, octets: try reader.bytes(lengths.1)))
    }
    switch try reader.number() as UInt8 {
    case 0: body = .none
    case 1: body = .bytes(Data(reader.rest))
    // Bounded, so that a sum of lengths cannot overflow.
    case 2: body = .file(min(max(0, try reader.number()), 1 << 40))
    default: throw RecordReader.Malformed()
    }
  }

  /// The request to send, with body files in a folder.
  func request(in folder: String) -> HTTPRequest {
    let body: HTTPBody? =
      switch self.body {
      case .none: nil
      case .bytes(let data): .data(data, contentType: nil)
      case .file: .file(URL(filePath: OutboxBody.path(id, in: folder)), contentType: nil)
      }
    return HTTPRequest(
      HTTPMethod(rawValue: method), RequestTarget(url), headers: HTTPHeaders(fields), body: body)
  }
}
