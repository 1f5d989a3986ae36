/// The options of the command line.
struct Options {
  static let help = """
    usage: benchmarks [--rounds N] [--workloads a,b] [--clients a,b] [--json FILE] [--markdown FILE]

    Runs every client on every workload, interleaved, each time in a process of its own, and prints medians.

      --rounds N       rounds, 5 by default
      --workloads a,b  \(Workload.allCases.map(\.rawValue).joined(separator: " "))
      --clients a,b    \(Client.allCases.map(\.rawValue).joined(separator: " "))
      --json FILE      writes the medians as JSON
      --markdown FILE  writes the tables as Markdown
    """

  var rounds = 5
  var workloads = Workload.allCases
  var clients = Client.allCases
  var json: String?
  var markdown: String?
  var wantsHelp = false

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      if name == "--help" || name == "-h" {
        wantsHelp = true
        return
      }
      guard ["--rounds", "--workloads", "--clients", "--json", "--markdown"].contains(name) else {
        throw Complaint("\(name) is unknown\n\n\(Self.help)")
      }
      guard let value = rest.popFirst() else { throw Complaint("\(name) needs a value") }
      switch name {
      case "--rounds":
        guard let number = Int(value), (1...1000).contains(number) else {
          throw Complaint("--rounds: \(value) is not a number from 1 to 1000")
        }
        rounds = number
      case "--workloads": workloads = try Self.list(value, of: name)
      case "--clients": clients = try Self.list(value, of: name)
      case "--json": json = value
      default: markdown = value
      }
    }
  }

  private static func list<Item: RawRepresentable<String>>(_ text: String, of name: String) throws -> [Item] {
    try text.split(separator: ",").map { part in
      guard let item = Item(rawValue: String(part)) else { throw Complaint("\(name): there is no \(part)") }
      return item
    }
  }
}
