import Glibc

// A module cannot contain a type and a function with the same name, so `AppleStatCall` contains the function.
public struct stat {
  public var st_dev: Int32 = 0, st_mode: UInt16 = 0, st_nlink: UInt16 = 0, st_ino: UInt64 = 0
  public var st_uid: uid_t = 0, st_gid: gid_t = 0, st_size: off_t = 0, st_blocks: Int64 = 0, st_blksize: Int32 = 0
  public var st_atimespec = timespec(), st_mtimespec = timespec(), st_ctimespec = timespec()
  public init() {}
}
