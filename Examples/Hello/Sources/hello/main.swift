import Martlet

guard CommandLine.arguments.count == 2 else { fatalError("usage: hello URL") }
let response = try await HTTPClient().get("\(raw: CommandLine.arguments[1])")
print(response.text)
