import Foundation
import TestSupport
import Testing

@testable import MartletBase

@Suite(.hangLimit) struct BodyMemoryTests {
  /// Appends `count` equal bytes, in chunks as libcurl delivers them.
  private static func fill(_ memory: inout BodyMemory, with byte: UInt8, count: Int) {
    let chunk = [UInt8](repeating: byte, count: 16 << 10)
    var left = count
    while left > 0 {
      let part = min(left, chunk.count)
      let isStored = chunk.withUnsafeBytes { memory.append(UnsafeRawBufferPointer(rebasing: $0[..<part])) }
      #expect(isStored)
      left -= part
    }
  }

  private static func body(of byte: UInt8, count: Int, reserving reserved: Int) -> Data {
    var memory = BodyMemory()
    let isReserved = memory.reserve(reserved)
    #expect(isReserved)
    fill(&memory, with: byte, count: count)
    return memory.take()
  }

  /// Sizes around the powers of two in which pages are kept, and above the largest one.
  @Test(arguments: [1, 131_071, 131_072, 131_073, 1_000_000, 1 << 20, (1 << 20) + 1, (8 << 20) + 1])
  func `keeps the bytes, whether the reservation is exact, small or missing`(count: Int) {
    for reserved in [count, 1 << 17, 0] {
      let data = Self.body(of: 7, count: count, reserving: reserved)
      #expect(data.count == count && data.allSatisfy { $0 == 7 })
    }
  }

  @Test func `never reuses the pages of a body that is still referenced`() {
    var held: [Data] = []
    for number in 0..<40 {
      let data = Self.body(of: UInt8(number), count: 300_000, reserving: 300_000)
      // A slice keeps the pages as well; every other body is released, so its pages are reused.
      if number.isMultiple(of: 2) { held.append(data[100_000..<200_000]) }
    }
    for (index, slice) in held.enumerated() {
      #expect(slice.count == 100_000 && slice.allSatisfy { $0 == UInt8(2 * index) })
    }
  }

  @Test func `a body that was taken can be changed and copied`() {
    var data = Self.body(of: 1, count: 200_000, reserving: 200_000)
    let copy = data
    data.append(contentsOf: [2, 2])
    data[0] = 3
    #expect(data.count == 200_002 && data.first == 3 && data.last == 2)
    #expect(copy.count == 200_000 && copy.allSatisfy { $0 == 1 })
  }

  @Test func `is empty after its bytes were taken`() {
    var memory = BodyMemory()
    Self.fill(&memory, with: 1, count: 150_000)
    let (first, exists, second) = (memory.take(), memory.exists, memory.take())
    #expect(first.count == 150_000 && !exists && second.isEmpty)
    Self.fill(&memory, with: 2, count: 150_000)
    let third = memory.take()
    #expect(third.count == 150_000 && third.allSatisfy { $0 == 2 })
  }

  @Test func `refuses more bytes than the address space`() {
    var memory = BodyMemory()
    let (isReserved, exists) = (memory.reserve(.max), memory.exists)
    #expect(!isReserved && !exists)
  }

  @Test func `many tasks get different pages at the same time`() async {
    let mistakes = await withTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          var mistakes = 0
          for round in 0..<30 {
            let byte = UInt8(task * 30 + round)
            let data = Self.body(of: byte, count: 200_000, reserving: 200_000)
            await Task.yield()
            if !data.allSatisfy({ $0 == byte }) { mistakes += 1 }
          }
          return mistakes
        }
      }
      return await group.reduce(0, +)
    }
    #expect(mistakes == 0)
  }
}
