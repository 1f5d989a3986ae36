import MartletBase

/// A credential from a call's URL or options, for the origin of the call.
struct CallCredential: Sendable, Hashable {
  let credential: Credential
  let origin: Origin
}
