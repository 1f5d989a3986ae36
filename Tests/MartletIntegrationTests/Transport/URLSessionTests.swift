import Testing

/// What ``URLSessionTransport`` does over the system's loader, one test at a time: on Linux one thread loads for the
/// whole process, and many tests at once would measure each other.
@Suite(.oneAtATime, .serialized, .timeLimit(.minutes(3))) enum URLSessionTests {}
