// swift-tools-version: 6.3
import PackageDescription

// In Martlet's own checks, warnings are errors.
let isStrict = Context.environment["MARTLET_STRICT"] != nil

let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ] + (isStrict ? [.treatAllWarnings(as: .error)] : [])

// The engine compiles on all platforms, but only programs for Linux contain it.
let withEngine: [Target.Dependency] = [.target(name: "CurlEngine", condition: .when(platforms: [.linux]))]

// Programs written from the articles alone, built with the default settings of a package.
let programs = [
  "BigUpload", "Blocks", "ChatStream", "FetchTool", "FiftyDownloads", "Gateway", "GitHubPages", "GraphQL",
  "OAuthClient",
  "RecordedTests", "S3List", "SearchAsYouType",
]
let firstHour: [Target] =
  programs.map { .executableTarget(name: $0, dependencies: ["Martlet"], path: "Examples/FirstHour/\($0)") }
  + ["RecordedTests", "SearchAsYouType"].map {
    .testTarget(
      name: "\($0)Tests", dependencies: [.target(name: $0), "Martlet", "MartletTesting"],
      path: "Examples/FirstHour/\($0)Tests")
  }

let package = Package(
  name: "Martlet",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Martlet", targets: ["Martlet"]),
    .library(name: "MartletHAR", targets: ["MartletHAR"]),
    .library(name: "MartletOAuth", targets: ["MartletOAuth"]),
    .library(name: "MartletOutbox", targets: ["MartletOutbox"]),
    .library(name: "MartletTesting", targets: ["MartletTesting"]),
    .library(name: "MartletSigV4", targets: ["MartletSigV4"]),
    .library(name: "MartletWebSocket", targets: ["MartletWebSocket"]),
    .library(name: "MartletTestTraits", targets: ["MartletTestTraits"]),
    .executable(name: "martlet", targets: ["MartletTool"]),
  ],
  traits: [
    .default(enabledTraits: ["URLSession"]),
    .trait(
      name: "URLSession",
      description: "URLSession on Linux, with Foundation and FoundationNetworking. Apple platforms always have it."),
  ],
  targets: [
    .target(name: "CMartletShim", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    // Shared by the engine and the library.
    .target(name: "MartletBase", dependencies: ["CMartletShim"], swiftSettings: settings),
    .target(name: "CurlEngine", dependencies: ["CMartletShim", "MartletBase"], swiftSettings: settings),
    .target(
      name: "Martlet", dependencies: ["CMartletShim", "MartletBase"] + withEngine,
      exclude: ["Cookies/PublicSuffix"], swiftSettings: settings),
    // Separate products: only programs that import them contain them. They use only the public API of `Martlet`.
    .target(
      name: "MartletHAR", dependencies: ["Martlet", "MartletBase"], packageAccess: false, swiftSettings: settings),
    .target(
      name: "MartletOutbox", dependencies: ["Martlet", "MartletBase"], packageAccess: false, swiftSettings: settings),
    // It uses the URL parser and SHA-256 of `Martlet`, and libcrypto through the shim.
    .target(
      name: "MartletOAuth", dependencies: ["CMartletShim", "Martlet", "MartletBase"], swiftSettings: settings),
    // Signatures use the hashes and the encodings of `Martlet`.
    .target(name: "MartletSigV4", dependencies: ["Martlet", "MartletBase"], swiftSettings: settings),
    // Of `Martlet`, it uses only the public API. Its own protocol types are for the test doubles.
    .target(
      name: "MartletWebSocket", dependencies: ["CMartletShim", "Martlet", "MartletBase"], swiftSettings: settings),
    .target(
      name: "MartletTesting", dependencies: ["Martlet", "MartletBase", "MartletHAR", "MartletWebSocket"],
      swiftSettings: settings),
    // A separate product, because it needs Swift Testing, which programs with a `MockServer` need not load.
    .target(name: "MartletTestTraits", dependencies: ["Martlet", "MartletTesting"], swiftSettings: settings),
    // Not named `martlet`: on a file system that ignores case, its build folder would be the library's.
    .executableTarget(
      name: "MartletTool",
      dependencies: ["Martlet", "MartletBase", "MartletHAR", "MartletTesting", "MartletWebSocket"] + withEngine,
      path: "Examples/martlet",
      swiftSettings: settings),
    .target(name: "RedisStore", dependencies: ["Martlet"], path: "Examples/RedisStore", swiftSettings: settings),
    .executableTarget(name: "Chat", dependencies: ["Martlet"], path: "Examples/Chat", swiftSettings: settings),
    .executableTarget(
      name: "ChatRoom", dependencies: ["Martlet", "MartletWebSocket"], path: "Examples/ChatRoom",
      swiftSettings: settings
    ),
    .executableTarget(name: "SavePage", dependencies: ["Martlet"], path: "Examples/SavePage", swiftSettings: settings),
    .executableTarget(
      name: "S3", dependencies: ["Martlet", "MartletSigV4"], path: "Examples/S3", swiftSettings: settings),
    .executableTarget(
      name: "Overload", dependencies: ["Martlet", "MartletTesting"], path: "Examples/Overload", swiftSettings: settings),
    .executableTarget(
      name: "Courier", dependencies: ["Martlet", "MartletOutbox"], path: "Examples/Courier", swiftSettings: settings),
    .executableTarget(name: "KeepCopy", dependencies: ["Martlet"], path: "Examples/KeepCopy", swiftSettings: settings),
    // A test runs this program to count allocations. No test links it, because it replaces the allocator.
    .target(name: "AllocationCounter", path: "Tests/Allocations/Counter"),
    .executableTarget(
      name: "AllocationProbe", dependencies: ["AllocationCounter", "Martlet", "MartletWebSocket"],
      path: "Tests/Allocations/Probe", swiftSettings: settings),
    // Shared by unit and integration tests.
    .target(name: "CTestSupport", path: "Tests/CSupport"),
    .target(
      name: "TestSupport", dependencies: ["CTestSupport", "Martlet", "MartletBase", "MartletWebSocket"],
      path: "Tests/Support", swiftSettings: settings),
    .testTarget(
      name: "MartletTests",
      dependencies: [
        "CMartletShim", "Martlet", "MartletBase", "MartletHAR", "MartletOAuth", "MartletOutbox", "MartletSigV4",
        "MartletTesting", "MartletTestTraits", "MartletWebSocket", "TestSupport",
      ] + withEngine,
      // The tests read these files from the source folder.
      exclude: ["MartletTesting/Cassettes"],
      swiftSettings: settings),
    // The default settings of a package, with the language mode of its tools version.
    .testTarget(
      name: "MartletSampleTests",
      dependencies: [
        "Martlet", "MartletHAR", "MartletOAuth", "MartletOutbox", "MartletSigV4", "MartletTesting", "MartletTestTraits",
        "MartletWebSocket", "RedisStore", "TestSupport",
      ],
      exclude: ["Cassettes"], swiftSettings: isStrict ? [.treatAllWarnings(as: .error)] : []),
    // The same samples in a package whose default isolation is the main actor.
    .testTarget(
      name: "MainActorSampleTests",
      dependencies: [
        "Martlet", "MartletHAR", "MartletOAuth", "MartletOutbox", "MartletSigV4", "MartletTesting", "MartletTestTraits",
        "MartletWebSocket", "RedisStore", "TestSupport",
      ],
      path: "Tests/MainActorSampleTests", exclude: ["Samples/Cassettes"],
      swiftSettings: [.defaultIsolation(MainActor.self)] + (isStrict ? [.treatAllWarnings(as: .error)] : [])),
    .testTarget(
      name: "MartletIntegrationTests",
      dependencies: [
        "CMartletShim", "Martlet", "MartletBase", "MartletHAR", "MartletOAuth", "MartletOutbox", "MartletSigV4",
        "MartletTesting", "MartletTool", "MartletWebSocket", "RedisStore", "Chat", "ChatRoom", "SavePage", "S3",
        "Courier", "KeepCopy", "TestSupport",
      ] + withEngine,
      // Servers for the tests.
      exclude: ["Auth/aws.py", "Auth/oauth.py", "WebSocket/conformance.py"],
      swiftSettings: settings),
  ] + firstHour
)

// The thread sanitizer needs a separate build, which takes half as long with the tests of one target.
if let only = Context.environment["MARTLET_TESTS"] {
  package.targets.removeAll { $0.type == .test && $0.name != only }
}
