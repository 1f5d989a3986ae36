import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet

/// U+0600 and a following slash are one `Character`, as are a slash and a following U+0301.
@Suite struct DiskPathTests {
  @Test(arguments: [
    ("/", "/", "", "/"), ("/a", "/", "a", "/"), ("/a/b", "/a/", "b", "/a"), ("a", "", "a", ""),
    ("/x\u{600}/f", "/x\u{600}/", "f", "/x\u{600}"), ("/x/\u{301}f", "/x/", "\u{301}f", "/x"),
  ])
  func `splits paths by octets`(path: String, folder: String, name: String, trimmed: String) {
    let parts = DiskCalls.split(path)

    #expect(parts.folder.utf8.elementsEqual(folder.utf8) && parts.name.utf8.elementsEqual(name.utf8))
    #expect(DiskCalls.trimmed(parts.folder).utf8.elementsEqual(trimmed.utf8))
    #expect(folder.isEmpty || DiskCalls.join(parts.folder, parts.name).utf8.elementsEqual(path.utf8))
  }

  @Test func `creates the parents of a folder whose name combines with a slash`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a\u{600}/b")

    try DiskFolder.make(path, syncingBy: .system)

    #expect(folder.names == ["a\u{600}"])
    let shown = DiskFolder.path(URL(filePath: folder.path("a\u{600}"), directoryHint: .isDirectory))
    #expect(shown.utf8.last == 0x80, "a symbolic link with a slash after it would be followed")
  }
}
