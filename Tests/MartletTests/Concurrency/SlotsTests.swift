import Testing

@testable import Martlet

struct SlotsTests {
  @Test func `uses a free place again`() {
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

  @Test(arguments: [-1, 1, .max]) func `has nothing in places that were never used`(place: Int) {
    var slots = Slots<String>()
    _ = slots.add("a")
    slots.replace(at: place, with: "b")

    #expect(slots[place] == nil)
    #expect(slots.remove(at: place) == nil)
    #expect(Array(slots.all) == ["a"])
  }

  @Test func `is empty when everything was removed`() {
    var slots = Slots<Int>()
    let places = (0..<3).map { slots.add($0) }
    #expect(places == [0, 1, 2])
    for place in places { #expect(slots.remove(at: place) == place) }

    #expect(slots.isEmpty)
    #expect(Array(slots.numbered).isEmpty)
  }

  @Test func `begins anew after many elements`() {
    var slots = Slots<Int>()
    let places = (0..<1000).map { slots.add($0) }
    for place in places { #expect(slots.remove(at: place) == place) }

    #expect(slots.add(7) == 0)
    #expect(slots[999] == nil)
    #expect(Array(slots.all) == [7])
  }
}
