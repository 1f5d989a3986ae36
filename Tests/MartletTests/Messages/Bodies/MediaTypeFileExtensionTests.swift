import Testing

@testable import Martlet

@Suite struct MediaTypeFileExtensionTests {
  @Test(
    arguments: [
      ("html", "text/html"), ("HTML", "text/html"), (".pdf", "application/pdf"), ("Jpg", "image/jpeg"),
      ("jpeg", "image/jpeg"), ("json", "application/json"), ("txt", "text/plain"), ("gz", "application/gzip"),
      ("mp4", "video/mp4"), ("mp3", "audio/mpeg"), ("svg", "image/svg+xml"), ("woff2", "font/woff2"),
      ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"), ("heic", "image/heic"),
      ("bin", "application/octet-stream"), ("zip", "application/zip"), ("js", "text/javascript"),
    ] as [(String, String)])
  func `maps file extensions to media types`(name: String, type: String) {
    #expect(MediaType.forFileExtension(name)?.description == type)
  }

  @Test(arguments: ["", ".", "no-such-extension", "html ", "..html"])
  func `returns nil for unknown extensions`(name: String) {
    #expect(MediaType.forFileExtension(name) == nil)
  }

  @Test(
    arguments: [
      ("a.tar.gz", "application/gzip"), ("a", "application/octet-stream"), (".png", "application/octet-stream"),
      ("", "application/octet-stream"), ("a.", "application/octet-stream"), ("a.PNG", "image/png"),
      ("日本.png", "image/png"), ("a.pnğ", "application/octet-stream"),
    ] as [(String, String)])
  func `uses the last extension of a filename`(name: String, type: String) {
    #expect(MediaType.forFilename(name).description == type)
  }

  @Test func `maps at least 120 extensions, each to a valid media type`() {
    let table = FileTypes.byExtension

    #expect(120...200 ~= table.count)
    for (name, type) in table {
      #expect(MediaType(type)?.description == type, "\(name)")
      #expect(name == name.lowercased() && !name.isEmpty)
    }
  }
}
