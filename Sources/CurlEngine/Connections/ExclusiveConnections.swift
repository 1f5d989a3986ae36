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

  /// The keys of shared connections, one of which an origin uses at a time.
  ///
  /// Streamed responses have all of them but the first one, unless connections have a maximum age.
  static let sharedKeys = [shared, 12, 13, 14]

  private var holders: [ObjectIdentifier: Holder] = [:]
  /// The keys in use, as a bit set.
  private var used: [Origin: UInt16] = [:]
  /// The keys that no streamed response gets, as a bit set.
  private let reserved: UInt16
  /// The origins whose shared connections have another key than ``shared``.
  private var renewed = RecentTable<Origin, Int>(limit: 1024)
  /// The servers that use HTTP/1, whose connections are never shared.
  private var http1 = RecentTable<Origin, Bool>(limit: 256)

  /// Creates the keys; connections with a maximum age need several shared keys.
  init(hasMaximumAge: Bool = false) {
    reserved = hasMaximumAge ? Self.sharedKeys.reduce(0) { $0 | 1 << UInt16($1) } : 1
  }

  /// The key of new transfers that share a connection.
  func sharedKey(of origin: Origin) -> Int { (renewed.count > 0 ? renewed[origin] : nil) ?? Self.shared }

  /// Replaces the shared key of an origin, because its connection is too old; returns whether it was still in use.
  ///
  /// The next key is none of those whose connection is also too old.
  mutating func renewSharedKey(of origin: Origin, after key: Int, except old: Set<Int> = []) -> Bool {
    guard sharedKey(of: origin) == key, let index = Self.sharedKeys.firstIndex(of: key) else { return false }
    let others = Self.sharedKeys[(index + 1)...] + Self.sharedKeys[..<index]
    guard let next = others.first(where: { !old.contains($0) }) else { return false }
    renewed[origin] = next == Self.shared ? nil : next
    return true
  }

  /// Takes a key for a streamed response; the same one until it is returned.
  mutating func take(for user: AnyObject, of origin: Origin) -> Int {
    if let holder = holders[ObjectIdentifier(user)] { return holder.key }
    if http1[origin] == true { return sharedKey(of: origin) }
    let bits = used[origin] ?? reserved
    let key = min((~bits).trailingZeroBitCount, Self.fresh)
    if key < Self.fresh { used[origin] = bits | 1 << UInt16(key) }
    holders[ObjectIdentifier(user)] = Holder(origin: origin, key: key)
    return key
  }

  mutating func release(_ user: AnyObject) {
    guard !holders.isEmpty, let holder = holders.removeValue(forKey: ObjectIdentifier(user)) else { return }
    guard holder.key < Self.fresh, let bits = used[holder.origin] else { return }
    let rest = bits & ~(1 << UInt16(holder.key))
    used[holder.origin] = rest == reserved ? nil : rest
  }

  /// Records whether a server that could choose HTTP/2 uses HTTP/1.
  mutating func record(_ origin: Origin, speaksHTTP1: Bool) {
    if (http1[origin] ?? false) != speaksHTTP1 { http1[origin] = speaksHTTP1 ? true : nil }
  }
}

extension CurlLoop {
  func connectionKey(for transfer: CurlTransfer) -> Int {
    if transfer.route?.sharesConnections == false { return ExclusiveConnections.fresh }
    guard transfer.sharing == .agreed else { return ExclusiveConnections.shared }
    let origin = transfer.job.origin
    return transfer.isExclusive ? exclusive.take(for: transfer, of: origin) : exclusive.sharedKey(of: origin)
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
