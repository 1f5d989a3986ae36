// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "Hello",
  platforms: [.macOS(.v15)],
  dependencies: [.package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0")],
  targets: [
    .executableTarget(
      name: "hello", dependencies: [.product(name: "AsyncHTTPClient", package: "async-http-client")])
  ])
