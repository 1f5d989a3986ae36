/// Runs tasks on the threads that resume them, without a change of threads.
///
/// For short work that calls no code of the program, because the thread may be the one that receives for all WebSockets.
final class ImmediateExecutor: TaskExecutor {
  static let shared = ImmediateExecutor()

  func enqueue(_ job: consuming ExecutorJob) { UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor()) }
}
