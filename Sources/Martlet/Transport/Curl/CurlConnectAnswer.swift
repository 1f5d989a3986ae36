#if os(Linux)
  /// Reads what a proxy answers to CONNECT, for the challenges in it.
  struct CurlConnectAnswer {
    private var reader: ResponseHeadReader? = ResponseHeadReader()

    /// Reads one line with its end.
    ///
    /// - Returns: Status and fields of a head that is whole, if it asks for credentials.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> (Int, HTTPHeaders)? {
      do {
        guard case .final(let head)? = try reader?.read(line) else { return nil }
        reader = nil
        // 401 is what tinyproxy says to wrong credentials.
        return head.status == 407 || head.status == 401 ? (head.status, head.headers) : nil
      } catch {
        // libcurl has understood its status, and that decides.
        reader = nil
        return nil
      }
    }
  }
#endif
