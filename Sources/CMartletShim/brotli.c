#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <pthread.h>

// The interface of libbrotlidec 1.x.
enum { kError = 0, kSuccess = 1 };

static void *(*create)(void *(*)(void *, size_t), void (*)(void *, void *), void *);
static int (*decompress)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
static void (*destroy)(void *);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;

#define FUNCTIONS(x) \
  x(BrotliDecoderCreateInstance, create) \
  x(BrotliDecoderDecompressStream, decompress) \
  x(BrotliDecoderDestroyInstance, destroy)

FUNCTIONS(MARTLET_DECLARE)

static void load(void) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  const char *const names[] = {"libbrotlidec.so.1", NULL};
  struct martlet_library library;
  is_usable = martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], names, 0);
}

bool martlet_brotli_is_usable(void) {
  pthread_once(&once, load);
  return is_usable;
}

void *martlet_brotli_new(void) { return martlet_brotli_is_usable() ? create(NULL, NULL, NULL) : NULL; }

void martlet_brotli_free(void *decoder) { destroy(decoder); }

int martlet_brotli_decode(
    void *decoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length) {
  size_t input_left = *input_length;
  size_t output_left = *output_length;
  int result = decompress(decoder, &input_left, &input, &output_left, &output, NULL);
  *input_length -= input_left;
  *output_length -= output_left;
  if (result == kError) return -1;
  return result == kSuccess ? 1 : 0;
}

// MARK: Encoding

// The interface of libbrotlienc 1.x.
enum { kQuality = 1, kWindowLog = 2, kProcess = 0, kFinish = 2 };

static void *(*create_encoder)(void *(*)(void *, size_t), void (*)(void *, void *), void *);
static int (*set_parameter)(void *, int, uint32_t);
static int (*compress)(void *, int, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
static int (*is_finished)(void *);
static void (*destroy_encoder)(void *);
static pthread_once_t encoder_once = PTHREAD_ONCE_INIT;
static bool can_encode;

#define ENCODER_FUNCTIONS(x) \
  x(BrotliEncoderCreateInstance, create_encoder) \
  x(BrotliEncoderSetParameter, set_parameter) \
  x(BrotliEncoderCompressStream, compress) \
  x(BrotliEncoderIsFinished, is_finished) \
  x(BrotliEncoderDestroyInstance, destroy_encoder)

ENCODER_FUNCTIONS(MARTLET_DECLARE)

static void load_encoder(void) {
  const struct martlet_symbol symbols[] = {ENCODER_FUNCTIONS(MARTLET_SYMBOL)};
  const char *const names[] = {"libbrotlienc.so.1", NULL};
  struct martlet_library library;
  can_encode = martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], names, 0);
}

bool martlet_brotli_encodes(void) {
  pthread_once(&encoder_once, load_encoder);
  return can_encode;
}

void *martlet_brotli_encoder_new(uint32_t quality, uint32_t window_log) {
  void *encoder = martlet_brotli_encodes() ? create_encoder(NULL, NULL, NULL) : NULL;
  if (encoder && (!set_parameter(encoder, kQuality, quality) || !set_parameter(encoder, kWindowLog, window_log))) {
    destroy_encoder(encoder);
    return NULL;
  }
  return encoder;
}

void martlet_brotli_encoder_free(void *encoder) { destroy_encoder(encoder); }

int martlet_brotli_encode(
    void *encoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length, bool is_last) {
  size_t input_left = *input_length;
  size_t output_left = *output_length;
  int is_right = compress(encoder, is_last ? kFinish : kProcess, &input_left, &input, &output_left, &output, NULL);
  *input_length -= input_left;
  *output_length -= output_left;
  if (!is_right) return -1;
  return is_finished(encoder) ? 1 : 0;
}

#endif
