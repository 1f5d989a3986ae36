import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

@Suite(.hangLimit) struct OutboxJournalTests {
  private static func submission(_ text: String) throws -> OutboxLine { try .sample(Data(text.utf8)) }

  private static func texts(_ journal: OutboxJournal, _ news: OutboxJournal.JournalChanges) -> [String] {
    news.changes.compactMap { change in
      guard case .submitted(let entry) = change, let data = (try? journal.contents(of: entry))?.body else {
        return nil
      }
      return String(decoding: data, as: UTF8.self)
    }
  }

  @Test func `journals of one folder read each other's records in the same order`() throws {
    let folder = try OutboxFolder()
    let (one, other) = (try OutboxJournal(folder.url), try OutboxJournal(folder.url))
    _ = try one.append([Self.submission("a")], isSynced: true)
    let news = try other.append([Self.submission("b"), Self.submission("c")], isSynced: false)

    #expect(Self.texts(other, news) == ["a", "b", "c"])
    #expect(Self.texts(one, try one.catchUp()) == ["b", "c"])
    #expect(try one.catchUp().changes.isEmpty)
  }

  @Test func `syncs the parent of each folder that it creates`() throws {
    let folder = try TemporaryFolder()
    let opened = Shared<[String]>([])
    let calls = ParentFolderCalls(
      open: { path in
        opened.withLock { $0.append(path) }
        return ParentFolderCalls.system.open(path)
      }, sync: ParentFolderCalls.system.sync)

    let journal = try OutboxJournal(folder.url.appending(path: "a/b/c"), calls: calls)
    #expect(opened.value == ["", "a", "a/b", "a/b"].map { folder.path($0) + "/" })
    _ = try journal.append([Self.submission("a")], isSynced: true)
    #expect(opened.value.dropFirst(4) == [folder.path("a/b/c") + "/"])
    let error = #expect(throws: HTTPError.self) {
      _ = try OutboxJournal(folder.url.appending(path: "d/e"), calls: .unsynced(EIO))
    }

    #expect(error?.kind == .fileFailed && error?.message.contains("cannot be synced") == true)
  }

  @Test(arguments: [EMFILE, ENFILE, EIO, ENOMEM, EACCES])
  func `a folder that cannot be opened throws before a journal is created or replaced`(code: Int32) throws {
    let folder = try TemporaryFolder()
    let isFailing = Shared(true)
    let calls = ParentFolderCalls(
      open: { isFailing.value ? -code : ParentFolderCalls.system.open($0) }, sync: ParentFolderCalls.system.sync)
    func expectError<R>(_ work: () throws -> R) {
      let error = #expect(throws: HTTPError.self) { _ = try work() }
      #expect(error?.kind == .fileFailed && error?.message.contains("cannot be opened, which syncing a name") == true)
    }

    expectError { try OutboxJournal(folder.url.appending(path: "a/b"), calls: calls) }
    #expect(folder.names.isEmpty)
    isFailing.withLock { $0 = false }
    let journal = try OutboxJournal(folder.url.appending(path: "a/b"), calls: calls)
    isFailing.withLock { $0 = true }
    expectError { try journal.append([Self.submission("a")], isSynced: true) }
    #expect(!FileManager.default.fileExists(atPath: folder.path("a/b/journal")))
    isFailing.withLock { $0 = false }
    _ = try journal.append([Self.submission("a")], isSynced: true)
    isFailing.withLock { $0 = true }
    let before = try folder.contents("a/b/journal")
    expectError { try journal.compact([]) }

    #expect(try folder.contents("a/b/journal") == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("a/b")).sorted() == ["journal", "lock"])
  }

  @Test func `a truncated journal keeps its complete records and accepts new ones`() throws {
    let folder = try OutboxFolder()
    var ends: [Int64] = []
    do {
      let journal = try OutboxJournal(folder.url)
      for text in ["a", "bb", "ccc"] {
        _ = try journal.append([Self.submission(text)], isSynced: false)
        ends.append(journal.length)
      }
    }
    let whole = try folder.journalBytes()
    for count in 0...whole.count {
      try folder.overwrite(Array(whole.prefix(count)))
      let journal = try OutboxJournal(folder.url)
      let news = try journal.append([Self.submission("new")], isSynced: false)
      let left = ["a", "bb", "ccc"].prefix(ends.count { $0 <= count })
      #expect(Self.texts(journal, news) == left + ["new"], "\(count)")
      #expect(news.damaged == 0)
      let next = try OutboxJournal(folder.url)
      #expect(Self.texts(next, try next.catchUp()) == left + ["new"], "\(count)")
    }
  }

  @Test func `a changed byte loses at most one record and never forges one`() throws {
    let folder = try OutboxFolder()
    do {
      let journal = try OutboxJournal(folder.url)
      for text in ["a", "bb", "ccc"] { _ = try journal.append([Self.submission(text)], isSynced: false) }
    }
    let whole = try folder.journalBytes()
    var random = SeededGenerator(seed: 4)
    for place in whole.indices {
      var damaged = whole
      damaged[place] ^= UInt8.random(in: 1...255, using: &random)
      try folder.overwrite(damaged)
      let journal = try OutboxJournal(folder.url)
      let news = try journal.catchUp()
      let texts = Self.texts(journal, news)
      #expect(texts.count >= 2 && Set(texts).isSubset(of: ["a", "bb", "ccc"]), "\(place)")
      // A line whose end is damaged looks like an unfinished line.
      let mayBeTorn = place == whole.count - 1
      #expect(texts.count == 3 || news.damaged == 1 || mayBeTorn, "\(place)")
      #expect(Self.texts(journal, try journal.append([Self.submission("new")], isSynced: false)) == ["new"])
    }
  }

  @Test func `random bytes are an error or an empty journal, never a request`() throws {
    let folder = try OutboxFolder()
    var random = SeededGenerator(seed: 5)
    for _ in 0..<Stress.count(100, full: 300) {
      _ = try? FileManager.default.removeItem(at: folder.url)
      try FileManager.default.createDirectory(
        at: folder.url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let count = Int.random(in: 0..<200, using: &random)
      try Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }).write(to: folder.journal)
      let journal = try OutboxJournal(folder.url)
      do {
        #expect(try journal.catchUp().changes.isEmpty)
        #expect(count < OutboxLine.headLength, "\(count)")
      } catch {
        #expect(error.kind == .fileFailed)
      }
    }
  }

  @Test func `a body that contains a journal is not read as one, even after a damaged line`() throws {
    let folder = try OutboxFolder()
    let forged = try Self.submission("forged").bytes
    let file = try OutboxLine(.began(version: 1)).bytes + forged + forged
    do {
      let journal = try OutboxJournal(folder.url)
      // The journal's bytes in any part of the request must not be read as lines.
      let key = String(decoding: file, as: UTF8.self)
      let line = try OutboxLine.sample(file, key: key, url: "https://api.test/\(key)", headers: ["A": key])
      _ = try journal.append([line, Self.submission("b")], isSynced: false)
    }
    var damaged = try folder.journalBytes()
    damaged[OutboxLine.headLength + 20] ^= 1
    try folder.overwrite(damaged)

    let journal = try OutboxJournal(folder.url)
    let news = try journal.catchUp()
    #expect(Self.texts(journal, news) == ["b"] && news.damaged == 1)
  }

  @Test func `compacting keeps live records, and other instances notice it`() throws {
    let folder = try OutboxFolder()
    let (one, other) = (try OutboxJournal(folder.url), try OutboxJournal(folder.url))
    var table = OutboxTable(.concurrent(1))
    func take(_ news: OutboxJournal.JournalChanges) { for change in news.changes { table.apply(change) } }
    let lines = try ["a", "b", "c", "d"].map { try Self.submission($0) }
    let ids = lines.compactMap { $0.change?.id }
    take(try one.append(lines, isSynced: true))
    take(
      try one.append(
        [
          OutboxLine(.gone(ids[0])), OutboxLine(.attempted(ids[1], 3)),
          OutboxLine(.deadLettered(ids[2], .init(date: Date(timeIntervalSince1970: 9), failure: .expired))),
        ], isSynced: true))
    _ = try other.catchUp()
    let before = one.length
    let entries = table.entries.values.sorted { $0.span.lowerBound < $1.span.lowerBound }
    let spans = try #require(try one.compact(entries))
    table.move(spans)

    #expect(one.length < before && spans.count == 3)
    for (id, line) in zip(ids, lines).dropFirst() {
      let entry = try #require(table.entries[id])
      #expect(try one.contents(of: entry) == line.request)
    }
    let news = try other.append([Self.submission("e")], isSynced: false)
    #expect(news.isAnew && Self.texts(other, news) == ["b", "c", "d", "e"])
    var fresh = OutboxTable(.concurrent(1))
    for change in news.changes { fresh.apply(change) }
    #expect(fresh.entries[ids[1]]?.attempts == 3 && fresh.entries[ids[2]]?.death?.failure == .expired)
    // `one` must not compact the journal before it has read the new line.
    #expect(try one.compact([]) == nil)
  }

  @Test func `rejects a journal of a later version and restarts a zeroed one`() throws {
    let folder = try OutboxFolder()
    _ = try OutboxJournal(folder.url).append([Self.submission("a")], isSynced: false)
    let head = OutboxLine.headLength
    let bytes = try OutboxLine(.began(version: 2)).bytes + folder.journalBytes().dropFirst(head)
    try folder.overwrite(Array(bytes))
    let error = #expect(throws: HTTPError.self) { try OutboxJournal(folder.url).catchUp() }
    #expect(error?.message.contains("has version 2") == true)
    #expect(try folder.journalBytes() == Array(bytes))

    try folder.overwrite(Array(repeating: 0, count: head))
    let journal = try OutboxJournal(folder.url)
    #expect(Self.texts(journal, try journal.append([Self.submission("b")], isSynced: true)) == ["b"])
  }

  @Test func `removes orphaned body files, but not those of running submissions`() async throws {
    let folder = try OutboxFolder()
    let journal = try OutboxJournal(folder.url)
    let body = HTTPBody.data(Data(count: 100_000))
    let onItsWay = try await OutboxBody.store(body, of: UUID(), in: journal.folder, limit: 1 << 20)
    var killed: OutboxBody? = try await OutboxBody.store(body, of: UUID(), in: journal.folder, limit: 1 << 20)
    #expect(killed?.length == 100_000 && folder.names.count == 2)
    killed = nil
    let outbox = try await HTTPClient.onTestClock { _ in }.outbox(at: folder.url)

    #expect(folder.names.count { $0.hasSuffix(".body") } == 1)
    #expect(outbox.status.isSender)
    onItsWay.discard()
  }
}
