import Foundation

/// `benchmarks`: measures Martlet and its peers against each other.
@main
enum Program {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "child", arguments.count == 2 { return await Child.run(arguments[1]) }
    do {
      let options = try Options(arguments)
      if options.wantsHelp { return print(Options.help) }
      try Session(options).run()
    } catch {
      FileHandle.standardError.write(Data("benchmarks: \(error)\n".utf8))
      exit(1)
    }
  }
}

/// The error that the program prints before it exits.
struct Complaint: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
