#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

// The interface of libcrypto 1.1.1 and later, and of LibreSSL 3.4 and later.
static struct {
  void *(*new_text)(const void *, int);
  int (*free_text)(void *);
  void *(*read)(void *, void **, int (*)(char *, int, int, void *), void *);
  void (*free)(void *);
  int (*write_public)(const void *, unsigned char **);
  void *(*new_generator)(int, void *);
  void (*free_generator)(void *);
  int (*begin_generating)(void *);
  int (*set)(void *, int, int, int, int, void *);
  int (*generate)(void *, void **);
  void *(*new_context)(void);
  void (*free_context)(void *);
  const void *(*sha256)(void);
  int (*begin)(void *, void **, const void *, void *, void *);
  int (*sign)(void *, unsigned char *, size_t *, const unsigned char *, size_t);
  void (*clear_errors)(void);
} keys;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;

#define FUNCTIONS(x) \
  x(BIO_new_mem_buf, keys.new_text) \
  x(BIO_free, keys.free_text) \
  x(PEM_read_bio_PrivateKey, keys.read) \
  x(EVP_PKEY_free, keys.free) \
  x(i2d_PUBKEY, keys.write_public) \
  x(EVP_PKEY_CTX_new_id, keys.new_generator) \
  x(EVP_PKEY_CTX_free, keys.free_generator) \
  x(EVP_PKEY_keygen_init, keys.begin_generating) \
  x(EVP_PKEY_CTX_ctrl, keys.set) \
  x(EVP_PKEY_keygen, keys.generate) \
  x(EVP_MD_CTX_new, keys.new_context) \
  x(EVP_MD_CTX_free, keys.free_context) \
  x(EVP_sha256, keys.sha256) \
  x(EVP_DigestSignInit, keys.begin) \
  x(EVP_DigestSign, keys.sign) \
  x(ERR_clear_error, keys.clear_errors)

FUNCTIONS(MARTLET_DECLARE)

static void open_library(void) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  const size_t count = sizeof symbols / sizeof symbols[0];
  const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so", NULL};
  struct martlet_library library;
  // A library that is already loaded, such as libcurl's, saves memory.
  is_usable = martlet_library_find(&library, symbols, count, names, RTLD_NOLOAD) ||
              martlet_library_find(&library, symbols, count, names, 0);
  if (is_usable) martlet_exit_guard(&library);
}

static void load(void) {
  martlet_exit_watch();
  if (!martlet_library_enter()) return;
  open_library();
  martlet_library_leave();
}

bool martlet_keys_are_usable(void) {
  pthread_once(&once, load);
  return is_usable;
}

/// Refuses to ask for a password, which OpenSSL would otherwise do on the terminal.
static int no_password(char *buffer, int size, int is_writing, void *unused) { return -1; }

static void *read_key(const void *pem, size_t count) {
  void *text = count <= INT_MAX ? keys.new_text(pem, (int)count) : NULL;
  if (!text) return NULL;
  void *key = keys.read(text, NULL, no_password, NULL);
  keys.free_text(text);
  keys.clear_errors();
  return key;
}

void *martlet_key_read(const void *pem, size_t count) {
  if (!martlet_keys_are_usable() || !martlet_library_enter()) return NULL;
  void *key = read_key(pem, count);
  martlet_library_leave();
  return key;
}

static void *generate(void) {
  enum { kEC = 408, kP256 = 415, kParametersOrKey = 6, kSetCurve = 0x1001 };
  void *key = NULL;
  void *generator = keys.new_generator(kEC, NULL);
  if (generator && keys.begin_generating(generator) == 1 &&
      keys.set(generator, kEC, kParametersOrKey, kSetCurve, kP256, NULL) == 1) {
    if (keys.generate(generator, &key) != 1) key = NULL;
  }
  keys.free_generator(generator);
  keys.clear_errors();
  return key;
}

void *martlet_key_new(void) {
  if (!martlet_keys_are_usable() || !martlet_library_enter()) return NULL;
  void *key = generate();
  martlet_library_leave();
  return key;
}

void martlet_key_free(void *key) {
  if (!martlet_library_enter()) return;
  keys.free(key);
  martlet_library_leave();
}

size_t martlet_key_public(const void *key, uint8_t *octets, size_t capacity) {
  if (!martlet_library_enter()) return 0;
  int count = keys.write_public(key, NULL);
  if (count > 0 && (size_t)count <= capacity) count = keys.write_public(key, &octets);
  keys.clear_errors();
  martlet_library_leave();
  return count > 0 && (size_t)count <= capacity ? (size_t)count : 0;
}

size_t martlet_key_sign(
    void *key, bool is_hashed, const uint8_t *message, size_t count, uint8_t *signature, size_t capacity) {
  if (!martlet_library_enter()) return 0;
  size_t length = capacity;
  void *context = keys.new_context();
  const bool is_signed = context && keys.begin(context, NULL, is_hashed ? keys.sha256() : NULL, NULL, key) == 1 &&
                         keys.sign(context, signature, &length, message, count) == 1;
  keys.free_context(context);
  keys.clear_errors();
  martlet_library_leave();
  return is_signed ? length : 0;
}

#endif
