import MartletBase

#if canImport(UniformTypeIdentifiers)
  import UniformTypeIdentifiers
#endif

extension MediaType {
  /// The media type that files with an extension usually have, such as `image/png` for `png`.
  ///
  /// A table of some 130 extensions, the same on every platform; on Apple's platforms the system is asked for the others.
  /// Text has no `charset`, which an extension does not say.
  ///
  /// - Parameter fileExtension: The extension, with or without the dot, in any case.
  /// - Returns: The type, or `nil` if it is not known.
  public static func forFileExtension(_ fileExtension: String) -> MediaType? {
    let name = FieldSyntax.lowercased(fileExtension.hasPrefix(".") ? String(fileExtension.dropFirst()) : fileExtension)
    if let type = FileTypes.byExtension[name] { return MediaType(type) }
    #if canImport(UniformTypeIdentifiers)
      return UTType(filenameExtension: name)?.preferredMIMEType.flatMap { MediaType($0) }
    #else
      return nil
    #endif
  }

  /// The type of a file by its name, or `application/octet-stream`.
  static func forFilename(_ name: String) -> MediaType {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return .octetStream }
    return forFileExtension(String(name[name.index(after: dot)...])) ?? .octetStream
  }
}

/// What files with an extension are, by the registry of IANA where it knows them.
enum FileTypes {
  static let byExtension: [String: String] = {
    var result: [String: String] = [:]
    for line in table.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard let type = words.first else { continue }
      for name in words.dropFirst() { result[name] = type }
    }
    return result
  }()

  private static let table = """
    application/epub+zip epub
    application/geo+json geojson
    application/gzip gz tgz
    application/java-archive jar
    application/json json map
    application/jsonl jsonl ndjson
    application/ld+json jsonld
    application/manifest+json webmanifest
    application/msword doc dot
    application/mp4 mp4s
    application/octet-stream bin dmg exe img iso so
    application/ogg ogx
    application/pdf pdf
    application/pgp-signature asc sig
    application/pkcs10 p10 csr
    application/pkcs8 p8
    application/postscript ps eps ai
    application/rss+xml rss
    application/atom+xml atom
    application/rtf rtf
    application/sql sql
    application/toml toml
    application/vnd.android.package-archive apk
    application/vnd.apple.keynote key
    application/vnd.apple.numbers numbers
    application/vnd.apple.pages pages
    application/vnd.debian.binary-package deb
    application/vnd.ms-excel xls xlt
    application/vnd.ms-fontobject eot
    application/vnd.ms-powerpoint ppt pps
    application/vnd.oasis.opendocument.presentation odp
    application/vnd.oasis.opendocument.spreadsheet ods
    application/vnd.oasis.opendocument.text odt
    application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
    application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
    application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
    application/vnd.rar rar
    application/vnd.sqlite3 sqlite sqlite3
    application/wasm wasm
    application/x-7z-compressed 7z
    application/x-bzip2 bz2
    application/x-pem-file pem
    application/x-pkcs12 p12 pfx
    application/x-plist plist
    application/x-sh sh
    application/x-tar tar
    application/x-xz xz
    application/xhtml+xml xhtml
    application/xml xml xsd xsl
    application/yaml yaml yml
    application/zip zip
    application/zstd zst
    audio/aac aac
    audio/aiff aif aiff
    audio/amr amr
    audio/flac flac
    audio/midi mid midi
    audio/mp4 m4a
    audio/mpeg mp3
    audio/ogg oga ogg opus
    audio/wav wav
    audio/webm weba
    audio/x-caf caf
    font/collection ttc
    font/otf otf
    font/ttf ttf
    font/woff woff
    font/woff2 woff2
    image/apng apng
    image/avif avif
    image/bmp bmp
    image/gif gif
    image/heic heic
    image/heif heif
    image/jpeg jpg jpeg jpe
    image/jp2 jp2
    image/jxl jxl
    image/png png
    image/svg+xml svg
    image/tiff tif tiff
    image/vnd.adobe.photoshop psd
    image/vnd.microsoft.icon ico
    image/webp webp
    image/x-adobe-dng dng
    message/rfc822 eml
    model/gltf+json gltf
    model/gltf-binary glb
    model/stl stl
    model/vnd.usdz+zip usdz
    text/calendar ics
    text/css css
    text/csv csv
    text/html html htm
    text/javascript js mjs
    text/markdown md markdown
    text/plain txt log text conf ini
    text/tab-separated-values tsv
    text/vcard vcf
    text/vtt vtt
    video/3gpp 3gp
    video/3gpp2 3g2
    video/matroska mkv
    video/mp2t ts m2ts
    video/mp4 mp4 m4v
    video/mpeg mpeg mpg
    video/ogg ogv
    video/quicktime mov qt
    video/webm webm
    video/x-flv flv
    video/x-ms-wmv wmv
    video/x-msvideo avi
    """
}
