#if os(Linux)
  import CurlEngine
  import MartletBase
  import CMartletShim

  // Adapts the types of the engine and of the rest of the library to each other.

  extension ExchangeControl: CurlSink {
    func reached(_ step: CurlStep) {
      switch step {
      case .connecting: enter(.connecting)
      case .sending: enter(.sending)
      case .waiting: enter(.waiting)
      }
    }

    func didReceiveHead(_ status: Int, _ timing: CurlTiming) {
      var measured = HTTPResponse.Timing()
      measured.nameLookup = timing.nameLookup.map { .microseconds($0) }
      measured.connect = timing.connect.map { .microseconds($0) }
      measured.tls = timing.tls.map { .microseconds($0) }
      didReceiveHead(HTTPStatus(rawValue: status), measured)
    }

    var observesInterim: Bool { call.observesInterim }

    func didReceiveInterim(_ status: Int, _ fields: ReceivedFields) {
      let response = HTTPResponse.Informational(status: HTTPStatus(rawValue: status), headers: HTTPHeaders(fields))
      call.report(.informational(response, exchange: number))
    }

    func onAbort(_ action: @escaping @Sendable (any Error) -> Void) -> Int { abortSource.onAbort(action) }

    func forgetAbort(_ token: Int) { abortSource.remove(token) }

    func error(for failure: CurlFailure, of transfer: CurlTransfer) -> any Error {
      var error = plainError(for: failure, of: transfer)
      // With connection-based authentication the connection is new, although libcurl reuses it.
      if transfer.route?.handshake != nil { error.mayBeStaleConnection = false }
      return error
    }

    private func plainError(for failure: CurlFailure, of transfer: CurlTransfer) -> HTTPError {
      switch failure {
      case .ended(let ending):
        return CurlErrors.map(
          ending, phase: phase, connectLimit: transfer.job.connectLimit, proxy: transfer.route?.proxy?.name,
          unixSocket: call.settings.configuration.unixSocket)
      case .violation(let message, let hasHead):
        return HTTPError(.protocolViolation, message, phase: hasHead ? .receiving : .waiting)
      // A connection was not stale if bytes had arrived, or if this side ended it.
      case .cutBody(let message): return HTTPError(.connectionLost, message, .receiving, reached: true)
      case .cutHead:
        return HTTPError(.connectionLost, "the connection ended in the head of the response", .waiting, reached: true)
      case .refusedAddress(let reason):
        let message = "publicAddressesOnly refuses \(transfer.job.origin.host): \(reason)"
        call.decided("guards.refused", message)
        return HTTPError(.refusedByGuard, message, phase: .connecting)
      case .bodyFile(let message): return HTTPError(.fileFailed, message, .sending, reached: true)
      case .uploadStopped: return HTTPError(.connectionLost, "the upload was stopped", .sending, reached: true)
      case .unavailable: return CurlLibrary.refusal
      }
    }
  }

  extension ProxyExchange: CurlProxySink {
    func refused(_ status: Int, _ fields: ReceivedFields) { refused(status, HTTPHeaders(fields)) }
  }

  extension ConnectionSlot: CurlSlot {}

  extension BodySource: UploadStream {}

  extension CurlUpload: UpgradeWriter, InlineReceiver {
    package var sentCount: Int64 { takenCount }
  }

  extension StreamedResponse {
    init(_ answer: CurlResponse, to request: HTTPRequest) {
      let addresses = answer.connection.addresses
      var headers = HTTPHeaders(answer.fields)
      if answer.isDecoded {
        headers.remove("Content-Encoding")
        headers.remove("Content-Length")
      }
      var head = ResponseHead(
        status: HTTPStatus(rawValue: answer.status), headers: headers, trailers: .after(answer.body),
        reasonPhrase: answer.reason, httpVersion: HTTPVersion(answer.version),
        connection: HTTPResponse.Connection(
          remoteAddress: addresses?.remoteAddress, remotePort: addresses?.remotePort,
          localAddress: addresses?.localAddress, localPort: addresses?.localPort,
          isReused: answer.connection.isReused),
        wasCompressed: answer.isDecoded, request: request)
      head.upgradeWriter = answer.writer
      self.init(head, ResponseBody(answer.body))
    }
  }

  extension CurlUpload {
    convenience init(
      _ content: HTTPBody.Content, length: Int64?, request: HTTPRequest, _ trailers: TrailerSource? = nil
    ) throws {
      let source: Source
      switch content {
      case .data(let data): source = .data(data)
      case .stream(let stream): source = .stream(stream)
      case .file(let url):
        let file = martlet_open(url.path(percentEncoded: false))
        guard file >= 0 else {
          var error = HTTPError.file("the body file could not be opened", code: errno)
          error.describe(request)
          throw error
        }
        source = .file(file)
      case .pieces, .compressed, .spool, .json: source = .stream(try content.source(length, for: request))
      case .invalid(let input): throw HTTPError(.invalidRequest, input.message, request: request)
      }
      let fields = trailers.map { trailers in
        CurlTrailers { try await trailers.fields().map { ($0.name, $0.wire) } }
      }
      self.init(source, length: length, trailers: fields)
    }
  }
#endif
