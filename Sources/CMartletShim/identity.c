#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <limits.h>
#include <string.h>

// OpenSSL.
static void *(*new_reader)(const void *, int);
static int (*free_reader)(void *);
static void *(*read_certificate)(void *, void **, void *, void *);
static void *(*read_key)(void *, void **, void *, void *);
static void (*free_certificate)(void *);
static void (*free_key)(void *);
static int (*check_key)(const void *, const void *);
static void *(*read_archive)(void *, void **);
static int (*open_archive)(void *, const char *, void **, void **, void **);
static void (*free_archive)(void *);
static void (*clear)(void);
static bool is_openssl;

// GnuTLS.
struct datum {
  const void *bytes;
  unsigned size;
};
static int (*new_credentials)(void **);
static void (*free_credentials)(void *);
static int (*set_key)(void *, const struct datum *, const struct datum *, int, const char *, unsigned);
static int (*set_archive)(void *, const struct datum *, int, const char *);
static bool is_gnutls;

#define OPENSSL_FUNCTIONS(x) \
  x(BIO_new_mem_buf, new_reader) \
  x(BIO_free, free_reader) \
  x(PEM_read_bio_X509, read_certificate) \
  x(PEM_read_bio_PrivateKey, read_key) \
  x(X509_free, free_certificate) \
  x(EVP_PKEY_free, free_key) \
  x(X509_check_private_key, check_key) \
  x(d2i_PKCS12_bio, read_archive) \
  x(PKCS12_parse, open_archive) \
  x(PKCS12_free, free_archive) \
  x(ERR_clear_error, clear)
#define GNUTLS_FUNCTIONS(x) \
  x(gnutls_certificate_allocate_credentials, new_credentials) \
  x(gnutls_certificate_free_credentials, free_credentials) \
  x(gnutls_certificate_set_x509_key_mem2, set_key) \
  x(gnutls_certificate_set_x509_simple_pkcs12_mem, set_archive)

OPENSSL_FUNCTIONS(MARTLET_DECLARE)
GNUTLS_FUNCTIONS(MARTLET_DECLARE)

void martlet_identity_open(const struct martlet_library *library, const char *name) {
  const struct martlet_symbol openssl[] = {OPENSSL_FUNCTIONS(MARTLET_SYMBOL)};
  const struct martlet_symbol gnutls[] = {GNUTLS_FUNCTIONS(MARTLET_SYMBOL)};
  if (name && strncmp(name, "OpenSSL/", 8) == 0) {
    is_openssl = martlet_library_find_beside(library, openssl, sizeof openssl / sizeof openssl[0]);
  } else if (name && strncmp(name, "GnuTLS/", 7) == 0) {
    is_gnutls = martlet_library_find_beside(library, gnutls, sizeof gnutls / sizeof gnutls[0]);
  }
}

static bool check_openssl(const void *certificate, size_t count, const void *key, size_t key_count, const char *password) {
  void *own_certificate = NULL, *own_key = NULL;
  void *reader = new_reader(certificate, (int)count);
  void *key_reader = key ? new_reader(key, (int)key_count) : NULL;
  clear();
  if (key && reader && key_reader) {
    own_certificate = read_certificate(reader, NULL, NULL, (void *)password);
    // With a password, OpenSSL does not ask for one.
    own_key = read_key(key_reader, NULL, NULL, (void *)password);
  } else if (reader) {
    void *archive = read_archive(reader, NULL);
    if (archive && open_archive(archive, password, &own_key, &own_certificate, NULL) != 1) {
      own_key = own_certificate = NULL;
    }
    if (archive) free_archive(archive);
  }
  const bool belongs = own_certificate && own_key && check_key(own_certificate, own_key) == 1;
  clear();
  if (own_key) free_key(own_key);
  if (own_certificate) free_certificate(own_certificate);
  if (key_reader) free_reader(key_reader);
  if (reader) free_reader(reader);
  return belongs;
}

static bool check_gnutls(const void *certificate, size_t count, const void *key, size_t key_count, const char *password) {
  enum { kDER = 0, kPEM = 1 };
  void *credentials = NULL;
  if (new_credentials(&credentials) < 0) return false;
  const struct datum own = {certificate, (unsigned)count}, own_key = {key, (unsigned)key_count};
  // An empty password is a password to GnuTLS, and an archive needs one.
  const char *secret = key && !*password ? NULL : password;
  const int code =
      key ? set_key(credentials, &own, &own_key, kPEM, secret, 0) : set_archive(credentials, &own, kDER, secret);
  free_credentials(credentials);
  return code >= 0;
}

int martlet_identity_check(
    const void *certificate, size_t count, const void *key, size_t key_count, const char *password) {
  if (count > INT_MAX || key_count > INT_MAX || (!is_openssl && !is_gnutls) || !martlet_library_enter()) return -1;
  const bool belongs = is_openssl ? check_openssl(certificate, count, key, key_count, password)
                                  : check_gnutls(certificate, count, key, key_count, password);
  martlet_library_leave();
  return belongs;
}

#endif
