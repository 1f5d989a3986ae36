#if os(Linux)
  import CMartletShim
  import Foundation

  /// The body of one request, read once.
  ///
  /// `@unchecked Sendable`: it is made by the caller and then used by the thread of the loop alone.
  final class CurlUpload: @unchecked Sendable {
    /// What became of a wish for bytes.
    enum Piece {
      case bytes(Int)
      case failed(String)
    }

    let length: Int64
    private let data: Data?
    private let file: CInt
    private var offset: Int64 = 0

    init(_ content: HTTPBody.Content, length: Int64, request: HTTPRequest) throws {
      self.length = length
      switch content {
      case .data(let data):
        self.data = data
        file = -1
      case .file(let url):
        data = nil
        file = martlet_open(url.path(percentEncoded: false))
        guard file >= 0 else { throw HTTPError(.file, "the body file could not be opened", request: request) }
      case .invalid(let input): throw HTTPError(.invalidRequest, input.message, request: request)
      }
    }

    deinit { if file >= 0 { martlet_close(file) } }

    /// Whether nothing was read yet.
    var isAtStart: Bool { offset == 0 }

    /// Reads the next bytes, 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
      let count = Int(clamping: min(Int64(buffer.count), length - offset))
      guard count > 0 else { return .bytes(0) }
      if let data {
        let start = data.startIndex + Int(offset)
        data.copyBytes(to: buffer, from: start..<(start + count))
        offset += Int64(count)
        return .bytes(count)
      }
      guard let base = buffer.baseAddress else { return .bytes(0) }
      let got = martlet_read(file, base, count, offset)
      guard got >= 0 else { return .failed("the body file could not be read") }
      guard got > 0 else { return .failed("the body file got shorter while it was sent") }
      offset += got
      guard offset == length else { return .bytes(Int(got)) }
      // Before the last bytes leave: with them the request would be whole.
      var beyond: UInt8 = 0
      guard martlet_read(file, &beyond, 1, offset) <= 0 else {
        return .failed("the body file got longer while it was sent")
      }
      return .bytes(Int(got))
    }
  }
#endif
