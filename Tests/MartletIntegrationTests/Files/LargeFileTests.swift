import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct LargeFileTests {
  @Test func `reports file sizes above one tebibyte`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("large")
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    // Some file systems do not support files of this size.
    guard truncate(path, 3 << 40) == 0 else { return }

    #expect(DiskCalls.targetFacts(path)?.size == 3 << 40)
    #expect(HTTPBody.file(URL(filePath: path)).length == 3 << 40)
  }
}
