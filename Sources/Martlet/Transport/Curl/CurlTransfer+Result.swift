#if os(Linux)
  extension CurlTransfer {
    /// How libcurl says that a transfer has ended.
    struct Result {
      var code: CInt
      var text: String
      var isReused: Bool
      var refusal: CurlErrors.Refusal?
    }
  }
#endif
