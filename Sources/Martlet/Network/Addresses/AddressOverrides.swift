import MartletBase

/// Static addresses of hosts, without a lookup (``TransportSettings/resolve``).
struct AddressOverrides: Sendable {
  private struct Key: Hashable {
    var host: String
    /// `nil` for all ports.
    var port: Int?
  }

  private var addresses: [Key: String] = [:]
  /// The first invalid entry.
  private(set) var problem: InvalidInput?

  init(_ entries: [String: [String]]) {
    for (name, texts) in entries.ordered(by: { $0.key < $1.key }) {
      do throws(InvalidInput) {
        addresses[try Self.key(name)] = try Self.list(texts, of: name)
      } catch {
        problem = problem ?? error
      }
    }
  }

  var isEmpty: Bool { addresses.isEmpty }

  /// The entry for `CURLOPT_RESOLVE`, or `nil` to look the name up.
  func entry(for host: String, port: Int) -> String? {
    guard let list = addresses[Key(host: host, port: port)] ?? addresses[Key(host: host)] else { return nil }
    return "\(host):\(port):\(list)"
  }

  private static func key(_ text: String) throws(InvalidInput) -> Key {
    do throws(InvalidInput) {
      let authority = try URLAuthority(keepingPortOf: Array(text.utf8)[...])
      guard authority.user == nil, IPAddress(authority.host) == nil else { throw InvalidInput("it is not a host name") }
      return Key(host: authority.host, port: authority.port)
    } catch {
      throw InvalidInput("resolve contains the key \"\(URLRedaction.printable(text))\": \(error.message)")
    }
  }

  private static func list(_ texts: [String], of name: String) throws(InvalidInput) -> String {
    guard !texts.isEmpty else {
      throw InvalidInput("resolve has no address for \"\(InvalidInput.printable(name))\"")
    }
    var list: [String] = []
    for text in texts {
      guard let address = IPAddress(text) else {
        throw InvalidInput(
          "resolve has \"\(InvalidInput.printable(text))\" for \"\(InvalidInput.printable(name))\": not an IP address")
      }
      list.append(address.bytes.count == 4 || text.hasPrefix("[") ? text : "[\(text)]")
    }
    return list.joined(separator: ",")
  }
}
