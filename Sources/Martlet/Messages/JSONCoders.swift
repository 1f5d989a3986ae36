import MartletBase

/// A client's JSON encoder and decoder, created on first use because most clients need neither at startup.
final class JSONCoders: Sendable {
  private let created: Locked<(encoder: JSONEncoder?, decoder: JSONDecoder?)>

  init(encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil) { created = Locked((encoder, decoder)) }

  var encoder: JSONEncoder {
    created.withLock {
      let encoder = $0.encoder ?? .standard
      $0.encoder = encoder
      return encoder
    }
  }

  var decoder: JSONDecoder {
    created.withLock {
      let decoder = $0.decoder ?? JSONDecoder()
      $0.decoder = decoder
      return decoder
    }
  }

  func replacing(encoder: JSONEncoder) -> JSONCoders {
    JSONCoders(encoder: encoder, decoder: created.withLock { $0.decoder })
  }

  func replacing(decoder: JSONDecoder) -> JSONCoders {
    JSONCoders(encoder: created.withLock { $0.encoder }, decoder: decoder)
  }

  /// Separate coders with the same strategies; a subclass's instance is shared.
  func copy() -> JSONCoders {
    let (encoder, decoder) = created.withLock { $0 }
    return JSONCoders(encoder: encoder?.copy(), decoder: decoder?.copy())
  }
}
