import Foundation
import Martlet

/// Asks a chat model and prints its reply as it arrives: `Chat URL MODEL QUESTION`.
///
/// Works with any server that supports OpenAI's chat completions, whose tokens are server-sent events. The API key, if
/// the server needs one, is in `CHAT_KEY`.
@main
struct Chat {
  struct Message: Codable, Sendable {
    var role: String
    var content: String
  }

  struct Question: Encodable, Sendable {
    var model: String
    var messages: [Message]
    var stream = true
  }

  struct Answer: Decodable, Sendable {
    struct Choice: Decodable, Sendable {
      struct Delta: Decodable, Sendable { var content: String? }
      var delta: Delta
    }

    var choices: [Choice]
  }

  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    guard let url = arguments.first, arguments.count > 2 else {
      complain("usage: Chat URL MODEL QUESTION, such as Chat http://localhost:8080/v1/chat/completions tiny 'Why?'")
      exit(2)
    }
    do {
      let question = arguments.dropFirst(2).joined(separator: " ")
      try await ask(question, of: arguments[arguments.startIndex + 1], at: url)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  static func ask(_ question: String, of model: String, at url: String) async throws {
    let client = HTTPClient {
      // A model may think for a while before its first word.
      $0.timeout.idle = .seconds(300)
    }
    var options = ServerSentEvents.Options()
    if let key = ProcessInfo.processInfo.environment["CHAT_KEY"] { options.credential = .token(key) }
    let messages = [Message(role: "user", content: question)]
    let request = HTTPRequest.post(RequestTarget(url), body: .json(Question(model: model, messages: messages)))
    // A POST is not retried automatically, because each reply costs money.
    for try await event in client.serverSentEvents(request, options: options) {
      if event.data == "[DONE]" { break }
      let tokens = try event.json(Answer.self).choices.compactMap(\.delta.content).joined()
      FileHandle.standardOutput.write(Data(tokens.utf8))
    }
    FileHandle.standardOutput.write(Data("\n".utf8))
  }

  private static func complain(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
}
