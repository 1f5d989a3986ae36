#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Whether the tests run under the thread sanitizer, which makes everything ten times slower.
package let isSanitized = dlsym(nil, "__tsan_acquire") != nil
