#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__) || defined(__APPLE__)

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

// The interface of zlib 1.x.
struct stream {
  const unsigned char *next_in;
  unsigned int avail_in;
  unsigned long total_in;
  unsigned char *next_out;
  unsigned int avail_out;
  unsigned long total_out;
  const char *msg;
  void *state;
  void *(*zalloc)(void *, unsigned int, unsigned int);
  void (*zfree)(void *, void *);
  void *opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
};

enum { kOK = 0, kStreamEnd = 1, kBufferError = -5, kNoFlush = 0, kSyncFlush = 2, kFinish = 4 };
enum { kDeflated = 8, kMemoryLevel = 8, kMaximumWindow = 1 << 15 };
// In `data_type`, while inflating: whether the last step ended between two blocks.
enum { kBetweenBlocks = 128 };

static int (*inflate_init)(struct stream *, int, const char *, int);
static int (*inflate_step)(struct stream *, int);
static int (*inflate_reset)(struct stream *);
static int (*inflate_get_window)(struct stream *, unsigned char *, unsigned int *);
static int (*inflate_set_window)(struct stream *, const unsigned char *, unsigned int);
static int (*inflate_end)(struct stream *);
static int (*deflate_init)(struct stream *, int, int, int, int, int, const char *, int);
static int (*deflate_step)(struct stream *, int);
static int (*deflate_reset)(struct stream *);
static int (*deflate_end)(struct stream *);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;

#define FUNCTIONS(x) \
  x(inflateInit2_, inflate_init) \
  x(inflate, inflate_step) \
  x(inflateReset, inflate_reset) \
  x(inflateGetDictionary, inflate_get_window) \
  x(inflateSetDictionary, inflate_set_window) \
  x(inflateEnd, inflate_end) \
  x(deflateInit2_, deflate_init) \
  x(deflate, deflate_step) \
  x(deflateReset, deflate_reset) \
  x(deflateEnd, deflate_end)

FUNCTIONS(MARTLET_DECLARE)

static void load(void) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
#if defined(__APPLE__)
  const char *const names[] = {"/usr/lib/libz.1.dylib", NULL};
#else
  const char *const names[] = {"libz.so.1", NULL};
#endif
  struct martlet_library library;
  is_usable = martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], names, 0);
}

bool martlet_zlib_is_usable(void) {
  pthread_once(&once, load);
  return is_usable;
}

void *martlet_inflater_new(int window_bits) {
  if (!martlet_zlib_is_usable()) return NULL;
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  if (inflate_init(stream, window_bits, "1.2.11", (int)sizeof *stream) == kOK) return stream;
  free(stream);
  return NULL;
}

void martlet_inflater_free(void *inflater) {
  inflate_end(inflater);
  free(inflater);
}

bool martlet_inflater_reset(void *inflater) { return inflate_reset(inflater) == kOK; }

bool martlet_inflater_resume(void *inflater) {
  unsigned char window[kMaximumWindow];
  unsigned int length = 0;
  return inflate_get_window(inflater, window, &length) == kOK && inflate_reset(inflater) == kOK &&
         inflate_set_window(inflater, window, length) == kOK;
}

bool martlet_inflater_is_between_blocks(const void *inflater) {
  return ((const struct stream *)inflater)->data_type & kBetweenBlocks;
}

/// Performs a step of a stream. `flush` applies if zlib can consume all of the input.
static int act(
    struct stream *stream, int (*step)(struct stream *, int), const uint8_t *input, size_t *input_length,
    uint8_t *output, size_t *output_length, int flush) {
  unsigned int input_size = *input_length > UINT_MAX ? UINT_MAX : (unsigned int)*input_length;
  unsigned int output_size = *output_length > UINT_MAX ? UINT_MAX : (unsigned int)*output_length;
  bool is_whole = input_size == *input_length;
  stream->next_in = input;
  stream->avail_in = input_size;
  stream->next_out = output;
  stream->avail_out = output_size;
  int code = step(stream, is_whole ? flush : kNoFlush);
  *input_length = input_size - stream->avail_in;
  *output_length = output_size - stream->avail_out;
  if (code == kStreamEnd) return 1;
  return code == kOK || code == kBufferError ? 0 : -1;
}

int martlet_inflate(void *inflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length) {
  return act(inflater, inflate_step, input, input_length, output, output_length, kNoFlush);
}

static void *make_deflater(int level, int window_bits, int memory_level) {
  if (!martlet_zlib_is_usable()) return NULL;
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  int code = deflate_init(stream, level, kDeflated, window_bits, memory_level, 0, "1.2.11", (int)sizeof *stream);
  if (code == kOK) return stream;
  free(stream);
  return NULL;
}

// 15 bits of window, plus 16 for the gzip format.
void *martlet_deflater_new(int level) { return make_deflater(level, 15 + 16, kMemoryLevel); }

void *martlet_deflater_new_raw(int level, int window_bits, int memory_level) {
  // zlib uses 9 bits for 8, or fails, depending on its version.
  if (window_bits < 9 || window_bits > 15) return NULL;
  return make_deflater(level, -window_bits, memory_level);
}

void martlet_deflater_free(void *deflater) {
  deflate_end(deflater);
  free(deflater);
}

bool martlet_deflater_reset(void *deflater) { return deflate_reset(deflater) == kOK; }

int martlet_deflate(
    void *deflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length, bool is_last) {
  return act(deflater, deflate_step, input, input_length, output, output_length, is_last ? kFinish : kNoFlush);
}

int martlet_deflate_flush(
    void *deflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length) {
  return act(deflater, deflate_step, input, input_length, output, output_length, kSyncFlush);
}

#endif
