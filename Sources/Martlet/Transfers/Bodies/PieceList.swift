import Foundation

/// Contents one after the other, small ones joined.
struct PieceList {
  /// Up to how many bytes are copied to be joined.
  private static let small = 64 << 10

  private var pieces: [HTTPBody.Content] = []

  mutating func append(_ data: Data) {
    guard !data.isEmpty else { return }
    if case .data(var last)? = pieces.last, last.count + data.count <= Self.small {
      // Not the list's any more: else all of it would be copied each time.
      pieces[pieces.count - 1] = .data(Data())
      last.append(data)
      pieces[pieces.count - 1] = .data(last)
    } else {
      pieces.append(.data(data))
    }
  }

  mutating func append(_ content: HTTPBody.Content) {
    switch content {
    case .data(let data): append(data)
    case .pieces(let others): for other in others { append(other) }
    default: pieces.append(content)
    }
  }

  var content: HTTPBody.Content {
    switch pieces.count {
    case 0: .data(Data())
    case 1: pieces[0]
    default: .pieces(pieces)
    }
  }
}
