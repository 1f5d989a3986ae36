// swift-tools-version: 6.3
import PackageDescription

// A function for a runtime that starts it on demand, without the trait `URLSession`, so that it starts fast.
let package = Package(
  name: "Function",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..", traits: [])],
  targets: [
    .executableTarget(name: "function", dependencies: [.product(name: "Martlet", package: "Martlet")])
  ])
