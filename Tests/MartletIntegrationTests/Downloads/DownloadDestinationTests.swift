#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The destinations of downloads, and downloads behind redirects.
  @Suite(.hangLimit) struct DownloadDestinationTests {
    private static let bytes = FileServer.bytes(300_000)

    // W20
    @Test(arguments: ["with spaces.txt", "100%.txt", "a%20b%2Fc.txt", "ä 日本.txt", "#?&;.txt"])
    func `file names may contain spaces, percent signs and other special characters`(name: String) async throws {
      let server = try FileServer(.init(bytes: Self.bytes, cutsAfter: 100_000))
      let folder = try TemporaryFolder()
      let inner = folder.url.appending(path: "50% of \(name)")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
      let file = inner.appending(path: name)
      let client = Lane.curl.client()

      await #expect(throws: HTTPError.self) { try await client.download(.get(server.target), to: file) }
      server.change { $0.cutsAfter = nil }
      let done = try await client.download(.get(server.target), to: file)

      // W21: the path is returned as it was given.
      #expect(done.url.path == file.path && done.resumedAt > 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: inner.path) == [name])
      #expect(try Data(contentsOf: file) == Self.bytes)
    }

    /// U+0600 forms one character with the slash after it, and U+0301 with the slash before it.
    @Test func `folders and files may have names that combine with a slash`() async throws {
      let server = try FileServer(.init(bytes: Self.bytes, cutsAfter: 100_000))
      let folder = try TemporaryFolder()
      let inner = "\(folder.url.path)/x\u{600}"
      #expect(mkdir(inner, 0o700) == 0)
      let file = URL(filePath: "\(inner)/\u{301}a\u{600}")
      let client = Lane.curl.client()

      await #expect(throws: HTTPError.self) { try await client.download(.get(server.target), to: file) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["x\u{600}"])
      let unfinished = try #require(UnfinishedDownload.all(in: URL(filePath: inner, directoryHint: .isDirectory)).first)
      #expect(unfinished.name == "\u{301}a\u{600}")
      server.change { $0.cutsAfter = nil }
      let done = try await client.download(.get(server.target), to: file)
      let second = try await client.download(
        .get(server.target), to: file, options: DownloadOptions { $0.overwrite = .rename })

      #expect(done.resumedAt > 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: inner).count == 2)
      #expect(try Data(contentsOf: second.url) == Self.bytes)
    }

    @Test func `refuses a part file that another download is writing, even if it is writable by all`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("a.part")
      let part = try await PartFile.open(path, url: "https://a.test/a", resume: .automatic)
      try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)

      let error = await #expect(throws: HTTPError.self) {
        try await PartFile.open(path, url: "https://a.test/a", resume: .automatic)
      }

      #expect(error?.kind == .downloadInProgress)
      #expect(FileManager.default.fileExists(atPath: path))
      part.close()
    }

    // W20
    @Test func `without a destination, each download has its own file`() async throws {
      try TemporaryFolder.requireRoom()
      let server = try FileServer(.init(bytes: Self.bytes))
      let client = Lane.curl.client()

      let files = try await withThrowingTaskGroup(of: URL.self) { group in
        for _ in 0..<4 { group.addTask { try await client.download(.get(server.target)).url } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      defer { for file in files { try? FileManager.default.removeItem(at: file) } }

      #expect(Set(files.map(\.path)).count == 4)
      for file in files { #expect(try Data(contentsOf: file) == Self.bytes) }
    }

    // S134: testFetchToInvalidPath
    @Test(arguments: Lane.engines, ["nowhere/a.bin", "file/a.bin"])
    func `an invalid destination fails before anything is sent`(lane: Lane, path: String) async throws {
      let server = try FileServer(.init(bytes: Self.bytes))
      let folder = try TemporaryFolder()
      try folder.write("x", to: "file")

      let error = await #expect(throws: HTTPError.self) {
        try await lane.client().download(.get(server.target), to: folder.url.appending(path: path))
      }

      #expect(error?.kind == .fileFailed && error?.message.contains("does not exist") == true)
      #expect(server.requests.isEmpty && folder.names == ["file"])
    }

    // F40
    @Test(.needs(.root)) func `a part file of another user is refused before anything is sent`() async throws {
      let server = try FileServer(.init(bytes: Self.bytes))
      let folder = try TemporaryFolder()
      try folder.write("", to: "a.bin.part")
      try #require(chmod(folder.url.path, 0o1777) == 0 && chown(folder.path("a.bin.part"), 65_534, 65_534) == 0)

      let error = await #expect(throws: HTTPError.self) {
        try await Lane.curl.client().download(.get(server.target), to: folder.url.appending(path: "a.bin"))
      }

      #expect(error?.kind == .fileFailed && error?.message.contains("belongs to another user") == true)
      #expect(server.requests.isEmpty && folder.names == ["a.bin.part"])
      #expect(try folder.contents("a.bin.part").isEmpty)
    }

    // F40
    @Test(arguments: [("", false), (".json", true), (".json.new", true), (".link", true)])
    func `symbolic links in place of the part file and its companion files are not followed`(
      ending: String, isReplaced: Bool
    ) async throws {
      let server = try FileServer(.init(bytes: Self.bytes))
      let folder = try TemporaryFolder()
      let victim = try folder.write("mine", to: "victim")
      try FileManager.default.createSymbolicLink(
        at: folder.url.appending(path: "a.bin.part" + ending), withDestinationURL: victim)

      let result = await Result {
        try await Lane.curl.client().download(.get(server.target), to: folder.url.appending(path: "a.bin"))
      }

      #expect(try folder.contents("victim") == Data("mine".utf8))
      #expect(((try? result.get()) != nil) == isReplaced, "\(result)")
      #expect(server.requests.count == (isReplaced ? 1 : 0))
      #expect(folder.names == (isReplaced ? ["a.bin", "victim"] : ["a.bin.part", "victim"]))
    }

    // F40
    @Test func `a part record that is a symbolic link is not read`() async throws {
      let server = try FileServer(.init(bytes: Self.bytes, cutsAfter: 100_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")
      await #expect(throws: HTTPError.self) { try await Lane.curl.client().download(.get(server.target), to: file) }
      let record = try folder.contents("a.bin.part.json")
      let victim = try folder.write(record, to: "victim")
      try FileManager.default.removeItem(atPath: folder.path("a.bin.part.json"))
      try FileManager.default.createSymbolicLink(
        at: folder.url.appending(path: "a.bin.part.json"), withDestinationURL: victim)

      let error = await #expect(throws: HTTPError.self) {
        try await Lane.curl.client().download(.get(server.target), to: file)
      }

      #expect(error?.kind == .fileFailed && server.requests.count == 1)
      #expect(try folder.contents("victim") == record)
    }

    @Test(arguments: [true, false])
    func `keeps a symbolic link at the destination and replaces its target`(exists: Bool) async throws {
      let server = try FileServer(.init(bytes: Self.bytes, cutsAfter: 100_000))
      let folder = try TemporaryFolder()
      let inner = folder.url.appending(path: "inner")
      try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
      if exists { try folder.write("old", to: "inner/target") }
      try FileManager.default.createSymbolicLink(atPath: folder.path("b"), withDestinationPath: "inner/target")
      try FileManager.default.createSymbolicLink(atPath: folder.path("a"), withDestinationPath: folder.path("b"))
      let client = Lane.curl.client()

      await #expect(throws: HTTPError.self) {
        try await client.download(.get(server.target), to: folder.url.appending(path: "a"))
      }
      let left = try FileManager.default.contentsOfDirectory(atPath: inner.path).filter { $0.hasSuffix(".part") }
      server.change { $0.cutsAfter = nil }
      let done = try await client.download(.get(server.target), to: folder.url.appending(path: "a"))

      #expect(left == ["target.part"] && done.resumedAt > 0)
      #expect(done.url.lastPathComponent == "target" && folder.names == ["a", "b", "inner"])
      #expect(try folder.contents("inner/target") == Self.bytes)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("b")) == "inner/target")
    }

    @Test func `a dangling symbolic link at the destination fails before anything is sent`() async throws {
      let server = try FileServer(.init(bytes: Self.bytes))
      let folder = try TemporaryFolder()
      for (name, target) in [("loop", "loop"), ("none", "nowhere/a")] {
        try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: target)

        let error = await #expect(throws: HTTPError.self) {
          try await Lane.curl.client().download(.get(server.target), to: folder.url.appending(path: name))
        }

        #expect(error?.kind == .fileFailed, "\(name)")
      }
      #expect(server.requests.isEmpty && folder.names == ["loop", "none"])
    }

    @Test(.needs(.root)) func `a symbolic link of another user is refused before anything is sent`() async throws {
      let server = try FileServer(.init(bytes: Self.bytes))
      let folder = try TemporaryFolder()
      try folder.write("mine", to: "victim")
      try FileManager.default.createSymbolicLink(atPath: folder.path("a"), withDestinationPath: "victim")
      try #require(lchown(folder.path("a"), 65_534, 65_534) == 0)

      let error = await #expect(throws: HTTPError.self) {
        try await Lane.curl.client().download(.get(server.target), to: folder.url.appending(path: "a"))
      }

      #expect(error?.kind == .fileFailed && error?.message.contains("belongs to another user") == true)
      #expect(try server.requests.isEmpty && folder.contents("victim") == Data("mine".utf8))
    }

    // F40
    @Test(arguments: [DownloadOptions.Resume.automatic, .never, .fromAnyURL])
    func `does not write through a hard link in place of the part file`(
      resume: DownloadOptions.Resume
    ) async throws {
      let server = try FileServer(.init(bytes: Self.bytes))
      let folder = try TemporaryFolder()
      let victim = try folder.write("mine", to: "victim")
      try FileManager.default.linkItem(at: victim, to: folder.url.appending(path: "a.bin.part"))

      var options = DownloadOptions()
      options.resume = resume
      _ = try await Lane.curl.client().download(
        .get(server.target), to: folder.url.appending(path: "a.bin"), options: options)

      #expect(try folder.contents("victim") == Data("mine".utf8) && folder.contents("a.bin") == Self.bytes)
      #expect(folder.names == ["a.bin", "victim"])
    }

    // F43
    @Test(arguments: [
      String(repeating: "\u{1F426}", count: 55), String(repeating: "a", count: 245), String(repeating: "a", count: 255),
      String(repeating: "\u{1F426}", count: 63) + ".gz",
    ])
    func `resumes downloads of files with names of up to 255 bytes`(name: String) async throws {
      let server = try FileServer(.init(bytes: Self.bytes, cutsAfter: 100_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: name)
      let client = Lane.curl.client()

      await #expect(throws: HTTPError.self) { try await client.download(.get(server.target), to: file) }
      server.change { $0.cutsAfter = nil }
      let unfinished = try #require(try UnfinishedDownload.all(in: folder.url).first)
      let done = try await client.download(continuing: unfinished)

      #expect(done.resumedAt > 0 && unfinished.name == name && folder.names == [name])
      #expect(try folder.contents(name) == Self.bytes)
    }

    // F43
    @Test func `a file name that is too long fails before anything is sent`() async throws {
      let server = try FileServer(.init(bytes: Self.bytes))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: String(repeating: "a", count: 256))

      let error = await #expect(throws: HTTPError.self) {
        try await Lane.curl.client().download(.get(server.target), to: file)
      }

      #expect(error?.kind == .fileFailed && error?.message.contains("has 256 bytes") == true)
      #expect(server.requests.isEmpty && folder.names.isEmpty)
    }

    // F43
    @Test func `without a destination, a file with a long name from the server is private to its owner`() async throws {
      try TemporaryFolder.requireRoom()
      let name = String(repeating: "\u{1F426}", count: 60) + ".txt"
      let server = try MockServer(
        .data(Self.bytes, headers: ["Content-Disposition": "attachment; filename*=UTF-8''\(Self.escaped(name))"]))

      let file = try await Lane.curl.client().download(.get(RequestTarget(server.url))).url
      defer { try? FileManager.default.removeItem(at: file) }

      #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
      #expect(file.lastPathComponent.hasSuffix("\u{1F426}.txt") && file.lastPathComponent.utf8.count <= 255)
    }

    private static func escaped(_ name: String) -> String {
      name.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
    }

    // S134: testRedirectedResume
    @Test(arguments: Lane.engines) func `resumes a download after a redirect`(lane: Lane) async throws {
      let server = try FileServer(.init(bytes: Self.bytes, cutsAfter: 120_000))
      let door = try MockServer(.redirect(to: server.url))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a.bin")
      let client = lane.client { $0.redirects = .follow }

      await #expect(throws: HTTPError.self) { try await client.download(.get(RequestTarget(door.url)), to: file) }
      let left = try #require(try UnfinishedDownload.all(in: folder.url).first?.received)
      server.change { $0.cutsAfter = nil }
      let done = try await client.download(.get(RequestTarget(door.url)), to: file)

      #expect(left > 0 && done.resumedAt == left)
      #expect(server.ranges == [nil, "bytes=\(left)-"])
      #expect(try Data(contentsOf: file) == Self.bytes && folder.names == ["a.bin"])
    }

    // S134: testCompressedResponseDownloadToFile
    @Test(arguments: Lane.engines)
    func `decodes an unrequested content coding while writing the file`(lane: Lane) async throws {
      let server = try MockServer(.data(CodedBodies.gzip, headers: ["Content-Encoding": "gzip"]))
      let folder = try TemporaryFolder()

      let done = try await lane.client().download(.get(RequestTarget(server.url)), to: folder.url.appending(path: "a"))

      #expect(server.requests.first?.header("Accept-Encoding") == "identity")
      #expect(try String(decoding: folder.contents("a"), as: UTF8.self) == CodedBodies.text)
      #expect(done.byteCount == Int64(CodedBodies.text.utf8.count))
    }
  }
#endif
