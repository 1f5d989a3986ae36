// swift-tools-version: 6.3
import PackageDescription

// Small static programs: without the trait `URLSession`, neither Foundation nor FoundationNetworking is linked.
// For comparison, `WITH_URLSESSION=1 swift build` enables the trait.
let traits: Set<Package.Dependency.Trait> = Context.environment["WITH_URLSESSION"] == nil ? [] : [.defaults]

let package = Package(
  name: "Hello",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..", traits: traits)],
  targets: [
    .executableTarget(name: "hello", dependencies: [.product(name: "Martlet", package: "Martlet")]),
    // A function for a runtime that starts it on demand, and freezes it.
    .executableTarget(name: "function", dependencies: [.product(name: "Martlet", package: "Martlet")]),
  ])
