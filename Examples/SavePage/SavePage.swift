import Foundation
import Martlet

/// Saves a page with its pictures, stylesheets and scripts for reading offline: `SavePage URL FOLDER`.
///
/// There is no HTML parser here. Regular expressions find the references: they work for most pages, fail for some, such
/// as pages with a `<base>`, and miss everything that a script would load. A page from `https` loads nothing from
/// `http`.
@main
struct SavePage {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count == 2, let url = URL(string: arguments[0]), url.host() != nil else {
      return end(2, "usage: SavePage URL FOLDER")
    }
    let folder = URL(filePath: arguments[1], directoryHint: .isDirectory)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      guard try FileManager.default.contentsOfDirectory(atPath: arguments[1]).isEmpty else {
        return end(2, "\(arguments[1]) is not empty")
      }
      let (saved, missing) = try await save(url, in: folder)
      print("saved \(saved) \(saved == 1 ? "file" : "files") in \(arguments[1])")
      for line in missing { print("missing: \(line)") }
    } catch {
      end(1, "\(error)")
    }
  }

  /// Downloads a page and everything it refers to, directly or through stylesheets; then changes the references.
  static func save(_ page: URL, in folder: URL) async throws -> (saved: Int, missing: [String]) {
    let client = HTTPClient()
    var options = DownloadOptions()
    options.resume = .never  // A file is complete or missing, never a part of another file.
    let index = folder.appending(path: "index.html")
    var texts = [try Text(await client.download(.get(RequestTarget(page)), to: index, options: options), isPage: true)]
    let queue = RequestQueue(client: client, limits: .concurrent(4, perHost: 4))
    async let shown: Void = show(queue.progress)
    var names = [page: index.lastPathComponent]
    var missing: [String] = []
    var downloads: [(url: URL, handle: RequestHandle<DownloadedFile>)] = []
    func add(_ references: [Text.Reference]) {
      for url in references.map(\.url) where url != page && !downloads.contains(where: { $0.url == url }) {
        // In a folder, the server names the file. The library sanitizes the name and adds a number if it is taken.
        downloads.append((url, queue.download(.get(RequestTarget(url)), to: folder, options: options)))
      }
    }
    add(texts[0].references)
    var next = 0
    while next < downloads.count {
      let (url, handle) = downloads[next]
      next += 1
      do {
        let file = try await handle.value
        names[url] = file.url.lastPathComponent
        guard file.response.contentType?.essence == "text/css" else { continue }
        let text = try Text(file, isPage: false)
        texts.append(text)
        add(text.references)
      } catch {
        let status = (error as? HTTPError)?.response?.status
        missing.append("\(url.absoluteString): " + (status.map { "\($0)" } ?? "\(error)"))
      }
    }
    await queue.finish()
    await shown
    for text in texts { try text.write(names) }
    return (names.count, missing)
  }

  private static func show(_ progress: AsyncStream<RequestQueue.Progress>) async {
    for await now in progress {
      let line = "\r\(Int(now.fraction * 100)) %  \(now.summary.ended) of \(now.summary.added)"
      FileHandle.standardError.write(Data(line.utf8))
    }
    FileHandle.standardError.write(Data("\n".utf8))
  }

  private static func end(_ status: Int32, _ message: String) {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(status)
  }
}

/// A saved page or stylesheet with its references.
struct Text {
  struct Reference {
    var range: Range<String.Index>
    var url: URL
    var fragment: String?
  }

  /// The characters that mean the same in HTML and CSS, with or without quotes.
  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")

  let file: URL
  let text: String
  let references: [Reference]

  init(_ download: DownloadedFile, isPage: Bool) throws {
    // In Latin-1, every byte is a character, so unchanged text keeps its bytes in any encoding.
    let text = String(data: try Data(contentsOf: download.url), encoding: .isoLatin1) ?? ""
    let found = (isPage ? Self.inTags(text) : []) + Self.inStyles(text)
    var references: [Reference] = []
    for found in found.sorted(by: { $0.startIndex < $1.startIndex }) {
      guard references.last.map({ $0.range.upperBound <= found.startIndex }) ?? true else { continue }
      guard let reference = Self.resolve(found, at: download.response.url) else { continue }
      references.append(reference)
    }
    (file, self.text, self.references) = (download.url, text, references)
  }

  /// Writes the text with the references to saved files replaced by the files' names.
  func write(_ names: [URL: String]) throws {
    var result = ""
    var end = text.startIndex
    for reference in references {
      guard let name = names[reference.url]?.addingPercentEncoding(withAllowedCharacters: Self.plain) else { continue }
      result += text[end..<reference.range.lowerBound] + name + (reference.fragment.map { "#\($0)" } ?? "")
      end = reference.range.upperBound
    }
    result += text[end...]
    try result.data(using: .isoLatin1)?.write(to: file)
  }

  /// Returns the references to pictures, scripts and stylesheets in a page.
  private static func inTags(_ text: String) -> [Substring] {
    let tag = /<(?:img|script|link)\s(?:"[^"]*"|'[^']*'|[^'">])*>/.ignoresCase()
    let stylesheet = /\srel\s*=\s*["']?[^"'>]*stylesheet/.ignoresCase()
    let attribute = /\s(?:src|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/.ignoresCase()
    return text.matches(of: tag).compactMap { match in
      let tag = text[match.range]
      if tag.prefix(5).lowercased() == "<link", tag.firstMatch(of: stylesheet) == nil { return nil }
      return tag.firstMatch(of: attribute).flatMap { $0.1 ?? $0.2 ?? $0.3 }
    }
  }

  /// Returns the references in CSS: in a file, a tag or an attribute.
  private static func inStyles(_ text: String) -> [Substring] {
    let reference = /(?:(?:@import\s+)?url\(\s*|@import\s+)(?:"([^"]*)"|'([^']*)'|([^"'()\s;]+))/.ignoresCase()
    return text.matches(of: reference).compactMap { $0.1 ?? $0.2 ?? $0.3 }
  }

  private static func resolve(_ found: Substring, at base: URL) -> Reference? {
    let bytes = found.data(using: .isoLatin1) ?? Data()
    let text = String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: "&amp;", with: "&")
      .trimmingCharacters(in: .whitespacesAndNewlines)
    guard !text.isEmpty, !text.hasPrefix("#"), let url = URL(string: text, relativeTo: base),
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
      parts.scheme == "https" || parts.scheme == "http" && base.scheme == "http"
    else { return nil }
    let fragment = parts.percentEncodedFragment
    parts.fragment = nil
    return parts.url.map { Reference(range: found.startIndex..<found.endIndex, url: $0, fragment: fragment) }
  }
}
