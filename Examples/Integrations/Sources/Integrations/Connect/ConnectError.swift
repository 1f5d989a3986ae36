public import Foundation
public import Martlet

/// The error of an RPC, as a server or `ConnectClient` reports it.
///
/// `description` contains the server's message, but no metadata and no details.
public struct ConnectError: Error, Sendable, CustomStringConvertible {
  /// The code of an error.
  public enum Code: String, Sendable, CaseIterable {
    case canceled, unknown, aborted, unimplemented, `internal`, unavailable, unauthenticated
    case invalidArgument = "invalid_argument"
    case deadlineExceeded = "deadline_exceeded"
    case notFound = "not_found"
    case alreadyExists = "already_exists"
    case permissionDenied = "permission_denied"
    case resourceExhausted = "resource_exhausted"
    case failedPrecondition = "failed_precondition"
    case outOfRange = "out_of_range"
    case dataLoss = "data_loss"

    /// The code of a response that names none.
    ///
    /// - Parameter status: The status of the response.
    public init(status: HTTPStatus) {
      switch status.rawValue {
      case 400: self = .internal
      case 401: self = .unauthenticated
      case 403: self = .permissionDenied
      case 404: self = .unimplemented
      case 429, 502, 503, 504: self = .unavailable
      default: self = .unknown
      }
    }

    /// The code of any error that an RPC throws.
    ///
    /// - Parameter error: A `ConnectError`, an `HTTPError`, a `CancellationError` or another error, which is `unknown`.
    public init(_ error: any Error) {
      switch error {
      case let error as ConnectError: self = error.code
      case is CancellationError: self = .canceled
      case let error as HTTPError where error.kind == .timedOut: self = .deadlineExceeded
      case let error as HTTPError where error.isConnectivity: self = .unavailable
      case let error as HTTPError where [.overloaded, .circuitOpen].contains(error.kind): self = .unavailable
      default: self = .unknown
      }
    }
  }

  /// A detail: a Protobuf message.
  public struct Detail: Sendable, Hashable {
    /// The message's full name, such as `google.rpc.RetryInfo`.
    public var type: String
    /// The message, in Protobuf's binary format.
    public var value: Data
  }

  /// The code.
  public var code: Code
  /// The message, or `nil` if the server sent none.
  public var message: String?
  /// The details.
  public var details: [Detail] = []
  /// The header fields of the response.
  public var headers: HTTPHeaders = [:]
  /// The trailing metadata of the response.
  public var trailers: HTTPHeaders = [:]

  /// Creates an error.
  public init(_ code: Code, _ message: String? = nil) {
    self.code = code
    self.message = message
  }

  /// The code and the message.
  public var description: String { code.rawValue + (message.map { ": \($0.debugDescription)" } ?? "") }

  /// Reads an error from JSON; a missing or unknown code is replaced.
  init(_ json: JSONValue, otherwise code: Code) {
    self.init(json["code"].string.flatMap(Code.init(rawValue:)) ?? code, json["message"].string)
    details = (json["details"].array ?? []).compactMap { detail in
      guard let type = detail["type"].string, let text = detail["value"].string, let value = Data(unpadded: text) else {
        return nil
      }
      return Detail(type: type, value: value)
    }
  }
}

extension Data {
  /// Decodes base64, with or without padding.
  fileprivate init?(unpadded text: String) {
    self.init(base64Encoded: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
  }
}
