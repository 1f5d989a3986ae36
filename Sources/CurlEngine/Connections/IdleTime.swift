import MartletBase

/// The time for which a connection may be idle, as the server says: `Keep-Alive: timeout=5, max=100`.
///
/// No RFC defines the field; Apache, nginx and Node.js send it. A connection that is used at the end of this time may
/// already be closed, or forgotten by a device in between. So the connection is used only until one second before that.
enum IdleTime {
  private static let margin: Int64 = 1_000_000
  /// A day; longer times do not matter.
  private static let longest: UInt64 = 86_400

  /// The usable time in microseconds; `nil` if the value contains none.
  static func announced(_ value: some Sequence<UInt8>) -> Int64? {
    for parameter in Array(value).split(separator: UInt8(ascii: ",")) {
      let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, FieldSyntax.isSameName(text(parts[0]), "timeout"),
        let seconds = FieldSyntax.parseSaturated(text(parts[1]))
      else { continue }
      let time = Int64(min(seconds, longest)) * 1_000_000
      return time > margin ? time - margin : time / 2
    }
    return nil
  }

  private static func text(_ octets: ArraySlice<UInt8>) -> Substring {
    FieldSyntax.trimmed(String(decoding: octets, as: UTF8.self))
  }
}
