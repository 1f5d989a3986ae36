// swift-tools-version: 6.3
import PackageDescription

// A function for a runtime that starts it on demand. Without the trait `URLSession`, it starts faster.
let package = Package(
  name: "Function",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..", traits: [])],
  targets: [
    .executableTarget(name: "function", dependencies: [.product(name: "Martlet", package: "Martlet")])
  ])
