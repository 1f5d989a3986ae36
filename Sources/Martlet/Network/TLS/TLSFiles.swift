#if os(Linux)
  import CMartletShim
  import MartletBase
  import Synchronization

  /// The files of a client's TLS settings, which are read again when they change.
  ///
  /// ```
  ///   look ──▶ facts in use, or refused ──────────────────▶ nothing
  ///        └─▶ other facts ──▶ changed just now: the next look decides
  ///                        └─▶ read and check all ──▶ invalid: the contents in use stay
  ///                                               └─▶ valid: the new contents
  /// ```
  ///
  /// A request looks, but at most once per interval, and on its own thread. Looks are numbered, so a slow one does not
  /// replace the result of a later one.
  final class TLSFiles: Sendable {
    /// The shortest time between two looks, in microseconds.
    static let interval: Int64 = 1_000_000

    /// The facts that show whether a file has changed.
    struct Facts: Equatable {
      let disk: DiskFacts
      /// The time of the last change of contents, name or permissions, in microseconds since 1970.
      let changeTime: Int64

      init(_ disk: DiskFacts, changeTime: Int64) { (self.disk, self.changeTime) = (disk, changeTime) }

      init?(_ path: String) {
        var time: Int64 = 0
        guard let disk = DiskCalls.targetFacts(path, changeTime: &time) else { return nil }
        self.init(disk, changeTime: time)
      }

      /// The time from which the contents may be complete.
      var newest: Int64 { max(disk.time, changeTime) }
    }

    /// The contents in use, and what is known about the files.
    struct State {
      /// The result of looking at the files' facts.
      enum Finding {
        case unchanged
        /// A file was changed just now, and is perhaps still being written.
        case mayBeIncomplete
        case changed
      }

      /// The settings with the contents in use.
      private(set) var settings: TLSSettings
      /// The problem of the files; `nil` if they are in use and valid.
      private(set) var problem: String?
      /// The facts of the files in use; empty before the first look.
      private var facts: [Facts?] = []
      /// The facts of files that are not read again.
      private var refused: [Facts?] = []
      /// The facts at the last look.
      private var seen: [Facts?] = []
      private var number = 0
      /// The number of times that the contents have changed.
      private(set) var generation = 0

      init(_ settings: TLSSettings) { self.settings = settings }

      /// Compares the files' facts at a time, in microseconds since 1970.
      ///
      /// A change is complete if it is older than `pause`, or if two looks saw the same.
      mutating func find(_ now: [Facts?], at time: Int64, pause: Int64) -> Finding {
        defer { seen = now }
        guard now != facts else {
          problem = nil
          return .unchanged
        }
        guard now != refused else { return .unchanged }
        let isOld = now.allSatisfy { $0.map { $0.newest <= time - pause } != false }
        return isOld || now == seen ? .changed : .mayBeIncomplete
      }

      /// Uses new contents, unless a later look has done so; returns whether they differ.
      mutating func use(_ new: TLSSettings, _ facts: [Facts?], number: Int) -> Bool {
        guard number > self.number else { return false }
        (self.number, self.facts, refused, problem) = (number, facts, [], nil)
        guard new != settings else { return false }
        settings = new
        generation += 1
        return true
      }

      /// Keeps the contents in use; returns the problem to report, unless it was reported.
      ///
      /// The files are read again when their facts change, or at the next look if the problem is transient.
      mutating func refuse(
        _ new: TLSSettings, _ reason: String, _ facts: [Facts?], isTransient: Bool, number: Int
      ) -> String? {
        guard number > self.number else { return nil }
        let state =
          new == settings
          ? "the TLS files in use are invalid"
          : "the TLS files have changed, but their last contents stay in use"
        let old = problem
        (problem, refused) = ("\(state): \(reason)", isTransient ? [] : facts)
        return problem == old ? nil : problem
      }
    }

    /// A change to report.
    enum Change {
      case renewed
      case refused(String)
    }

    private let files: [TLSMaterial.File]
    private let pause: Int64
    private let nextLook = Atomic<Int64>(0)
    private let lastNumber = Atomic(0)
    private let state: Locked<State>

    /// Creates a watch; `nil` if the settings name no files.
    init?(_ settings: TLSSettings, interval: Int64) {
      files = settings.files
      guard !files.isEmpty else { return nil }
      pause = interval
      state = Locked(State(settings))
    }

    /// The settings with the newest valid contents.
    var settings: TLSSettings { state.withLock { $0.settings } }

    /// The number of times that the contents have changed.
    var generation: Int { state.withLock { $0.generation } }

    /// The problem of the files, or `nil`.
    var problem: String? { state.withLock { $0.problem } }

    /// Looks at the files, if that is due; reads them if they have changed.
    func look() -> Change? {
      let (now, due) = (martlet_microseconds(), nextLook.load(ordering: .relaxed))
      guard now >= due,
        nextLook.compareExchange(expected: due, desired: now + pause, ordering: .relaxed).exchanged || pause == 0
      else { return nil }
      let number = lastNumber.add(1, ordering: .relaxed).newValue
      let facts = files.map { Facts($0.path) }
      let time = DiskCalls.microseconds(Date())
      guard case .changed = state.withLock({ $0.find(facts, at: time, pause: pause) }) else { return nil }
      let new = settings.renewed
      // Replaced or written while they were read; the next look reads them again.
      guard facts == files.map({ Facts($0.path) }) else { return nil }
      if let problem = new.problem?.message ?? new.clientCertificate?.pairProblem {
        return state.withLock {
          $0.refuse(new, problem, facts, isTransient: new.isUnread, number: number).map { .refused($0) }
        }
      }
      return state.withLock({ $0.use(new, facts, number: number) }) ? .renewed : nil
    }
  }

  extension TLSSettings.ClientCertificate {
    /// Why the certificate and its key cannot be used together, or `nil` if they can or that is unknown.
    fileprivate var pairProblem: String? {
      switch source {
      case .pem(let certificate, let key):
        certificate.isRejected(with: key.bytes, password)
          ? "the key does not belong to the client certificate '\(certificate.shownPath)'" : nil
      case .pkcs12(let material):
        material.isRejected(with: nil, password)
          ? "the PKCS #12 file '\(material.shownPath)' cannot be opened with its password" : nil
      case .keychain: nil
      }
    }
  }

  extension TLSMaterial {
    fileprivate var shownPath: String { InvalidInput.printable(file?.path ?? "") }

    /// Whether libcrypto finds that a certificate in PEM and a key, or PKCS #12 without a key, cannot be used.
    fileprivate func isRejected(with key: Data?, _ password: String?) -> Bool {
      bytes.withUnsafeBytes { certificate in
        guard let start = certificate.baseAddress else { return false }
        func check(_ key: UnsafeRawBufferPointer?) -> Bool {
          martlet_identity_check(start, certificate.count, key?.baseAddress, key?.count ?? 0, password ?? "") == 0
        }
        guard let key else { return check(nil) }
        return key.withUnsafeBytes { check($0) }
      }
    }
  }
#endif
