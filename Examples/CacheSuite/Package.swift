// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// A separate package, because it needs Node and a checkout of the suite.
let package = Package(
  name: "CacheSuite",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..")],
  targets: [
    .executableTarget(
      name: "CacheSuite",
      dependencies: [.product(name: "Martlet", package: "Martlet")],
      resources: [.copy("suite.mjs")],
      swiftSettings: settings)
  ]
)
