import CMartletShim

/// Sets options of an easy handle until one fails.
struct EasyOptions {
  private let easy: UnsafeMutableRawPointer
  /// libcurl's code for the first failure, or 0.
  private(set) var code: CInt = 0

  init(_ easy: UnsafeMutableRawPointer) { self.easy = easy }

  mutating func set(_ option: Int, _ number: Int) {
    if code == 0 { code = martlet_easy_set_number(easy, CInt(option), number) }
  }

  mutating func set(_ option: Int, _ text: String?) {
    if code == 0 { code = martlet_easy_set_text(easy, CInt(option), text) }
  }

  mutating func set(_ option: Int, characters: UnsafePointer<CChar>?) {
    if code == 0 { code = martlet_easy_set_text(easy, CInt(option), characters) }
  }

  /// Sets a pointer that has to live as long as it is set.
  mutating func set(_ option: Int, to pointer: UnsafeMutableRawPointer?) {
    if code == 0 { code = martlet_easy_set_pointer(easy, CInt(option), pointer) }
  }

  /// Performs a step that returns libcurl's code, unless an earlier step has failed.
  mutating func run(_ step: @autoclosure () -> CInt) { if code == 0 { code = step() } }
}
