#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <pthread.h>

// The interface of libzstd 1.4 and later.
struct in_buffer {
  const void *bytes;
  size_t size;
  size_t position;
};

struct out_buffer {
  void *bytes;
  size_t size;
  size_t position;
};

enum { kWindowLogMaximum = 100, kWindowTooLarge = 16 };

static void *(*create)(void);
static size_t (*release)(void *);
static size_t (*set_parameter)(void *, int, int);
static size_t (*decompress)(void *, struct out_buffer *, struct in_buffer *);
static unsigned (*is_error)(size_t);
static int (*error_code)(size_t);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;

#define FUNCTIONS(x) \
  x(ZSTD_createDStream, create) \
  x(ZSTD_freeDStream, release) \
  x(ZSTD_DCtx_setParameter, set_parameter) \
  x(ZSTD_decompressStream, decompress) \
  x(ZSTD_isError, is_error) \
  x(ZSTD_getErrorCode, error_code)

FUNCTIONS(MARTLET_DECLARE)

static void load(void) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  const char *const names[] = {"libzstd.so.1", NULL};
  struct martlet_library library;
  is_usable = martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], names, 0);
}

bool martlet_zstd_is_usable(void) {
  pthread_once(&once, load);
  return is_usable;
}

void *martlet_zstd_new(int window_log) {
  if (!martlet_zstd_is_usable()) return NULL;
  void *decoder = create();
  if (decoder && is_error(set_parameter(decoder, kWindowLogMaximum, window_log))) {
    release(decoder);
    return NULL;
  }
  return decoder;
}

void martlet_zstd_free(void *decoder) { release(decoder); }

int martlet_zstd_decode(
    void *decoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length) {
  struct in_buffer in = {input, *input_length, 0};
  struct out_buffer out = {output, *output_length, 0};
  size_t result = decompress(decoder, &out, &in);
  *input_length = in.position;
  *output_length = out.position;
  if (is_error(result)) return error_code(result) == kWindowTooLarge ? -2 : -1;
  return result == 0 ? 1 : 0;
}

#endif
