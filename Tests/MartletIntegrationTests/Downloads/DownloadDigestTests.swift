#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The server's digests and the caller's checksums, for encoded and decoded files (RFC 9530).
  @Suite(.ownThreads, .hangLimit) struct DownloadDigestTests {
    enum Way: String, CaseIterable, Sendable { case plain, cache, segments, resume }

    struct Row: Sendable, CustomTestStringConvertible {
      var isCoded = true
      var isDecoded = true
      /// The bytes that the digest covers.
      var of: Data
      var isRight: Bool
      var ways = Way.allCases
      var testDescription: String { "coded \(isCoded), decoded \(isDecoded), \(of.count) bytes, right \(isRight)" }
    }

    private static let (coded, text) = (CodedBodies.gzip, Data(CodedBodies.text.utf8))

    static let rows = [
      // The digest covers the encoded bytes, which decoding discards, so it is not compared.
      Row(of: coded, isRight: true, ways: [.plain, .cache, .segments]),
      Row(of: text, isRight: true, ways: [.plain, .cache, .segments]),
      Row(of: Data(), isRight: true, ways: [.plain, .cache, .segments]),
      Row(isDecoded: false, of: coded, isRight: true),
      Row(isDecoded: false, of: text, isRight: false),
      Row(isCoded: false, of: text, isRight: true),
      Row(isCoded: false, of: coded, isRight: false),
      Row(isCoded: false, isDecoded: false, of: text, isRight: true),
      Row(isCoded: false, isDecoded: false, of: Data(), isRight: false),
    ]

    private static func field(_ data: Data) -> String {
      "sha-256=:\(Data(SHA2.sha256(Array(data))).base64EncodedString()):"
    }

    private func server(_ row: Row, _ digest: String?) throws -> FileServer {
      try FileServer(
        .init(bytes: row.isCoded ? Self.coded : Self.text) { head, request in
          var head = head
          if row.isCoded { head.fields["Content-Encoding"] = "gzip" }
          head.fields["Cache-Control"] = "max-age=600"
          head.fields["Date"] = nil
          // The content of a range differs, so the `Content-Digest` of the whole file does not apply to it.
          if let digest, digest == "Repr-Digest" || head.status == 200 { head.fields[digest] = Self.field(row.of) }
          return head
        })
    }

    /// Downloads a file in the given way.
    private func download(
      _ server: FileServer, _ lane: Lane, _ row: Row, _ way: Way, _ file: URL, _ change: (inout DownloadOptions) -> Void
    ) async throws -> DownloadedFile {
      let client = lane.client {
        $0.cache = way == .cache ? .memory() : .off
        $0.options.decompression = row.isDecoded ? .automatic : .off
      }
      var options = DownloadOptions()
      change(&options)
      switch way {
      case .plain: break
      case .cache: _ = try await client.get(server.target)
      case .segments: options.segments = 4
      case .resume:
        server.change { $0.cutsAfter = 100 }
        _ = try? await client.download(.get(server.target), to: file, options: options)
        server.change { $0.cutsAfter = nil }
      }
      let done = try await client.download(.get(server.target), to: file, options: options)
      #expect((done.response.source == .cache) == (way == .cache) && (done.resumedAt > 0) == (way == .resume))
      return done
    }

    @Test(arguments: Lane.engines, rows)
    func `compares the server's digests with encoded bytes only`(lane: Lane, row: Row) async throws {
      for digest in ["Repr-Digest", "Content-Digest"] {
        for way in row.ways {
          // The whole small file arrives in one 206, which has no `Content-Digest`.
          if digest == "Content-Digest", way == .segments, !row.isRight { continue }
          let folder = try TemporaryFolder()
          let file = folder.url.appending(path: "a")
          let server = try server(row, digest)

          let result = await Result { try await download(server, lane, row, way, file) { _ in } }

          switch result {
          case .success:
            #expect(row.isRight, "\(digest), \(way)")
            #expect(try Data(contentsOf: file) == (row.isCoded && !row.isDecoded ? Self.coded : Self.text))
          case .failure(let error):
            #expect(!row.isRight && (error as? HTTPError)?.kind == .checksumMismatch, "\(digest), \(way): \(error)")
          }
        }
      }
    }

    @Test(arguments: Lane.engines, [(true, true), (true, false), (false, true)])
    func `compares the caller's checksum with the file as saved`(
      lane: Lane, coding: (isCoded: Bool, isDecoded: Bool)
    ) async throws {
      let row = Row(isCoded: coding.isCoded, isDecoded: coding.isDecoded, of: Data(), isRight: true)
      let saved = coding.isCoded && !coding.isDecoded ? Self.coded : Self.text
      for way in Way.allCases where way != .resume || !coding.isCoded || !coding.isDecoded {
        for expected in [Self.coded, Self.text] {
          let folder = try TemporaryFolder()
          let server = try server(row, nil)

          let result = await Result {
            try await download(server, lane, row, way, folder.url.appending(path: "a")) {
              $0.checksum = .sha256(SHA2.sha256(Array(expected)).hexadecimal)
            }
          }

          #expect(((try? result.get()) != nil) == (expected == saved), "\(way): \(result)")
        }
      }
    }
  }
#endif
