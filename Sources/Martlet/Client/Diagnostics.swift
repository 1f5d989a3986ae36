extension HTTPClient {
  /// The loader of this client, and its capabilities on this machine.
  ///
  /// On Linux this loads libcurl, unless a request has already done so. Nothing is sent.
  public nonisolated var diagnostics: Diagnostics {
    let transport = core.settings.transport
    var facts =
      (transport as? any DiagnosableTransport)?.diagnostics ?? Diagnostics(loader: .other("\(type(of: transport))"))
    facts.warnings += ProxyRouter(core.settings.configuration.proxy).warnings
    return facts
  }

  /// The loader of a client, and its capabilities on this machine.
  ///
  /// ```swift
  /// print(client.diagnostics)
  /// ```
  ///
  /// `martlet doctor` prints the diagnostics of a client with the default configuration.
  public struct Diagnostics: Sendable, Hashable, CustomStringConvertible {
    /// The loader.
    @nonexhaustive public enum Loader: Sendable, Hashable {
      /// Martlet's engine, on libcurl.
      case engine
      /// The system's `URLSession`, as it comes with Foundation.
      case system
      /// A custom transport, with the name of its type.
      case other(String)
    }

    /// The loader.
    public var loader: Loader

    /// Whether Martlet can use `URLSession`: always on Apple platforms, elsewhere with the package's trait `URLSession`.
    ///
    /// One package of a program that enables the trait enables it for all.
    public var hasURLSession: Bool {
      #if canImport(Darwin) || URLSession
        true
      #else
        false
      #endif
    }

    /// Why the engine cannot be used; `nil` if it can.
    public var engineProblem: String?

    /// The version of libcurl, such as `7.88.1`, or `nil` if it cannot be used.
    public var libcurl: String?

    /// The file that libcurl was loaded from.
    public var libcurlPath: String?

    /// The name and version of libcurl's TLS library, such as `OpenSSL/3.0.19`.
    public var tlsLibrary: String?

    /// The HTTP versions that the engine supports.
    public var httpVersions: [String] = []

    /// The schemes for connection-based authentication that the engine supports, of
    /// ``AuthenticationScheme/ntlm`` and ``AuthenticationScheme/negotiate``.
    public var handshakes: [AuthenticationScheme] = []

    /// The content codings that are decoded, in the order in which `Accept-Encoding` lists them.
    public var contentCodings: [String] = []

    /// The file or folder with the system's root certificates; `nil` if there is none.
    public var roots: String?

    /// The maximum number of open file descriptors, counted up to 65,536.
    public var descriptorLimit: Int?

    /// Known weaknesses of this libcurl and how Martlet guards against them, and settings without effect.
    public var warnings: [String] = []

    /// One line for each property.
    public var description: String {
      let name =
        switch loader {
        case .engine where engineProblem != nil: "none"
        case .engine: "Martlet's engine on libcurl"
        case .system: "the system's URLSession"
        case .other(let name): "\(name), a custom transport"
        }
      var lines = ["loader: \(name)"]
      if let engineProblem { lines.append("engine: not used: \(engineProblem)") }
      if let libcurl { lines.append("libcurl: \(libcurl)" + (libcurlPath.map { ", \($0)" } ?? "")) }
      if let tlsLibrary { lines.append("TLS: \(tlsLibrary)") }
      if libcurl != nil {
        lines.append("root certificates: \(roots ?? "none found: TLS requires custom roots")")
        lines.append("HTTP: \(httpVersions.joined(separator: ", "))")
        lines.append("handshakes: \(handshakes.isEmpty ? "none" : handshakes.map(\.rawValue).joined(separator: ", "))")
        lines.append("content codings: \(contentCodings.isEmpty ? "none" : contentCodings.joined(separator: ", "))")
      }
      if let descriptorLimit { lines.append("open files and sockets: at most \(descriptorLimit)") }
      lines.append("URLSession: \(hasURLSession ? "usable" : "not usable, because the trait is off")")
      lines += warnings.map { "note: \($0)" }
      return lines.joined(separator: "\n")
    }
  }
}

/// A transport that reports its loader and capabilities.
package protocol DiagnosableTransport: Transport {
  var diagnostics: HTTPClient.Diagnostics { get }
}
