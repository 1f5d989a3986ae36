/// The options of the command line.
struct Options {
  static let help = """
    usage: CacheSuite CHECKOUT [options]

    Runs the tests of a checkout of http-tests/cache-tests that browsers run, with Martlet as the browser.

      --url URL         a server of the suite that runs already; by default one is started
      --only ID         runs the test or the suite of that name alone; may be repeated
      --all             also the tests that browsers leave out, except those for CDNs
      --parallel N      tests at a time, 25 by default
      --transport NAME  urlsession or curl; the client's default otherwise
      --client-per-test a client with a cache of its own for each test; by default one has them all
      --results FILE    counts results that were written before, and runs nothing
      --json FILE       writes the counts and results
      --verbose         prints every request and response
    """

  var checkout = ""
  var url: String?
  var only: [String] = []
  var isForAll = false
  var parallel = 25
  var transport: String?
  var hasClientPerTest = false
  var results: String?
  var json: String?
  var isVerbose = false
  var wantsHelp = false

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    func value(of name: String) throws -> String {
      guard let value = rest.popFirst() else { throw Complaint("\(name) needs a value") }
      return value
    }
    while let name = rest.popFirst() {
      switch name {
      case "--help", "-h": wantsHelp = true
      case "--url":
        let text = try value(of: name)
        url = text.hasSuffix("/") ? String(text.dropLast()) : text
      case "--only": only.append(try value(of: name))
      case "--all": isForAll = true
      case "--parallel":
        guard let number = Int(try value(of: name)), (1...1000).contains(number) else {
          throw Complaint("\(name) needs a number from 1 to 1000")
        }
        parallel = number
      case "--transport":
        let text = try value(of: name)
        guard ["urlsession", "curl"].contains(text) else { throw Complaint("--transport: there is no \(text)") }
        transport = text
      case "--client-per-test": hasClientPerTest = true
      case "--results": results = try value(of: name)
      case "--json": json = try value(of: name)
      case "--verbose": isVerbose = true
      default:
        guard !name.hasPrefix("-"), checkout.isEmpty else { throw Complaint("\(name) is unknown\n\n\(Self.help)") }
        checkout = name
      }
    }
    if checkout.isEmpty, !wantsHelp { throw Complaint("a checkout is missing\n\n\(Self.help)") }
  }

  /// Returns the selected tests.
  func selection(of suites: [Suite]) -> [Suite] {
    suites.compactMap { suite in
      var suite = suite
      suite.tests.removeAll { test in
        let isWanted = only.isEmpty || only.contains(test.id) || only.contains(suite.id)
        return !isWanted || !(test.isForBrowsers || isForAll && !test.isForCDNs)
      }
      return suite.tests.isEmpty ? nil : suite
    }
  }
}

/// The error that the program prints before it exits.
struct Complaint: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
