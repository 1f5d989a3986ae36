#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>

// The interface of libcrypto 1.1 and later.
static void *(*make_context)(void);
static void (*free_context)(void *);
static const void *(*sha256)(void);
static int (*begin)(void *, const void *, void *);
static int (*update)(void *, const void *, size_t);
static int (*finish)(void *, unsigned char *, unsigned *);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;

#define FUNCTIONS(x) \
  x(EVP_MD_CTX_new, make_context) \
  x(EVP_MD_CTX_free, free_context) \
  x(EVP_sha256, sha256) \
  x(EVP_DigestInit_ex, begin) \
  x(EVP_DigestUpdate, update) \
  x(EVP_DigestFinal_ex, finish)

FUNCTIONS(MARTLET_DECLARE)

static void open_library(void) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", NULL};
  struct martlet_library library;
  // Uses only a library that is already loaded, because a second copy would waste memory.
  is_usable =
      martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], names, RTLD_NOLOAD);
  if (is_usable) martlet_exit_guard(&library);
}

static void load(void) {
  martlet_exit_watch();
  if (!martlet_library_enter()) return;
  open_library();
  martlet_library_leave();
}

static void *new(void) {
  void *context = make_context();
  if (context && begin(context, sha256(), NULL) != 1) {
    free_context(context);
    return NULL;
  }
  return context;
}

// A context owns its state. Only creating and freeing it touches state that all users of libcrypto share.
void *martlet_sha256_new(void) {
  pthread_once(&once, load);
  if (!is_usable || !martlet_library_enter()) return NULL;
  void *context = new();
  martlet_library_leave();
  return context;
}

bool martlet_sha256_update(void *digest, const void *bytes, size_t count) { return update(digest, bytes, count) == 1; }

bool martlet_sha256_finish(void *digest, unsigned char *octets) {
  unsigned count = 0;
  return finish(digest, octets, &count) == 1 && count == 32;
}

void martlet_sha256_free(void *digest) {
  if (!martlet_library_enter()) return;
  free_context(digest);
  martlet_library_leave();
}

#endif
