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

// MARK: Encoding

enum { kChecksum = 201, kLevel = 100, kWindowLog = 101, kContinue = 0, kEnd = 2 };

static void *(*create_encoder)(void);
static size_t (*release_encoder)(void *);
static size_t (*set_encoder_parameter)(void *, int, int);
static size_t (*compress)(void *, struct out_buffer *, struct in_buffer *, int);
static unsigned (*is_encoder_error)(size_t);
static pthread_once_t encoder_once = PTHREAD_ONCE_INIT;
static bool can_encode;

#define ENCODER_FUNCTIONS(x) \
  x(ZSTD_createCCtx, create_encoder) \
  x(ZSTD_freeCCtx, release_encoder) \
  x(ZSTD_CCtx_setParameter, set_encoder_parameter) \
  x(ZSTD_compressStream2, compress)

ENCODER_FUNCTIONS(MARTLET_DECLARE)

static void load_encoder(void) {
  const struct martlet_symbol symbols[] = {
      ENCODER_FUNCTIONS(MARTLET_SYMBOL) MARTLET_SYMBOL(ZSTD_isError, is_encoder_error)};
  const char *const names[] = {"libzstd.so.1", NULL};
  struct martlet_library library;
  can_encode = martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], names, 0);
}

bool martlet_zstd_encodes(void) {
  pthread_once(&encoder_once, load_encoder);
  return can_encode;
}

void *martlet_zstd_encoder_new(int level, int window_log) {
  if (!martlet_zstd_encodes()) return NULL;
  void *encoder = create_encoder();
  if (encoder && (is_encoder_error(set_encoder_parameter(encoder, kLevel, level)) ||
                  is_encoder_error(set_encoder_parameter(encoder, kWindowLog, window_log)) ||
                  is_encoder_error(set_encoder_parameter(encoder, kChecksum, 1)))) {
    release_encoder(encoder);
    return NULL;
  }
  return encoder;
}

void martlet_zstd_encoder_free(void *encoder) { release_encoder(encoder); }

int martlet_zstd_encode(
    void *encoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length, bool is_last) {
  struct in_buffer in = {input, *input_length, 0};
  struct out_buffer out = {output, *output_length, 0};
  size_t rest = compress(encoder, &out, &in, is_last ? kEnd : kContinue);
  *input_length = in.position;
  *output_length = out.position;
  if (is_encoder_error(rest)) return -1;
  return is_last && rest == 0 ? 1 : 0;
}

#endif
