#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  /// Creates the streams of one request body, and records their problems.
  final class UploadSource: Sendable {
    /// Why a stream failed.
    enum Problem: Sendable, Equatable {
      /// The file differs from what was announced.
      case file(String)
      /// The body was requested again, for a request that must not be repeated.
      case repetition
    }

    /// The announced number of bytes; positive.
    let length: Int64
    private let content: HTTPBody.Content
    private let mayRepeat: Bool
    private let failure = Locked<Problem?>(nil)

    init(_ content: HTTPBody.Content, length: Int64, mayRepeat: Bool) {
      self.content = content
      self.length = length
      self.mayRepeat = mayRepeat
    }

    var problem: Problem? { failure.withLock { $0 } }

    func stream() -> InputStream {
      let inner: InputStream? =
        switch content {
        case .data(let data): InputStream(data: data)
        case .file(let url): InputStream(url: url)
        case .stream, .pieces, .compressed, .spool, .json, .invalid: nil
        }
      #if canImport(FoundationNetworking)
        return ExactStream(inner, length: length) { [self] in fail($0) }
      #else
        // Foundation's own streams cannot be wrapped here, because the loader uses private methods of them.
        return inner ?? InputStream(data: Data())
      #endif
    }

    /// A stream for sending the body again, after the loader found its connection dead.
    ///
    /// The loader does that for every method, and sends the head without asking. A request that must not be sent twice
    /// gets a stream that cannot be read: the server then receives a head, no body, and the end.
    func anotherStream() -> InputStream? {
      guard !mayRepeat else { return stream() }
      fail(.repetition)
      #if canImport(FoundationNetworking)
        return ExactStream(nil, length: length) { _ in }
      #else
        return nil
      #endif
    }

    fileprivate func fail(_ problem: Problem) { failure.withLock { $0 = $0 ?? problem } }
  }

  #if canImport(FoundationNetworking)
    /// A stream that returns exactly the announced number of bytes, or fails before the last ones.
    ///
    /// The loader reads the length from the header field and does not count. Without this stream, the server would read
    /// the rest of a file that grew as another request, and the loader would wait forever for the rest of one that
    /// shrank.
    private final class ExactStream: InputStream {
      private let inner: InputStream?
      private var remaining: Int64
      private let onProblem: (UploadSource.Problem) -> Void

      init(_ inner: InputStream?, length: Int64, onProblem: @escaping (UploadSource.Problem) -> Void) {
        self.inner = inner
        remaining = length
        self.onProblem = onProblem
        super.init(data: Data())
      }

      override func open() { inner?.open() }
      override func close() { inner?.close() }
      override var streamStatus: Stream.Status { inner?.streamStatus ?? .notOpen }
      override var streamError: (any Error)? { inner?.streamError }
      // `false` would count as the end.
      override var hasBytesAvailable: Bool { true }

      override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        guard remaining > 0 else { return 0 }
        guard let inner else { return -1 }
        let count = inner.read(buffer, maxLength: Int(clamping: min(Int64(maxLength), remaining)))
        guard count > 0 else {
          onProblem(
            .file(count < 0 ? "the body file could not be read" : "the body file shrank while it was being sent"))
          return -1
        }
        remaining -= Int64(count)
        guard remaining == 0 else { return count }
        // Before the last bytes are sent, because they would complete the request.
        var beyond: UInt8 = 0
        guard inner.read(&beyond, maxLength: 1) <= 0 else {
          onProblem(.file("the body file grew while it was being sent"))
          return -1
        }
        return count
      }
    }
  #endif
#endif
