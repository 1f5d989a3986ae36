import MartletBase

#if canImport(UniformTypeIdentifiers)
  import UniformTypeIdentifiers
#endif

extension MediaType {
  /// The usual media type for a file extension, such as `image/png` for `png`.
  ///
  /// A table of some 130 extensions is the same on every platform; Apple platforms look up other extensions in the
  /// system. Text types have no `charset`, because an extension does not determine it.
  ///
  /// - Parameter fileExtension: The extension, with or without the dot, in any case.
  /// - Returns: The type, or `nil` if it is unknown.
  public static func forFileExtension(_ fileExtension: String) -> MediaType? {
    let name = FieldSyntax.lowercased(fileExtension.hasPrefix(".") ? String(fileExtension.dropFirst()) : fileExtension)
    if let type = FileTypes.byExtension[name] { return MediaType(type) }
    #if canImport(UniformTypeIdentifiers)
      return UTType(filenameExtension: name)?.preferredMIMEType.flatMap { MediaType($0) }
    #else
      return nil
    #endif
  }

  /// The media type for a file name, or `application/octet-stream`.
  static func forFilename(_ name: String) -> MediaType {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return .octetStream }
    return forFileExtension(String(name[name.index(after: dot)...])) ?? .octetStream
  }
}

/// Media types by file extension, as registered with IANA where it lists them.
enum FileTypes {
  static let byExtension: [String: String] = {
    var result: [String: String] = [:]
    var group: Substring = ""
    for word in table.split(whereSeparator: \.isWhitespace) {
      let parts = word.split(separator: "=")
      guard parts.count == 2 else {
        group = word
        continue
      }
      for name in parts[1].split(separator: ",") { result[String(name)] = "\(group)/\(parts[0])" }
    }
    return result
  }()

  /// Top-level types, each with its `subtype=extension,extension`.
  private static let table = """
    application epub+zip=epub geo+json=geojson gzip=gz,tgz java-archive=jar json=json,map jsonl=jsonl,ndjson
      ld+json=jsonld manifest+json=webmanifest msword=doc,dot mp4=mp4s octet-stream=bin,dmg,exe,img,iso,so ogg=ogx
      pdf=pdf pgp-signature=asc,sig pkcs10=p10,csr pkcs8=p8 postscript=ps,eps,ai rss+xml=rss atom+xml=atom rtf=rtf
      sql=sql toml=toml vnd.android.package-archive=apk vnd.apple.keynote=key vnd.apple.numbers=numbers
      vnd.apple.pages=pages vnd.debian.binary-package=deb vnd.ms-excel=xls,xlt vnd.ms-fontobject=eot
      vnd.ms-powerpoint=ppt,pps vnd.oasis.opendocument.presentation=odp vnd.oasis.opendocument.spreadsheet=ods
      vnd.oasis.opendocument.text=odt vnd.openxmlformats-officedocument.presentationml.presentation=pptx
      vnd.openxmlformats-officedocument.spreadsheetml.sheet=xlsx
      vnd.openxmlformats-officedocument.wordprocessingml.document=docx vnd.rar=rar vnd.sqlite3=sqlite,sqlite3 wasm=wasm
      x-7z-compressed=7z x-bzip2=bz2 x-pem-file=pem x-pkcs12=p12,pfx x-plist=plist x-sh=sh x-tar=tar x-xz=xz
      xhtml+xml=xhtml xml=xml,xsd,xsl yaml=yaml,yml zip=zip zstd=zst
    audio aac=aac aiff=aif,aiff amr=amr flac=flac midi=mid,midi mp4=m4a mpeg=mp3 ogg=oga,ogg,opus wav=wav webm=weba
      x-caf=caf
    font collection=ttc otf=otf ttf=ttf woff=woff woff2=woff2
    image apng=apng avif=avif bmp=bmp gif=gif heic=heic heif=heif jpeg=jpg,jpeg,jpe jp2=jp2 jxl=jxl png=png svg+xml=svg
      tiff=tif,tiff vnd.adobe.photoshop=psd vnd.microsoft.icon=ico webp=webp x-adobe-dng=dng
    message rfc822=eml
    model gltf+json=gltf gltf-binary=glb stl=stl vnd.usdz+zip=usdz
    text calendar=ics css=css csv=csv html=html,htm javascript=js,mjs markdown=md,markdown plain=txt,log,text,conf,ini
      tab-separated-values=tsv vcard=vcf vtt=vtt
    video 3gpp=3gp 3gpp2=3g2 matroska=mkv mp2t=ts,m2ts mp4=mp4,m4v mpeg=mpeg,mpg ogg=ogv quicktime=mov,qt webm=webm
      x-flv=flv x-ms-wmv=wmv x-msvideo=avi
    """
}
