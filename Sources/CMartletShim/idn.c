#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int (*to_ascii)(const char *, char **, int);
static void (*release)(void *);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;

#define FUNCTIONS(x) \
  x(idn2_to_ascii_8z, to_ascii) \
  x(idn2_free, release)

FUNCTIONS(MARTLET_DECLARE)

static void load(void) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  const char *const names[] = {"libidn2.so.0", NULL};
  struct martlet_library library;
  is_usable = martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], names, 0);
}

bool martlet_idn_is_usable(void) {
  pthread_once(&once, load);
  return is_usable;
}

char *martlet_idn_to_ascii(const char *name) {
  enum { kNormalize = 1, kNontransitional = 8 };
  if (!martlet_idn_is_usable()) return NULL;
  char *mapped = NULL;
  if (to_ascii(name, &mapped, kNormalize | kNontransitional) != 0 || !mapped) return NULL;
  char *copy = strdup(mapped);
  release(mapped);
  return copy;
}

#endif
