/// Private keys, for tests only.
enum TestKeys {
  /// The RSA key of RFC 7515 §A.2, as PKCS #8.
  static let rsa = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
    jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
    aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
    juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
    ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
    toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
    VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
    PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
    O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
    kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
    XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
    4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
    pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
    0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
    lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
    kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
    rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
    kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
    5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
    9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
    evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
    yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
    OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
    tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
    ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
    03k2+ZQwVK0JKSHuLFkuQ3U=
    -----END PRIVATE KEY-----
    """

  /// The same key as PKCS #1.
  static let rsaPKCS1 = """
    -----BEGIN RSA PRIVATE KEY-----
    MIIEowIBAAKCAQEAofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd/wWJcyQoTbji9k0
    l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL+yRT+SFd2lZS+pC
    gNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb/7OMg0LOL+bSf63kpaSHSX
    ndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uD
    Zlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxXFvUK+DWNmoudF8NAco9/h9iaGNj8
    q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQIDAQABAoIBABKucaRpzQorw35S
    bEUAVx8dYXUdZOlJcHtiWQ+dC6V8ljxAHj/PLyzTveyI5QO/xkObCyjIL303l2cf
    UhPu2MFaJdjVzqACXuOrLot/eSFvxjvqVidTtAZExqFRJ9mylUVAoLvhowVWmC1O
    n95fZCXxTUtxNEG1Xcc7m0rtzJKs45J+N/V9DP1edYH6USyPSWGp6wuA+KgHRnKK
    Vf9GRx80JQY7nVNkL17eHoTWEwga+lwi0FEoW9Y7lDtWXYmKBWhUE+U8PGxlJf8f
    40493HDw1WRQ/aSLoS4QTp3rn7gYgeHEvfJdkkf0UMhlknlo53M09EFPdadQ4TlU
    bjqKc50CgYEA4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH/5IB3jw3bcxGn6QLvnE
    tfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw/Py5PJdTJNPY8cQn7ouZ2KKDcmnPG
    BY5t7yLc1QlQ5xHdwW1VhvKn+nXqhJTBgIPgtldC+KDV5z+y2XDwGUcCgYEAuQPE
    fgmVtjL0Uyyx88GZFF1fOunH3+7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYs
    p1ZSe7zFYHj7C6ul7TjeLQeZD/YwD66t62wDmpe/HlB+TnBA+njbglfIsRLtXlnD
    zQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdcCgYAHAp9XcCSrn8wVkMVkKdb7
    DOX4IKjzdahm+ctDAJN4O/y7OW5FKebvUjdAIt2GuoTZ71iTG+7F0F+lP88jtjP4
    U4qe7VHoewl4MKOfXZKTe+YCS1XbNvfgwJ3Ltyl1OH9hWvu2yza7q+d5PCsDzqtm
    27kxuvULVeya+TEdAB1ijQKBgQCH/3r6YrVH/uCWGy6bzV1nGNOdjKc9tmkfOJmN
    54dxdixdpozCQ6U4OxZrsj3FcOhHBsqAHvX2uuYjagqvo3cOj1TRqNocX40omfCC
    Mx3bD1yPPf/6TI2XECva/ggqEY2mYzmIiA5LVVmc5nrybr+lssFKneeyxN2Wq93S
    0iJMdQKBgCGHewxzoa1r8ZMD0LETNrToK423K377UCYqXfg5XMclbrjPbEC3YI1Z
    NqMtuhdBJqUnBi6tjKMF+34Xf0CUN8ncuXGO2CAYvO8PdyCixHX52ybaDjy1FtCE
    6yUXjoKNXKvUm7MWGsAYH6f4IegOetN5NvmUMFStCSkh7ixZLkN1
    -----END RSA PRIVATE KEY-----
    """

  /// The P-256 key of RFC 7515 §A.3, as PKCS #8.
  static let p256 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
    H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
    7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
    -----END PRIVATE KEY-----
    """

  /// The same key as SEC 1.
  static let p256SEC1 = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
    AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
    focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
    -----END EC PRIVATE KEY-----
    """

  /// The Ed25519 key of RFC 8037 §A.1.
  static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
    -----END PRIVATE KEY-----
    """

  /// A key on a curve that is not supported.
  static let p384 = """
    -----BEGIN PRIVATE KEY-----
    MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCVn1GkUlD35x8YswVx
    NZOwBdcZ4CqowKcA8HlbNC/4hnqnBISABny8dhvunX6MqqehZANiAARcwQOsfCL2
    x4W0tsA/nK3AAZYT7Hn/aO0D71PducVRJysjHER0ArsAX3Zdu3T83yF18rdccXPk
    JMVKUk/lGBIgXHDMKmi0Kxhaoy4aTUTDJ62yhFN4TNwHF/rVdS/uGbM=
    -----END PRIVATE KEY-----
    """

  /// A key that is too short.
  static let rsa1024 = """
    -----BEGIN PRIVATE KEY-----
    MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAMNQxocw3lLiCylC
    R1I7YAkazOsEq5zZbjfj+b9L7WzcJSZ2IAmyLEkEkxd7w1N0Ti2S5wn5K/No2aib
    M5wdXaGw0AeAosHQjXOW42wDHrkO7FLfPRA6izQgh5RGYPUN5H88M5qCq9GpcLZb
    RH66xDKZ8LryY4Sed3hF4GJWk2+zAgMBAAECgYEAl8xUr8eMUxB5qjRn6AJbjlf1
    AYdctYfLgMa/WSzyt1OV0AGovsBqaMmUZID8+wR+qi7tP7QXs5M+7yrIfsHX/S+c
    g8D+no9ZCBkRkd+Hy6gmwizAl6RJLL1uWipVD4dMSnDHigwlL/f7Ohcnqm6/ftn6
    a+nGCvo+mp+JlE3B+YECQQD8j2AxIwl6GgYSvjOE2h0KK5Lcni7OEac7HQHyGTE6
    Kdbw3NHRFEsna1UGLO7L6bYXm5c5MGfwik2jL/iADdNBAkEAxfnMzVLCdInlmOJn
    t5djDxwFU5IeFpx/AZjArPknXY7z1wbvwepLEcTgQJy9FGIQqd7wNLBkRgVOoY/w
    736p8wJAQOxebuMx2Xh9HS5Vsg4brvSakSn8oC57jb+cM270b543yb0KFrQfyadW
    uPqt/C89Bv6RNjtSTMxQvuVi/RAQwQJAMKdFR6hxFYbWIA50AtB3jb0LKhCcyF3J
    cLEDmP7aR8nb7xpLTdKwhDtoCTj71siK49RgH/LBkdu4CUiAo7rzNQJAHh4g+7+R
    u80Xo6RzZVJGUNIZgX+nIIZjNs7PKGqqvfZKEtUe77S2mOMY8UoE6PdtpOtqrf1P
    G4dPasRzfSdWOw==
    -----END PRIVATE KEY-----
    """

  /// A key for another algorithm.
  static let ed448 = """
    -----BEGIN PRIVATE KEY-----
    MEcCAQAwBQYDK2VxBDsEOQ2VSLwy07S3+R0xEv4LBEpJvHlsICOj+ZX9eEAeDKPe
    RFDY5DOr+R2cpgRiUY84PSkCDqlVBZqHUg==
    -----END PRIVATE KEY-----
    """

  /// A key with the password `abcd`.
  static let encrypted = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIH0MF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBAJAbHVRBfJIQHa9/Tj
    LEFtAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQzBicIcHSgveg3u5v
    EumFgwSBkMKN3aFI0DyeulSqk5NUb6DvgwoDx6gVtruBy6fClF7vbKKdnNmV1bKM
    G8f/0b41GsUoa0UyNnvsZ2YqbXwZb5IW/24TkOgru/EiTOp3xtJ1M74CqhPc4ymR
    2HdTCpoSUEI0sIDP3J02m5Pbm0MTk0eI2Cn0XHNnu9h68m1Q/4eBzt2SIlNKMcUH
    UHGgkZIjng==
    -----END ENCRYPTED PRIVATE KEY-----
    """

  /// A public key.
  static let publicKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
    6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
    -----END PUBLIC KEY-----
    """
}
