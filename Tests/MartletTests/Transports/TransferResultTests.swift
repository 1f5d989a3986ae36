#if os(Linux)
  @testable import CurlEngine
  import Testing

  @Suite struct TransferResultTests {
    private typealias Answer = TransferResult<String, Int, Character>

    @Test func `an early result is kept for its caller`() {
      var answer = Answer()

      #expect(answer.give("first") == nil)
      #expect(answer.isAnswered)
      #expect(answer.ask(1) == "first")
      #expect(answer.isAnswered)
    }

    @Test func `a waiting caller gets the result`() {
      var answer = Answer()

      #expect(answer.ask(1) == nil)
      #expect(!answer.isAnswered)
      #expect(answer.give("first") == 1)
      #expect(answer.isAnswered)
    }

    @Test func `later results are ignored`() {
      var early = Answer()
      var late = Answer()
      _ = early.give("first")
      _ = late.ask(1)
      _ = late.give("first")

      #expect(early.give("second") == nil)
      #expect(early.ask(1) == "first")
      #expect(early.give("third") == nil)
      #expect(late.give("second") == nil)
      #expect(early.isAnswered && late.isAnswered)
    }

    @Test func `ends once and reports the stage that was reached`() {
      var unopened = Answer()
      var opened = Answer()

      _ = opened.open("b")
      guard case .head? = unopened.end(), case .body("b")? = opened.end() else {
        Issue.record("the stages are others")
        return
      }
      #expect(unopened.isEnded && opened.isEnded)
      for again in [unopened.end(), opened.end()] where again != nil { Issue.record("it has ended twice") }
    }

    @Test func `a response opens once, and not after the end`() {
      var opened = Answer()
      var ended = Answer()
      _ = ended.end()

      let isWanted = [opened.open("b"), opened.open("c"), ended.open("b")]

      #expect(isWanted == [true, false, false])
    }
  }
#endif
