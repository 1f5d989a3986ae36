// ChatStream QUESTION
// Asks a model and prints its reply as it arrives; Ctrl-C ends it. The environment contains CHAT_API_KEY, and
// optionally CHAT_BASE_URL and CHAT_MODEL.
import Foundation
import Martlet

struct Chunk: Decodable, Sendable {
  struct Choice: Decodable, Sendable { var delta: Delta }
  struct Delta: Decodable, Sendable { var content: String? }
  var choices: [Choice]?
  var error: Failure?
}

struct Failure: Decodable, Sendable, Error { var message: String }
struct FailureAnswer: Decodable, Sendable { var error: Failure }

@main enum ChatStream {
  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    let question = CommandLine.arguments.dropFirst().joined(separator: " ")
    guard !question.isEmpty, let key = environment["CHAT_API_KEY"] else {
      write("usage: CHAT_API_KEY=… ChatStream QUESTION\n", to: .standardError)
      exit(64)
    }
    let base = environment["CHAT_BASE_URL"] ?? "https://api.openai.com/v1"
    let model = environment["CHAT_MODEL"] ?? "gpt-4o-mini"
    let client = HTTPClient {
      $0.baseURL = RequestTarget(base)
      $0.authenticators[.baseURL] = .bearer(key)
    }

    // Without SIG_IGN, the signal would end the process before the source handles it.
    signal(SIGINT, SIG_IGN)
    let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
    interrupts.setEventHandler { client.cancelAll() }
    interrupts.resume()
    // A released source no longer handles signals; this keeps it until the end.
    defer { interrupts.cancel() }

    do {
      try await ask(question, model: model, client: client)
      write("\n", to: .standardOutput)
    } catch is CancellationError {
      write("\n", to: .standardOutput)
      exit(130)
    } catch let failure as Failure {
      write("\nthe model failed: \(failure.message)\n", to: .standardError)
      exit(1)
    } catch let error as HTTPError {
      let message = error.decoded(as: FailureAnswer.self)?.error.message
      write("\n\(message ?? error.description)\n", to: .standardError)
      exit(error.isTransient ? 75 : 1)
    }
  }

  static func ask(_ question: String, model: String, client: HTTPClient) async throws {
    let request = HTTPRequest.post(
      "/chat/completions",
      body: .json([
        "model": .string(model),
        "stream": true,
        "messages": [["role": "user", "content": .string(question)]],
      ]))
    // A model may think for a while before its first word.
    for try await event in client.serverSentEvents(request, options: .init { $0.timeout.idle = .seconds(300) }) {
      if event.data == "[DONE]" { return }
      let chunk = try event.json(Chunk.self)
      if let failure = chunk.error { throw failure }
      if let text = chunk.choices?.first?.delta.content { write(text, to: .standardOutput) }
    }
  }

  static func write(_ text: String, to file: FileHandle) {
    file.write(Data(text.utf8))
  }
}
