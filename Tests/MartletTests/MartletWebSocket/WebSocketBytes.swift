import MartletBase

@testable import MartletWebSocket

/// Bytes in hexadecimal; spaces are ignored.
func hex(_ text: String) -> Data {
  let digits = text.compactMap(\.hexDigitValue)
  return Data(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
}

/// A chunk of each byte.
func singleBytes(_ bytes: Data) -> [Data] { bytes.map { Data([$0]) } }

/// The events that a reader decodes, and the violation that ends them.
struct ReadEvents: Equatable {
  var events: [WebSocketEvent] = []
  var violation: WebSocketViolation?

  init(_ reader: MessageReader, _ chunks: [Data]) {
    var reader = reader
    do throws(WebSocketViolation) {
      for chunk in chunks {
        reader.append(chunk)
        while let event = try reader.next() { events.append(event) }
      }
    } catch {
      violation = error
    }
  }

  /// The events with parts joined to messages.
  var joined: [WebSocketEvent] {
    var joined: [WebSocketEvent] = []
    var bytes = Data()
    for event in events {
      guard case .part(let kind, let part, _, let isLast) = event else {
        joined.append(event)
        continue
      }
      bytes += part
      guard isLast else { continue }
      joined.append(kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes))
      bytes = Data()
    }
    return joined
  }
}
