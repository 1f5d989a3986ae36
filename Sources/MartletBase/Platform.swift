// The modules that all files of the library use. On Linux, they do not include all of Foundation, which would make
// programs larger by tens of megabytes.
#if canImport(Darwin)
  @_exported public import Darwin
  @_exported public import Foundation
#elseif canImport(FoundationEssentials)
  @_exported public import FoundationEssentials
#else
  @_exported public import Foundation
#endif

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#endif
