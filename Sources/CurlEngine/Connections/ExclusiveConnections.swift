import MartletBase
import CMartletShim

/// The keys that separate the HTTP/2 connections of streamed responses.
///
/// Only TCP can slow down a stream whose reader pauses, and only if nothing else arrives on its connection: with other
/// streams on it, libcurl buffers up to 32 MiB of it. So each streamed response gets a key that no other running one of
/// its origin has. libcurl reuses a connection only for equal keys.
///
/// Each loop has its own instance, used under the loop's lock.
struct ExclusiveConnections {
  /// The key of all transfers whose responses are read as they arrive.
  static let shared = 0
  /// The key of a new connection, which is closed after its transfer.
  ///
  /// For transfers that may share no connection, and when all other keys are in use. Connection-based authentication
  /// still keeps the connection until it is complete.
  static let fresh = 15

  private struct Holder {
    let origin: Origin
    let key: Int
  }

  private var holders: [ObjectIdentifier: Holder] = [:]
  /// The keys in use, as a bit set.
  private var used: [Origin: UInt16] = [:]
  /// The servers that use HTTP/1, whose connections are never shared.
  private var http1 = RecentTable<Origin, Bool>(limit: 256)

  /// Takes a key for a streamed response; the same one until it is returned.
  mutating func take(for user: AnyObject, of origin: Origin) -> Int {
    if let holder = holders[ObjectIdentifier(user)] { return holder.key }
    if http1[origin] == true { return Self.shared }
    let bits = used[origin] ?? 1
    let key = min((~bits).trailingZeroBitCount, Self.fresh)
    if key < Self.fresh { used[origin] = bits | 1 << UInt16(key) }
    holders[ObjectIdentifier(user)] = Holder(origin: origin, key: key)
    return key
  }

  mutating func release(_ user: AnyObject) {
    guard !holders.isEmpty, let holder = holders.removeValue(forKey: ObjectIdentifier(user)) else { return }
    guard holder.key < Self.fresh, let bits = used[holder.origin] else { return }
    let rest = bits & ~(1 << UInt16(holder.key))
    used[holder.origin] = rest == 1 ? nil : rest
  }

  /// Records whether a server that could choose HTTP/2 uses HTTP/1.
  mutating func record(_ origin: Origin, speaksHTTP1: Bool) {
    if (http1[origin] ?? false) != speaksHTTP1 { http1[origin] = speaksHTTP1 ? true : nil }
  }
}

extension CurlLoop {
  func connectionKey(for transfer: CurlTransfer) -> Int {
    if transfer.route?.sharesConnections == false { return ExclusiveConnections.fresh }
    guard transfer.sharing == .agreed, transfer.isExclusive else { return ExclusiveConnections.shared }
    return exclusive.take(for: transfer, of: transfer.job.origin)
  }
}

extension CurlHandle {
  /// Limits the transfer to connections with the same key.
  ///
  /// libcurl compares `CURLOPT_SSL_OPTIONS` since 7.83.1. These four bits affect only Schannel and Secure Transport, or
  /// nothing.
  func setConnectionKey(_ key: Int, _ options: inout EasyOptions) {
    let bits = [2, 8, 32, 128].enumerated().reduce(0) { $0 | (key >> $1.offset & 1) * $1.element }
    options.set(martlet_opt_ssl_options, bits)
    if key == ExclusiveConnections.fresh {
      options.set(martlet_opt_fresh_connect, 1)
      options.set(martlet_opt_forbid_reuse, 1)
    }
  }
}
