import Testing

@testable import Martlet

@Suite struct AddressPolicyTests {
  struct Case: Sendable, CustomStringConvertible {
    let text: String
    let use: AddressUse?

    var description: String { "\(text): \(use?.rawValue ?? "public")" }

    init(_ text: String, _ use: AddressUse?) {
      self.text = text
      self.use = use
    }
  }

  static let four = [
    Case("0.0.0.0", .unspecified), Case("0.255.255.255", .unspecified), Case("1.0.0.0", nil), Case("1.1.1.1", nil),
    Case("8.8.8.8", nil), Case("9.255.255.255", nil), Case("10.0.0.0", .private), Case("10.255.255.255", .private),
    Case("11.0.0.0", nil), Case("100.63.255.255", nil), Case("100.64.0.0", .shared), Case("100.127.255.255", .shared),
    Case("100.128.0.0", nil), Case("100.100.100.200", .metadata), Case("126.255.255.255", nil),
    Case("127.0.0.0", .loopback), Case("127.0.0.1", .loopback), Case("127.255.255.255", .loopback),
    Case("128.0.0.0", nil), Case("168.63.129.16", .metadata), Case("168.63.129.17", nil), Case("169.253.255.255", nil),
    Case("169.254.0.0", .linkLocal), Case("169.254.169.254", .metadata), Case("169.254.170.2", .metadata),
    Case("169.254.255.255", .linkLocal), Case("169.255.0.0", nil), Case("172.15.255.255", nil),
    Case("172.16.0.0", .private), Case("172.31.255.255", .private), Case("172.32.0.0", nil),
    Case("191.255.255.255", nil), Case("192.0.0.0", .reserved), Case("192.0.0.192", .metadata), Case("192.0.1.0", nil),
    Case("192.0.2.1", .documentation), Case("192.0.3.0", nil), Case("192.88.99.1", .reserved),
    Case("192.167.255.255", nil), Case("192.168.0.1", .private), Case("192.168.255.255", .private),
    Case("192.169.0.0", nil), Case("198.17.255.255", nil), Case("198.18.0.0", .benchmark),
    Case("198.19.255.255", .benchmark), Case("198.20.0.0", nil), Case("198.51.100.7", .documentation),
    Case("203.0.113.7", .documentation), Case("203.0.114.0", nil), Case("223.255.255.255", nil),
    Case("224.0.0.1", .multicast), Case("233.252.0.1", .documentation), Case("239.255.255.255", .multicast),
    Case("240.0.0.0", .reserved), Case("255.255.255.254", .reserved), Case("255.255.255.255", .broadcast),
  ]

  static let six = [
    Case("::", .unspecified), Case("::1", .loopback), Case("[::1]", .loopback), Case("0:0:0:0:0:0:0:1", .loopback),
    Case("::2", .unspecified), Case("::127.0.0.1", .loopback), Case("::10.0.0.1", .private),
    Case("::8.8.8.8", .reserved), Case("::ffff:127.0.0.1", .loopback), Case("::ffff:7f00:1", .loopback),
    Case("::FFFF:169.254.169.254", .metadata), Case("::ffff:10.1.2.3", .private), Case("::ffff:0.0.0.0", .unspecified),
    Case("::ffff:8.8.8.8", nil), Case("::ffff:0:127.0.0.1", .reserved), Case("64:ff9b::127.0.0.1", .loopback),
    Case("64:ff9b::a9fe:a9fe", .metadata), Case("64:ff9b::192.168.1.1", .private), Case("64:ff9b::8.8.8.8", nil),
    Case("64:ff9b:1::8.8.8.8", .private), Case("64:ff9b:2::1", .reserved), Case("2002:7f00:1::", .loopback),
    Case("2002:0a00:0001::1", .private), Case("2002:a9fe:a9fe::", .metadata), Case("2002:808:808::1", nil),
    // The Teredo clients 127.0.0.1, 192.168.1.1 and 8.8.8.8, then 8.8.8.8 through a private server.
    Case("2001:0:808:808::80ff:fffe", .loopback), Case("2001:0:808:808::3f57:fefe", .private),
    Case("2001:0:808:808::f7f7:f7f7", nil), Case("2001:0:a00:1::f7f7:f7f7", .private),
    Case("100::1", .reserved), Case("100:0:0:1::", .reserved), Case("1fff:ffff::", .reserved), Case("2000::", nil),
    Case("2001:1::1", .reserved), Case("2001:2::1", .benchmark), Case("2001:10::1", .reserved),
    Case("2001:1ff:ffff::", .reserved), Case("2001:200::1", nil), Case("2001:db8::1", .documentation),
    Case("2001:db9::1", nil), Case("2001:4860:4860::8888", nil), Case("2606:4700:4700::1111", nil),
    Case("3ffe::1", nil), Case("3fff::1", .documentation), Case("3fff:1000::1", nil), Case("4000::", .reserved),
    Case("5f00::1", .reserved), Case("fbff::", .reserved), Case("fc00::", .private), Case("fd12:3456::1", .private),
    Case("fd00:ec2::254", .metadata), Case("fd20:ce::254", .metadata), Case("fe00::", .reserved),
    Case("fe80::1", .linkLocal), Case("febf:ffff::1", .linkLocal), Case("fec0::1", .private),
    Case("ff02::1", .multicast),
    Case("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .multicast),
  ]

  @Test(arguments: four + six) func `classifies addresses by their use`(_ line: Case) throws {
    let address = try #require(IPAddress(line.text))

    #expect(AddressPolicy(except: []).refusal(of: address) == line.use)
  }

  @Test func `classifies each network of its list`() {
    for line in AddressUse.lines {
      let network = IPNetwork(line.text)
      #expect(network != nil, "\(line.text)")
      #expect(network.flatMap { AddressUse(of: $0.address) } != nil, "\(line.text)")
    }
    #expect(Self.four.count + Self.six.count > 100)
  }

  @Test func `classifies IPv4-mapped, NAT64 and 6to4 addresses like their IPv4 address`() throws {
    for line in Self.four {
      let bytes = try #require(IPAddress(line.text)).bytes
      let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes
      let translated = [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8) + bytes
      let tunnelled = [0x20, 0x02] + bytes + [UInt8](repeating: 1, count: 10)
      for form in [mapped, translated, tunnelled] {
        #expect(AddressUse(of: IPAddress(bytes: form)) == line.use, "\(IPAddress(bytes: form).text)")
      }
    }
  }

  @Test func `allows only the special addresses among its exceptions`() throws {
    let policy = AddressPolicy(except: ["127.0.0.1", " 10.1.0.0/16", "[::1]", "fd00::/8"])
    func passes(_ text: String) throws -> Bool { policy.refusal(of: try #require(IPAddress(text))) == nil }

    #expect(policy.problem == nil)
    for text in ["127.0.0.1", "10.1.2.3", "::1", "fd12::1", "::ffff:127.0.0.1", "8.8.8.8"] {
      #expect(try passes(text), "\(text)")
    }
    for text in ["127.0.0.2", "10.2.0.1", "::", "fc00::1", "::ffff:127.0.0.2", "2002:7f00:1::"] {
      #expect(try !passes(text), "\(text)")
    }
  }

  @Test(arguments: ["", "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "1.2.3", "*"])
  func `the error names the malformed exception`(_ text: String) {
    let policy = AddressPolicy(except: ["::1", text])

    #expect(policy.problem?.message.contains("publicAddressesOnly lists the exception \"\(text)\"") == true)
  }

  @Test(arguments: [
    ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
    ("2001:0DB8::A", "2001:db8::a"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"),
    ("::ffff:127.0.0.1", "::ffff:7f00:1"), ("127.0.0.1", "127.0.0.1"), ("1:0:0:4:0:0:0:8", "1:0:0:4::8"),
  ])
  func `formats an address in its shortest form`(_ text: String, _ shown: String) throws {
    let address = try #require(IPAddress(text))

    #expect(address.text == shown)
    #expect(IPAddress(shown) == address)
  }
}
