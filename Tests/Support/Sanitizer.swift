#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Whether the tests run under a sanitizer.
///
/// That of threads makes everything ten times slower, that of addresses keeps released memory.
package let isSanitized = dlsym(nil, "__tsan_acquire") != nil || dlsym(nil, "__asan_init") != nil
