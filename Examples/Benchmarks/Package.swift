// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// A separate package, so packages that depend on Martlet do not fetch its peers.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Martlet", path: "../.."),
    .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
    // For the types in AsyncHTTPClient's interface.
    .package(url: "https://github.com/apple/swift-nio", from: "2.81.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
  ],
  targets: [
    .target(
      name: "CCurlLoop",
      linkerSettings: [.linkedLibrary("z"), .linkedLibrary("dl", .when(platforms: [.linux]))]),
    // Compares JSON decoding times; needs no server.
    .executableTarget(
      name: "json", dependencies: [.product(name: "Martlet", package: "Martlet")], swiftSettings: settings),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "CCurlLoop",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletWebSocket", package: "Martlet"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: settings),
  ]
)
