import MartletBase

/// A sequence of contents that joins small ones.
struct PieceList {
  /// The maximum number of bytes that are copied to join them.
  private static let small = 64 << 10

  private var pieces: [HTTPBody.Content] = []

  mutating func append(_ data: Data) {
    guard !data.isEmpty else { return }
    if case .data(var last)? = pieces.last, last.count + data.count <= Self.small {
      // Removed from the list first, because appending would otherwise copy the whole chunk each time.
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
