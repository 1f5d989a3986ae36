import Foundation
import Martlet
import MartletHAR

/// `martlet`, the command-line tool.
@main
enum Tool {
  static func main() async {
    ProgramArguments.reserveStandardStreams()
    let code = await run()
    HiddenLine.restore()
    exit(code.rawValue)
  }

  private static func run() async -> ExitCode {
    let output = Terminal(STDOUT_FILENO)
    let errors = Terminal(STDERR_FILENO)
    // A closed pipe is reported as a write error, so temporary files are still removed.
    signal(SIGPIPE, SIG_IGN)
    Signals.letQuit()
    do {
      switch try Arguments.parse(
        ProgramArguments.read(), defaults: { (file) throws(UsageError) in try ConfigFile.load(file) })
      {
      case .help(let topic): return print(Help.text(topic), output)
      case .completion(let shell): return print(Completion.script(for: shell), output)
      case .manual: return print(Manual.text, output)
      case .version: return print("martlet \(HTTPClient.Configuration.version)\n", output)
      case .doctor: return print("martlet \(HTTPClient.Configuration.version)\n\(HTTPClient().diagnostics)\n", output)
      case .demo: return await Demo(output: output).run()
      case .cache(let command): return await command.run(output, errors)
      case .har(let command): return command.run(output, errors)
      case .events(var command):
        try command.command.readInput(errors)
        let signals = Signals { HiddenLine.restore() }
        defer { signals.ignore() }
        return await command.run(output, errors)
      case .download(let command): return await command.run(output, errors)
      case .load(let command): return await command.run(output, errors)
      case .upload(let command): return await command.run(output, errors)
      case .webSocket(let command):
        return await RunWebSocket(command: command, output: output, errors: errors).run()
      case .request(var command):
        try command.readInput(errors)
        let name = command.output == "-" ? nil : command.output
        let file = try name.map { name throws(UsageError) in try OutputFile(name) }
        let isRecording = command.har != nil
        let signals = Signals {
          file?.discard()
          if isRecording {
            // The recorder receives events within 5 ms.
            usleep(50_000)
            HARRecorder.closeAll()
          }
          HiddenLine.restore()
        }
        defer { signals.ignore() }
        return await RunRequest(command: command, output: output, errors: errors, file: file).run()
      }
    } catch {
      errors.complain("\(error)")
      return error.code
    }
  }

  private static func print(_ text: String, _ output: Terminal) -> ExitCode {
    do {
      try output.write(text)
      return .success
    } catch {
      return error.isBrokenPipe ? .brokenPipe : .failure
    }
  }
}
