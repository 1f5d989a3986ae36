public import AppleStat

@discardableResult public func stat(_: UnsafePointer<CChar>!, _: UnsafeMutablePointer<AppleStat.stat>!) -> Int32 { -1 }
