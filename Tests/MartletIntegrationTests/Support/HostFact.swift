import Foundation
import Martlet
import TestSupport

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A feature that most machines have and that some tests require.
struct HostFact: Sendable {
  /// An IPv6 loopback address.
  static let ipv6 = HostFact("there is no [::1]") { canBind("::1") }
  /// Other addresses of the loopback interface than 127.0.0.1.
  static let loopbackAliases = HostFact("there is no 127.0.0.2") { canBind("127.0.0.2") }
  /// A resolver that reports names under `invalid` as unknown (RFC 6761 §6.4) within some seconds.
  static let unknownNames = HostFact("names that do not exist are not said to be unknown") { missesUnknownName }
  /// The library behind the engine's TLS, in a version that the tests support.
  static let openSSL = HostFact("there is no libcrypto of OpenSSL 1.1 or 3") { openSSLImage != nil }
  /// A libcurl that supports HTTP/2.
  static let http2 = HostFact("the system's libcurl is asked for no HTTP/2") {
    HTTPClient().diagnostics.httpVersions.contains("2")
  }
  /// A libcurl that reports its requests before it sends them, so it may send a `POST` on a reused connection.
  static let reportedRequests = HostFact("before libcurl 7.80, a POST gets a new connection") { libcurl >= [7, 80] }
  /// A libcurl whose descriptors can be kept from child processes.
  static let ownDescriptors = HostFact("children inherit some descriptors of libcurl before 7.88 and of 8.5") {
    libcurl >= [7, 88] && libcurl < [8, 5] || libcurl >= [8, 8]
  }
  /// A libcurl that sends request heads of any size.
  static let largeHeads = HostFact("libcurl 8.5.0 does not send large request heads") { libcurl != [8, 5, 0] }
  /// A libcurl with one thread for each lookup, whose end can be observed.
  static let countedLookups = HostFact("lookups of libcurl 8.5 and of 8.20 or newer cannot be counted") {
    libcurl < [8, 20] && libcurl != [8, 5, 0]
  }
  /// The libcurl version with which the faults of the system's loader were documented.
  static let documentedLoader = HostFact("the system's loader was examined with libcurl 7.88") {
    libcurl.starts(with: [7, 88])
  }
  /// A libcurl that exposes the TLS connection to an https proxy.
  static let visibleProxyTLS = HostFact(
    "from libcurl 8.15 on, and without OpenSSL, requests through https proxies get a connection each"
  ) {
    libcurl < [8, 15] && curlWithOpenSSL.holds
  }
  /// A libcurl that reads a chunked body even if `Content-Length` is 0.
  static let chunksDespiteLength = HostFact("libcurl since 8.10 reads no chunks if Content-Length is 0") {
    libcurl < [8, 10]
  }
  /// A libcurl whose log shows chunked bodies as they arrive.
  static let rawChunks = HostFact("libcurl 8.5.0 does not show malformed chunk sizes") { libcurl != [8, 5, 0] }
  /// A libcurl that reuses a connection with an unread TLS message.
  static let reusesReadable = HostFact("libcurl since 8.0 may drop a connection on which a TLS message waits") {
    libcurl < [8, 0]
  }
  /// A libcurl that fails at once if a Unix socket's queue is full.
  static let refusesFullQueues = HostFact("libcurl before 7.88 may wait for room in the queue of a Unix socket") {
    libcurl >= [7, 88]
  }
  /// A libcurl that uses OpenSSL.
  static let curlWithOpenSSL = HostFact("the system's libcurl does not use OpenSSL") {
    HTTPClient().diagnostics.tlsLibrary?.hasPrefix("OpenSSL/") == true
  }
  /// The information that Linux provides on a process.
  static let proc = HostFact("there is no /proc") { FileManager.default.fileExists(atPath: "/proc/self/fd") }

  /// The right to give files to another user.
  static let root = HostFact("the tests may not give files to another user") {
    guard let folder = try? TemporaryFolder() else { return false }
    return geteuid() == 0 && chown(folder.url.path, 65_534, 65_534) == 0
  }

  /// Pseudo terminals for programs that require one.
  static let pseudoTerminals = HostFact("there are no pseudo terminals") {
    let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
  }

  /// A Python with moto, which comes from PyPI (`pip install 'moto[server,s3,sts]'`).
  static let moto = HostFact("no python3 in the path contains moto and botocore") { AWSPython.moto != nil }
  static let botocore = HostFact("no python3 in the path contains botocore") { AWSPython.botocore != nil }

  /// The version of the system's libcurl; empty without one.
  private static let libcurl = Version(
    (HTTPClient().diagnostics.libcurl ?? "").split(separator: ".").compactMap { Int($0.prefix { $0.isNumber }) })

  private struct Version: Comparable, ExpressibleByArrayLiteral {
    let numbers: [Int]

    init(_ numbers: [Int]) { self.numbers = numbers }
    init(arrayLiteral numbers: Int...) { self.numbers = numbers }

    func starts(with numbers: [Int]) -> Bool { self.numbers.starts(with: numbers) }

    static func < (one: Version, other: Version) -> Bool { one.numbers.lexicographicallyPrecedes(other.numbers) }
  }

  private static let isBare = ProcessInfo.processInfo.environment["MARTLET_BARE"] == "1"

  let missing: String
  private let check: @Sendable () -> Bool

  /// Whether the machine provides the feature; always false with `MARTLET_BARE=1`.
  var holds: Bool { !Self.isBare && check() }

  private init(_ missing: String, _ check: @escaping @Sendable () -> Bool) {
    self.missing = missing
    self.check = check
  }

  /// Whether the resolver reports an unknown name; checked once.
  private static let missesUnknownName: Bool = {
    let isUnknown = Shared(false)
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var found: UnsafeMutablePointer<addrinfo>?
      let code = getaddrinfo("martlet.invalid", "80", nil, &found)
      if code == 0 { freeaddrinfo(found) }
      isUnknown.withLock { $0 = code != 0 }
      end.signal()
    }
    return end.wait(timeout: .now() + 5) == .success && isUnknown.value
  }()

  /// The loaded OpenSSL library.
  static var openSSLImage: UnsafeMutableRawPointer? {
    dlopen("libcrypto.so.3", RTLD_NOW) ?? dlopen("libcrypto.so.1.1", RTLD_NOW)
  }

  private static func canBind(_ address: String) -> Bool {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(address, "0", &hints, &found) == 0, let found else { return false }
    defer { freeaddrinfo(found) }
    let descriptor = socket(found.pointee.ai_family, found.pointee.ai_socktype, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0
  }
}
