#if os(Linux)
  import TestSupport
  import Testing

  @Suite("Allocations", .hangLimit)
  struct AllocationTests {
    /// The probe is a separate program, because it has its own allocator.
    @Test func `N31 a disabled policy adds no allocations to a request, with or without other policies`() async throws {
      let probe = try ToolProcess(try ToolProcess.built("AllocationProbe"), [])

      let result = try await probe.end()

      #expect(result.status == 0, "\(result.text) \(result.errors)")
      // Under the sanitizer, and without glibc, the probe reports that it cannot count.
      let isTold = result.text.contains("with all others") || result.text.contains("cannot be counted here")
      #expect(isTold, "\(result.text)")
    }
  }
#endif
