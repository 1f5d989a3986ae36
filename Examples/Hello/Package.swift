// swift-tools-version: 6.3
import PackageDescription

// A small static program: without the trait `URLSession`, neither Foundation nor FoundationNetworking is linked.
let package = Package(
  name: "Hello",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..", traits: [])],
  targets: [
    .executableTarget(name: "hello", dependencies: [.product(name: "Martlet", package: "Martlet")])
  ])
