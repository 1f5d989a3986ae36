#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import Testing

  /// What a server can do to a program that uses the system's loader of Linux, each in a process of its own.
  ///
  /// The bytes are in ``HostileAnswer/all``, and whether they are survived stands there too: that is the one place to
  /// change when a loader of our own is in.
  @Suite(.oneAtATime, .serialized, .timeLimit(.minutes(2))) struct CrashListTests {
    @Test(arguments: HostileAnswer.all)
    func `ends as it is known to`(_ answer: HostileAnswer) async {
      await #expect(processExitsWith: answer.end.condition) { [id = answer.id as String] in
        await HostileAnswer.meet(id)
      }
    }
  }
#endif
