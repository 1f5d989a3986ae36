import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct FormEncoderTests {
  @Test func `encodes fields as browsers do`() {
    var query: Query = ["a b": "c+d*-._~", "é": "&=%\r\n'()!", "": "x", "tag": ["1", "2"]]
    query.append("bare")

    let text = String(decoding: FormEncoder.encode(query), as: UTF8.self)

    #expect(text == "a+b=c%2Bd*-._%7E&%C3%A9=%26%3D%25%0D%0A%27%28%29%21&=x&tag=1&tag=2&bare=")
  }

  @Test func `encodes an empty query as no bytes`() {
    #expect(FormEncoder.encode([:]).isEmpty)
  }

  @Test func `Query parses encoded forms back to the original`() {
    var generator = SeededGenerator(seed: 9)
    for _ in 0..<2_000 {
      let query = Query(items: [
        .init(
          name: HostileText.random(upTo: 6, using: &generator), value: HostileText.random(upTo: 6, using: &generator))
      ])

      #expect(Query(parsing: String(decoding: FormEncoder.encode(query), as: UTF8.self)) == query)
    }
  }
}
