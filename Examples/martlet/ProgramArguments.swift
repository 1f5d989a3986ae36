import Foundation

/// The command line and the standard streams that the program was started with.
enum ProgramArguments {
  /// Reads the arguments without the program's name.
  ///
  /// `CommandLine.arguments` would replace octets that are not UTF-8, so the tool would send other octets or read
  /// another file.
  ///
  /// - Throws: ``UsageError`` if an argument is not UTF-8.
  static func read() throws(UsageError) -> [String] {
    var all: [String] = []
    var position = 1
    while position < CommandLine.argc, let text = CommandLine.unsafeArgv[position] {
      guard let argument = String(validatingCString: text) else {
        throw UsageError(
          "argument \(position) is not UTF-8: '\(shown(text))'; "
            + "send such bytes from a file or standard input, and give files names in UTF-8")
      }
      all.append(argument)
      position += 1
    }
    return all
  }

  /// The text with its octets above 0x7F in hexadecimal.
  private static func shown(_ text: UnsafePointer<CChar>) -> String {
    UnsafeBufferPointer(start: text, count: min(strlen(text), 80)).reduce(into: "") { result, character in
      let octet = UInt8(bitPattern: character)
      if octet < 0x80 {
        result.unicodeScalars.append(Unicode.Scalar(octet))
      } else {
        result += "\\x" + String(octet, radix: 16)
      }
    }
  }

  /// Opens standard streams that are closed, because the next file or socket would take their numbers.
  ///
  /// Reading from such a stream and writing to it still fails.
  static func reserveStandardStreams() {
    for (stream, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    where fcntl(stream, F_GETFD) < 0 {
      // The lowest free number is the stream's number.
      _ = open("/dev/null", mode)
    }
  }
}
