import Testing

@testable import Martlet

struct SlotsTests {
  @Test func `reuses a free slot`() {
    var slots = Slots<String>()
    let first = slots.add("a")
    let second = slots.add("b")

    #expect(slots.remove(at: first) == "a")
    #expect(slots.remove(at: first) == nil)
    #expect(slots.add("c") == first)

    #expect(slots.count == 2)
    #expect(slots[first] == "c")
    #expect(slots[second] == "b")
    #expect(Array(slots.all) == ["c", "b"])
  }

  @Test(arguments: [-1, 1, .max]) func `unused slots are empty`(place: Int) {
    var slots = Slots<String>()
    _ = slots.add("a")
    slots.replace(at: place, with: "b")

    #expect(slots[place] == nil)
    #expect(slots.remove(at: place) == nil)
    #expect(Array(slots.all) == ["a"])
  }

  @Test func `is empty after all elements are removed`() {
    var slots = Slots<Int>()
    let places = (0..<3).map { slots.add($0) }
    #expect(places == [0, 1, 2])
    for place in places { #expect(slots.remove(at: place) == place) }

    #expect(slots.isEmpty)
    #expect(Array(slots.numbered).isEmpty)
  }

  @Test func `starts at index 0 again after many elements are removed`() {
    var slots = Slots<Int>()
    let places = (0..<1000).map { slots.add($0) }
    for place in places { #expect(slots.remove(at: place) == place) }

    #expect(slots.add(7) == 0)
    #expect(slots[999] == nil)
    #expect(Array(slots.all) == [7])
  }
}
