#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Whether the tests run under a sanitizer.
///
/// The thread sanitizer makes everything ten times slower; the address sanitizer keeps released memory.
package let isSanitized = dlsym(nil, "__tsan_acquire") != nil || dlsym(nil, "__asan_init") != nil
