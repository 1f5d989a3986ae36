import CMartletShim

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The memory of a large body that is collected, outside the heap; initially none.
///
/// The memory of released bodies is reused or returned to the system. On the heap it would stay with the process,
/// because small objects lie between the bodies.
struct BodyMemory: ~Copyable, Sendable {
  /// The minimum size; below it, the heap is faster.
  static let minimumSize = 128 << 10
  /// The maximum size for an announced length, which is only a promise.
  static let maximumReservation = 4 << 20

  private var pages = Pages()
  private(set) var count = 0

  deinit { pages.release() }

  var exists: Bool { pages.size > 0 }

  /// Provides room for a total number of bytes; returns whether there is memory.
  mutating func reserve(_ needed: Int) -> Bool {
    guard needed > pages.size else { return true }
    if pages.grow(to: needed) { return true }
    guard var larger = Pages(forBytes: needed) else { return false }
    larger.write(UnsafeRawBufferPointer(start: pages.start, count: count), at: 0)
    pages.release()
    pages = larger
    return true
  }

  /// Appends bytes; returns whether there was memory.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= pages.size - count || reserve(max(count + bytes.count, 2 * pages.size)) else { return false }
    pages.write(bytes, at: count)
    count += bytes.count
    return true
  }

  /// Returns the appended bytes, whose memory is released with the last copy of the result.
  mutating func take() -> Data {
    guard let start = pages.start else { return Data() }
    defer { (pages, count) = (Pages(), 0) }
    // A short body, or the beginning of one that is streamed, must not keep pages that were reserved for more.
    guard count >= Self.minimumSize / 2 else {
      defer { pages.release() }
      return Data(bytes: start, count: count)
    }
    return Data(bytesNoCopy: start, count: count, deallocator: .custom { [pages] _, _ in pages.release() })
  }
}

/// Pages of the system, to be released exactly once.
private struct Pages: Sendable {
  /// Released pages of one size each, at most 16 MiB together.
  private static let free = Locked<[Pages]>([])
  private static let maximumFreeBytes = 16 << 20
  /// The number of bytes that the system provides at a time; a page at a time takes twice as long.
  private static let step = 64 << 10

  /// The address; as a number, because pointers are not `Sendable`.
  private var address: UInt = 0
  private(set) var size = 0
  /// The number of bytes that the system has provided.
  private var provided = 0

  init() {}

  /// Reserves pages, or returns `nil` if there are none.
  init?(forBytes count: Int) {
    let size = Self.size(forBytes: count)
    let used = Self.free.withLock { free in
      free.lastIndex { $0.size == size }.map { free.remove(at: $0) }
    }
    if let used {
      self = used
      return
    }
    #if os(Linux)
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS
    #endif
    let address = UInt(bitPattern: mmap(nil, size, PROT_READ | PROT_WRITE, flags, -1, 0))
    // MAP_FAILED is not declared everywhere.
    guard address != .max else { return nil }
    (self.address, self.size) = (address, size)
  }

  /// Powers of two are likely to fit again, and unwritten pages occupy no memory.
  private static func size(forBytes count: Int) -> Int {
    count > maximumFreeBytes / 2 ? count : 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
  }

  var start: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: address) }

  /// Provides room for more bytes without copying; returns whether the system can.
  mutating func grow(to count: Int) -> Bool {
    let larger = Self.size(forBytes: count)
    guard let start, let moved = martlet_grow_pages(start, size, larger) else { return false }
    (address, size) = (UInt(bitPattern: moved), larger)
    return true
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard let start, let source = bytes.baseAddress else { return }
    #if os(Linux)
      let end = offset + bytes.count
      if end > provided {
        let next = min(size, (end + Self.step - 1) / Self.step * Self.step)
        // MADV_POPULATE_WRITE, since Linux 5.14; on earlier systems, the pages are provided one by one.
        madvise(start + provided, next - provided, 23)
        provided = next
      }
    #endif
    (start + offset).copyMemory(from: source, byteCount: bytes.count)
  }

  /// Keeps the pages for another body, or returns them to the system.
  func release() {
    guard size > 0 else { return }
    let surplus = Self.free.withLock { free in
      guard size <= Self.maximumFreeBytes / 2 else { return [self] }
      free.append(self)
      var bytes = free.reduce(0) { $0 + $1.size }
      // The oldest ones first: their size may not be in use any longer.
      var count = 0
      while bytes > Self.maximumFreeBytes {
        bytes -= free[count].size
        count += 1
      }
      defer { free.removeFirst(count) }
      return Array(free.prefix(count))
    }
    for pages in surplus { if let start = pages.start { munmap(start, pages.size) } }
  }
}
