import Foundation

/// Self-signed certificates, and the pins of their keys, made with OpenSSL 3.0.
///
/// `openssl req -x509 -newkey … -nodes`, and `openssl x509 -noout -pubkey | openssl pkey -pubin -outform der | openssl
/// dgst -sha256 -binary | base64`.
enum CertificateVector: String, CaseIterable, Sendable {
  case rsa, p256, p384, ed25519
  /// A P-256 key with explicit parameters.
  case explicit
  /// Version 1, without a version field and extensions.
  case v1

  /// The pin that OpenSSL computes.
  var pin: String {
    switch self {
    case .rsa: "sha256//Pykp9vlnROrhXoWb6IFgE3BTdkpOZTXmk0keg2j8mT0="
    case .p256: "sha256//yC3FbNKzmMcSac6fJtlC2ps/YvAkkXSeM/pwYMnb3N0="
    case .p384: "sha256//QTM1hmfQL5rVVYz7HXv2dMAcT6OFmTq8dkxDhQMzXmA="
    case .ed25519: "sha256//LSVELS1TwBxvEIj66XhkcHnc1xC8tiq7Yu0rE3AhD2g="
    case .explicit: "sha256//ImrWnzep94d0OkQ9ngEoYrUxFtLfDOhCQ4aXRhEez2E="
    case .v1: "sha256//DAM3swuBC6KFSOS2qyJftQio2oyIa/BytAt3TmYDaEg="
    }
  }

  var der: Data { Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data() }

  private var base64: String {
    switch self {
    case .rsa:
      """
      MIIDJzCCAg+gAwIBAgIUKni28Khl0F0Y4ZmTFja4XVKBm8IwDQYJKoZIhvcNAQELBQAwFjEUMBIGA1UEAwwLcnNhLmV4YW1wbGUwIBcN
      MjYxMTMwMTAzMTQyWhgPMjEyNjExMDYxMDMxNDJaMBYxFDASBgNVBAMMC3JzYS5leGFtcGxlMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A
      MIIBCgKCAQEA4BU+I6N22BeqGD4RTEjjhtK5m9jlCeIR8SDKvCNEBKe23un2oV+Dh74M3Vk1/9yZTuMpdUXm3+y0FJ7BcVNiPZVFngeN
      NDyCLB37Xx3I8p8QfyvRGCd9EWtAmRui/rLd/qJx4zPtUMsbfikJXQS3dkGgKLZGP83puy+EBKA5vz1OsVJ75kbx3GzfLT/Zc03eWl+/
      L74uTVnG+mcC0AQO7B3rjJKT2ym+6SdzWpT3mcRRM20NVzzDCb3sev7S8SijIXhCqlZEI2EDJH7Pce1rMryqcOY3ZrAboiEibW/pkGx+
      m+qD0uFghRwi/K2X8gG61agVpH93dYQIl2BqwW4rBQIDAQABo2swaTAdBgNVHQ4EFgQU/1uSfn+bMUQ15JGa+yJCavUuxewwHwYDVR0j
      BBgwFoAU/1uSfn+bMUQ15JGa+yJCavUuxewwDwYDVR0TAQH/BAUwAwEB/zAWBgNVHREEDzANggtyc2EuZXhhbXBsZTANBgkqhkiG9w0B
      AQsFAAOCAQEAP6JwMV6QA4lAPNEpQ9RgCgONamLzN/NlfCJUhwcVwkHtufLKNG6YpLrw4XQLu3ahIfbwcDfP3frlha/cRp8AFHNQKRFQ
      Q+EjAJCDwQowLdPjoy6woRg2AX3tHOln+zD7KtbUVhqXRpCRTl1D0Tu3oQffa966X6iyp7NdhrXpVA9B7DaC3kfVW/p+6wF0nALoCMo5
      ltagAL4xz+SCicW86jFALsaPjhAK0E7k/ahc6Q00TYhqTymfUj1+iUqkJonpHRbHbiFA3l2n0cQTkkJIl2EJwbHT0z1EssBa2TTOAC9q
      mqEkI7et0A6DbKRIgcb90G5oCX5qI8rsxWT4XIvqyg==
      """
    case .p256:
      """
      MIIBnzCCAUSgAwIBAgIUTZ9sF0bX17sR6lP+2iSwR1vhqc0wCgYIKoZIzj0EAwIwFzEVMBMGA1UEAwwMcDI1Ni5leGFtcGxlMCAXDTI2
      MTEzMDEwMzE0MloYDzIxMjYxMTA2MTAzMTQyWjAXMRUwEwYDVQQDDAxwMjU2LmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
      AARh4PK7+4LgOPxn5wjw/NfdOHn28JglVnqGJAiy/Nxq06x1HrccPVN1+kW9qvCZXuJOFOz+CNgrusyqV7jf8itoo2wwajAdBgNVHQ4E
      FgQUGDx31ZK2pxVeBDWpM3TFei8ySu0wHwYDVR0jBBgwFoAUGDx31ZK2pxVeBDWpM3TFei8ySu0wDwYDVR0TAQH/BAUwAwEB/zAXBgNV
      HREEEDAOggxwMjU2LmV4YW1wbGUwCgYIKoZIzj0EAwIDSQAwRgIhAIgxgyFJqAgj/UMS4LBWDWB2DH4lMcQ3tLpyPvcEBnjaAiEA4YO+
      fmRN3FSn3S1WXmkHCPVmmXK4Bevz2ntYnb++HEs=
      """
    case .p384:
      """
      MIIB3DCCAWGgAwIBAgIUVwfLONWecrxTpKuvaRfL4AZ2W7QwCgYIKoZIzj0EAwIwFzEVMBMGA1UEAwwMcDM4NC5leGFtcGxlMCAXDTI2
      MTEzMDEwMzE0MloYDzIxMjYxMTA2MTAzMTQyWjAXMRUwEwYDVQQDDAxwMzg0LmV4YW1wbGUwdjAQBgcqhkjOPQIBBgUrgQQAIgNiAASS
      IZjCm1Oqgj9jupwQdh8D5Y92SBKVLJXk0OzZR0DiRi5PlCi1LWZR5aNf/AiQFyT94SMDusFKqSOlysy6wIaqYik5twB0dMUGCRl0gQdH
      6XY9ZKl5z1fczqxCilSxfVWjbDBqMB0GA1UdDgQWBBS8YJZ2Dm2G5GYm81sX/HaERgvKaTAfBgNVHSMEGDAWgBS8YJZ2Dm2G5GYm81sX
      /HaERgvKaTAPBgNVHRMBAf8EBTADAQH/MBcGA1UdEQQQMA6CDHAzODQuZXhhbXBsZTAKBggqhkjOPQQDAgNpADBmAjEAmWyPA4Ylyn9e
      VXkFgtjmLVzo2e2wXIfWmMSOdsAWFjf4yBGWg52FJo7szfWnZW7SAjEApqQclhsENomE/hcerkBHK1Yo1VE9dmU1Pd0ZUslV5/I7tLPT
      aZeK+85Wxim3kEir
      """
    case .ed25519:
      """
      MIIBZzCCARmgAwIBAgIUVKreO2e3LEdZ6Rfo6fIwinSBGSswBQYDK2VwMBoxGDAWBgNVBAMMD2VkMjU1MTkuZXhhbXBsZTAgFw0yNjEx
      MzAxMDMxNDJaGA8yMTI2MTEwNjEwMzE0MlowGjEYMBYGA1UEAwwPZWQyNTUxOS5leGFtcGxlMCowBQYDK2VwAyEAtYYs1DGYDAukhLZX
      kqLS9+KzjbburP4G9HhxMgVE5xejbzBtMB0GA1UdDgQWBBT9e96TbsYbPigYtUJCILkcF2QeozAfBgNVHSMEGDAWgBT9e96TbsYbPigY
      tUJCILkcF2QeozAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGCD2VkMjU1MTkuZXhhbXBsZTAFBgMrZXADQQAdQOuP8xA4n70QJFYZ
      PV6BT53PmZifwWhJQ88eNA73PsBB/IAnuFvJXcIkdThfuFNVwKZD8vlJaRUJ9xRfb/AF
      """
    case .explicit:
      """
      MIICgTCCAiegAwIBAgIUKRFO6iFuh3vpts3+P9iwKtVpSn0wCgYIKoZIzj0EAwIwGzEZMBcGA1UEAwwQZXhwbGljaXQuZXhhbXBsZTAg
      Fw0yNjExMzAxMDMxNDJaGA8yMTI2MTEwNjEwMzE0MlowGzEZMBcGA1UEAwwQZXhwbGljaXQuZXhhbXBsZTCCAUswggEDBgcqhkjOPQIB
      MIH3AgEBMCwGByqGSM49AQECIQD/////AAAAAQAAAAAAAAAAAAAAAP///////////////zBbBCD/////AAAAAQAAAAAAAAAAAAAAAP//
      /////////////AQgWsY12Ko6k+ez671VdpiGvGUdBrDMU7D2O848PifSYEsDFQDEnTYIhucEk2pmeOETnSa3gZ9+kARBBGsX0fLhLEJH
      +Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT+NC4v4af5uO5+tKfA+eFivOM1drMV7Oy7ZAaDe/UfUCIQD/////AAAAAP//////////vOb6
      racXnoTzucrC/GMlUQIBAQNCAARNwwlROs9RM6gEigMllE4YrxOjEI7BVPEnHDV2Tuwh9GwvsKI8gHUThFQWIBVeLZBkVmrPMGhPYx+D
      PWpvR2E7o1MwUTAdBgNVHQ4EFgQUVohFMaTamoHmy65obq6vK7Q7jLowHwYDVR0jBBgwFoAUVohFMaTamoHmy65obq6vK7Q7jLowDwYD
      VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAzkE4Tsoz490WwxISMUBxsypOqdyJN+xvBGvl2Ki08h0CIG0vtVjus3gHaUva
      OYS+MAzK7ahxsBjuk8krYAdnHCnF
      """
    case .v1:
      """
      MIIBJjCBzQIUDZxWSo6Fo2QmlHwkGf1fZXky564wCgYIKoZIzj0EAwIwFTETMBEGA1UEAwwKdjEuZXhhbXBsZTAgFw0yNjExMzAxMDMx
      NDJaGA8yMTI2MTEwNjEwMzE0MlowFTETMBEGA1UEAwwKdjEuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDkMfqT5ouGh
      y5p6PStIdgSX3b5nHALYVhlcKxczN8KTPwlgIV1NZsCthHPSP+4J2srqj/L4iTFB1ynTvzM/wr8wCgYIKoZIzj0EAwIDSAAwRQIgIibh
      MsgjlQDQDuvEVNoQH1iuDfGA89TUlDhxMa3PAzkCIQCCm61pxE/vifTiHQ9Jnf5S7F0bHTOepWIu9JHzQcvZRg==
      """
    }
  }
}
