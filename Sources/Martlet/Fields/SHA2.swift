/// SHA-256 and SHA-512/256 (FIPS 180-4), for Digest.
///
/// No system library provides both on every platform.
package enum SHA2 {
  /// The 32 octets of SHA-256.
  package static func sha256(_ message: some Collection<UInt8>) -> [UInt8] { narrow.hash(message, from: narrowStart) }

  /// The initial state (§5.3.3).
  private static let narrowStart: [UInt32] = [
    0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
  ]

  /// An incremental SHA-256.
  struct Running256 {
    private var state = SHA2.narrowStart
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    mutating func update(_ bytes: some Collection<UInt8>) {
      rest += bytes
      count &+= UInt64(bytes.count)
      let whole = rest.count / 64 * 64
      guard whole > 0 else { return }
      SHA2.narrow.absorb(rest, into: &state)
      rest.removeFirst(whole)
    }

    func value() -> [UInt8] { SHA2.narrow.hash(rest, from: state, of: count) }
  }

  /// The 32 octets of SHA-512/256.
  ///
  /// It is not a truncated SHA-512: its initial state differs (§5.3.6.2).
  static func sha512t256(_ message: some Collection<UInt8>) -> [UInt8] {
    let start: [UInt64] = [
      0x2231_2194_FC2B_F72C, 0x9F55_5FA3_C84C_64C2, 0x2393_B86B_6F53_B151, 0x9638_7719_5940_EABD,
      0x9628_3EE2_A88E_FFE3, 0xBE5E_1E25_5386_3992, 0x2B01_99FC_2C85_B8AA, 0x0EB7_2DDC_81C5_2CA2,
    ]
    return Array(wide.hash(message, from: start).prefix(32))
  }

  /// The parameters of SHA-256.
  ///
  /// Its constants are the first halves of those of SHA-512 (§4.2.2, §4.2.3).
  private static let narrow = Shape<UInt32>(
    block: 64, constants: constants.prefix(64).map { UInt32(truncatingIfNeeded: $0 >> 32) },
    big: ((2, 13, 22), (6, 11, 25)), small: ((7, 18, 3), (17, 19, 10)))

  private static let wide = Shape<UInt64>(
    block: 128, constants: constants, big: ((28, 34, 39), (14, 18, 41)), small: ((1, 8, 7), (19, 61, 6)))

  /// The algorithm of the family for one word size (§6.2, §6.4).
  private struct Shape<Word: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable {
    let block: Int
    let constants: [Word]
    /// The rotations of Σ0 and Σ1.
    let big: ((Int, Int, Int), (Int, Int, Int))
    /// The rotations of σ0 and σ1; the last of each is a shift.
    let small: ((Int, Int, Int), (Int, Int, Int))

    /// Hashes a message or, after whole blocks of one with `whole` octets, the rest of it.
    func hash(_ message: some Collection<UInt8>, from start: [Word], of whole: UInt64? = nil) -> [UInt8] {
      var state = start
      absorb(HashPadding.pad(message, block: block, isBigEndian: true, of: whole), into: &state)
      return state.flatMap { withUnsafeBytes(of: $0.bigEndian) { Array($0) } }
    }

    /// Hashes whole blocks.
    func absorb(_ blocks: [UInt8], into state: inout [Word]) {
      let size = Word.bitWidth / 8
      // One buffer for all blocks, because every request hashes a cache key.
      var words = [Word](repeating: 0, count: constants.count)
      for offset in stride(from: 0, to: blocks.count - block + 1, by: block) {
        for index in 0..<16 {
          var word: Word = 0
          for place in 0..<size { word = word << 8 | Word(blocks[offset + index * size + place]) }
          words[index] = word
        }
        mix(&words, into: &state)
      }
    }

    private func mix(_ words: inout [Word], into state: inout [Word]) {
      for index in 16..<constants.count {
        let (before, last) = (words[index - 15], words[index - 2])
        let first = turn(before, small.0.0) ^ turn(before, small.0.1) ^ (before >> Word(small.0.2))
        let second = turn(last, small.1.0) ^ turn(last, small.1.1) ^ (last >> Word(small.1.2))
        words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
      }
      var (a, b, c, d) = (state[0], state[1], state[2], state[3])
      var (e, f, g, h) = (state[4], state[5], state[6], state[7])
      for index in constants.indices {
        let choice = (e & f) ^ (~e & g)
        let majority = (a & b) ^ (a & c) ^ (b & c)
        let first = h &+ sum(e, big.1) &+ choice &+ constants[index] &+ words[index]
        let second = sum(a, big.0) &+ majority
        (a, b, c, d, e, f, g, h) = (first &+ second, a, b, c, d &+ first, e, f, g)
      }
      for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
    }

    private func sum(_ word: Word, _ by: (Int, Int, Int)) -> Word {
      turn(word, by.0) ^ turn(word, by.1) ^ turn(word, by.2)
    }

    private func turn(_ word: Word, _ count: Int) -> Word {
      word &>> Word(count) | word &<< Word(Word.bitWidth - count)
    }
  }

  /// §4.2.3: the first 64 bits of the fractional parts of the cube roots of the first 80 primes.
  private static let constants: [UInt64] = [
    0x428A_2F98_D728_AE22, 0x7137_4491_23EF_65CD, 0xB5C0_FBCF_EC4D_3B2F, 0xE9B5_DBA5_8189_DBBC,
    0x3956_C25B_F348_B538, 0x59F1_11F1_B605_D019, 0x923F_82A4_AF19_4F9B, 0xAB1C_5ED5_DA6D_8118,
    0xD807_AA98_A303_0242, 0x1283_5B01_4570_6FBE, 0x2431_85BE_4EE4_B28C, 0x550C_7DC3_D5FF_B4E2,
    0x72BE_5D74_F27B_896F, 0x80DE_B1FE_3B16_96B1, 0x9BDC_06A7_25C7_1235, 0xC19B_F174_CF69_2694,
    0xE49B_69C1_9EF1_4AD2, 0xEFBE_4786_384F_25E3, 0x0FC1_9DC6_8B8C_D5B5, 0x240C_A1CC_77AC_9C65,
    0x2DE9_2C6F_592B_0275, 0x4A74_84AA_6EA6_E483, 0x5CB0_A9DC_BD41_FBD4, 0x76F9_88DA_8311_53B5,
    0x983E_5152_EE66_DFAB, 0xA831_C66D_2DB4_3210, 0xB003_27C8_98FB_213F, 0xBF59_7FC7_BEEF_0EE4,
    0xC6E0_0BF3_3DA8_8FC2, 0xD5A7_9147_930A_A725, 0x06CA_6351_E003_826F, 0x1429_2967_0A0E_6E70,
    0x27B7_0A85_46D2_2FFC, 0x2E1B_2138_5C26_C926, 0x4D2C_6DFC_5AC4_2AED, 0x5338_0D13_9D95_B3DF,
    0x650A_7354_8BAF_63DE, 0x766A_0ABB_3C77_B2A8, 0x81C2_C92E_47ED_AEE6, 0x9272_2C85_1482_353B,
    0xA2BF_E8A1_4CF1_0364, 0xA81A_664B_BC42_3001, 0xC24B_8B70_D0F8_9791, 0xC76C_51A3_0654_BE30,
    0xD192_E819_D6EF_5218, 0xD699_0624_5565_A910, 0xF40E_3585_5771_202A, 0x106A_A070_32BB_D1B8,
    0x19A4_C116_B8D2_D0C8, 0x1E37_6C08_5141_AB53, 0x2748_774C_DF8E_EB99, 0x34B0_BCB5_E19B_48A8,
    0x391C_0CB3_C5C9_5A63, 0x4ED8_AA4A_E341_8ACB, 0x5B9C_CA4F_7763_E373, 0x682E_6FF3_D6B2_B8A3,
    0x748F_82EE_5DEF_B2FC, 0x78A5_636F_4317_2F60, 0x84C8_7814_A1F0_AB72, 0x8CC7_0208_1A64_39EC,
    0x90BE_FFFA_2363_1E28, 0xA450_6CEB_DE82_BDE9, 0xBEF9_A3F7_B2C6_7915, 0xC671_78F2_E372_532B,
    0xCA27_3ECE_EA26_619C, 0xD186_B8C7_21C0_C207, 0xEADA_7DD6_CDE0_EB1E, 0xF57D_4F7F_EE6E_D178,
    0x06F0_67AA_7217_6FBA, 0x0A63_7DC5_A2C8_98A6, 0x113F_9804_BEF9_0DAE, 0x1B71_0B35_131C_471B,
    0x28DB_77F5_2304_7D84, 0x32CA_AB7B_40C7_2493, 0x3C9E_BE0A_15C9_BEBC, 0x431D_67C4_9C10_0D4C,
    0x4CC5_D4BE_CB3E_42B6, 0x597F_299C_FC65_7E2A, 0x5FCB_6FAB_3AD6_FAEC, 0x6C44_198C_4A47_5817,
  ]
}
