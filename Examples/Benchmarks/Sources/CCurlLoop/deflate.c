#include "CCurlLoop.h"

#include <stdlib.h>
#include <zlib.h>

struct bench_deflate {
  z_stream out;
  z_stream in;
};

bench_deflate *bench_deflate_new(int level) {
  bench_deflate *contexts = calloc(1, sizeof *contexts);
  if (!contexts) return NULL;
  deflateInit2(&contexts->out, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  inflateInit2(&contexts->in, -15);
  return contexts;
}

void bench_deflate_free(bench_deflate *contexts) {
  deflateEnd(&contexts->out);
  inflateEnd(&contexts->in);
  free(contexts);
}

long bench_deflate_message(bench_deflate *contexts, const void *bytes, long count, void *room, long capacity) {
  z_stream *stream = &contexts->out;
  stream->next_in = (Bytef *)bytes;
  stream->avail_in = (uInt)count;
  stream->next_out = room;
  stream->avail_out = (uInt)capacity;
  if (deflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in || stream->avail_out == 0) return -1;
  return capacity - (long)stream->avail_out - 4;
}

long bench_inflate_message(bench_deflate *contexts, const void *bytes, long count, void *room, long capacity) {
  static const Bytef end[] = {0, 0, 0xff, 0xff};
  z_stream *stream = &contexts->in;
  stream->next_in = (Bytef *)bytes;
  stream->avail_in = (uInt)count;
  stream->next_out = room;
  stream->avail_out = (uInt)capacity;
  int result = inflate(stream, Z_NO_FLUSH);
  if (result != Z_OK && result != Z_BUF_ERROR) return -1;
  stream->next_in = (Bytef *)end;
  stream->avail_in = 4;
  result = inflate(stream, Z_SYNC_FLUSH);
  if ((result != Z_OK && result != Z_BUF_ERROR) || stream->avail_in) return -1;
  return capacity - (long)stream->avail_out;
}
