import MartletBase
import CMartletShim

/// The keys that keep HTTP/2 connections of streamed responses apart.
///
/// A stream whose reader sleeps is slowed down by TCP alone, which it can be if nothing else comes on its connection:
/// beside other streams libcurl keeps up to 32 MiB of it. So each streamed response gets a key that no other running one
/// of its origin has, and libcurl reuses a connection for equal keys only.
///
/// Each loop has its own, used under its lock.
struct ExclusiveConnections {
  /// What all transfers share that are read as they come.
  static let shared = 0
  /// A new connection, which is closed after its transfer.
  ///
  /// For what may share no connection, and when all other keys are in use. A handshake keeps it to its end nevertheless.
  static let fresh = 15

  private struct Holder {
    let origin: Origin
    let key: Int
  }

  private var holders: [ObjectIdentifier: Holder] = [:]
  /// The keys in use, as bits.
  private var used: [Origin: UInt16] = [:]
  /// The servers that speak HTTP/1, whose connections nobody shares.
  private var http1 = RecentTable<Origin, Bool>(limit: 256)

  /// Takes a key for a streamed response; the same one until it is given back.
  mutating func take(for user: AnyObject, of origin: Origin) -> Int {
    if let holder = holders[ObjectIdentifier(user)] { return holder.key }
    if http1[origin] == true { return Self.shared }
    let bits = used[origin] ?? 1
    let key = min((~bits).trailingZeroBitCount, Self.fresh)
    if key < Self.fresh { used[origin] = bits | 1 << UInt16(key) }
    holders[ObjectIdentifier(user)] = Holder(origin: origin, key: key)
    return key
  }

  mutating func giveBack(_ user: AnyObject) {
    guard !holders.isEmpty, let holder = holders.removeValue(forKey: ObjectIdentifier(user)) else { return }
    guard holder.key < Self.fresh, let bits = used[holder.origin] else { return }
    let rest = bits & ~(1 << UInt16(holder.key))
    used[holder.origin] = rest == 1 ? nil : rest
  }

  /// A server has answered, and could have done so by HTTP/2.
  mutating func note(_ origin: Origin, speaksHTTP1: Bool) {
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
  /// Has libcurl reuse connections with the same key only; returns libcurl's code.
  ///
  /// libcurl compares `CURLOPT_SSL_OPTIONS` since 7.83.1. These four bits mean something to Schannel and Secure
  /// Transport, or nothing.
  func setConnectionKey(_ key: Int) -> CInt {
    let options = [2, 8, 32, 128].enumerated().reduce(0) { $0 | (key >> $1.offset & 1) * $1.element }
    var code = martlet_easy_set_number(easy, CInt(martlet_opt_ssl_options), options)
    if key == ExclusiveConnections.fresh {
      if code == 0 { code = martlet_easy_set_number(easy, CInt(martlet_opt_fresh_connect), 1) }
      if code == 0 { code = martlet_easy_set_number(easy, CInt(martlet_opt_forbid_reuse), 1) }
    }
    return code
  }
}
