#define _GNU_SOURCE
#include "CCurlLoop.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// A WebSocket server that costs little: it sends every payload as it arrived, so it does not compress. It trusts its
// clients.

enum { kRead = 256 << 10, kHighWater = 1 << 20, kMaximumSockets = 1 << 16 };

typedef enum { kHandshake, kEcho, kSink, kSource } mode;

typedef struct {
  uint8_t *bytes;
  size_t count, capacity;
} buffer;

typedef struct {
  mode mode;
  buffer in;
  buffer out;
  size_t sent;
  // A frame that `kSource` sends repeatedly, and the number of times.
  buffer template;
  int64_t rest;
  bool is_paused;
  // Whether the connection ends after `out`.
  bool is_closing;
} peer;

static peer *peers[kMaximumSockets];

static void append(buffer *buffer, const void *bytes, size_t count) {
  if (buffer->count + count > buffer->capacity) {
    buffer->capacity = 2 * (buffer->count + count);
    buffer->bytes = realloc(buffer->bytes, buffer->capacity);
  }
  memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
}

// An idle connection keeps no buffer.
static void clear(buffer *buffer) {
  free(buffer->bytes);
  *buffer = (typeof(*buffer)){0};
}

static void drop(int socket) {
  peer *peer = peers[socket];
  clear(&peer->in);
  clear(&peer->out);
  clear(&peer->template);
  free(peer);
  peers[socket] = NULL;
  close(socket);
}

// MARK: Sending

static void watch(int poll, int socket, bool reads, bool writes) {
  struct epoll_event event = {.events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0), .data.fd = socket};
  epoll_ctl(poll, EPOLL_CTL_MOD, socket, &event);
}

/// Sends what the socket takes; returns false after an error, or at the end.
static bool flush(int poll, int socket) {
  peer *peer = peers[socket];
  for (;;) {
    if (peer->sent == peer->out.count) {
      peer->sent = peer->out.count = 0;
      if (peer->rest == 0) break;
      do append(&peer->out, peer->template.bytes, peer->template.count);
      while (--peer->rest > 0 && peer->out.count < kRead);
    }
    ssize_t count = send(socket, peer->out.bytes + peer->sent, peer->out.count - peer->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno != EAGAIN) return false;
      bool is_full = peer->out.count - peer->sent > kHighWater;
      watch(poll, socket, !is_full, true);
      peer->is_paused = true;
      return true;
    }
    peer->sent += (size_t)count;
  }
  clear(&peer->out);
  if (peer->is_closing) return false;
  if (peer->is_paused) watch(poll, socket, true, false);
  peer->is_paused = false;
  return true;
}

static void append_frame(buffer *out, uint8_t first, const uint8_t *payload, size_t count) {
  uint8_t head[10] = {first};
  size_t length = 2;
  if (count < 126) {
    head[1] = (uint8_t)count;
  } else {
    length = count < 1 << 16 ? 4 : 10;
    head[1] = length == 4 ? 126 : 127;
    for (size_t i = 2; i < length; i++) head[i] = (uint8_t)(count >> 8 * (length - 1 - i));
  }
  append(out, head, length);
  append(out, payload, count);
}

// MARK: Receiving

static void unmask(uint8_t *bytes, size_t count, const uint8_t *mask) {
  uint64_t wide;
  uint32_t narrow;
  memcpy(&narrow, mask, 4);
  wide = (uint64_t)narrow << 32 | narrow;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, 8);
    word ^= wide;
    memcpy(bytes + i, &word, 8);
  }
  for (; i < count; i++) bytes[i] ^= mask[i & 3];
}

static void take_frame(int socket, uint8_t first, uint8_t *payload, size_t count) {
  peer *peer = peers[socket];
  uint8_t opcode = first & 15;
  bool is_text = opcode == 1;
  if (opcode == 8) {
    append_frame(&peer->out, first, payload, count);
    peer->is_closing = true;
  } else if (opcode == 9) {
    append_frame(&peer->out, 0x8a, payload, count);
  } else if (peer->mode == kEcho || (peer->mode == kSink && is_text)) {
    append_frame(&peer->out, first, payload, count);
  } else if (peer->mode == kSource && is_text) {
    char text[24] = {0};
    memcpy(text, payload, count < 23 ? count : 23);
    peer->rest = strtoll(text, NULL, 10);
  } else if (peer->mode == kSource) {
    clear(&peer->template);
    append_frame(&peer->template, first, payload, count);
  }
}

static bool take_frames(int socket) {
  peer *peer = peers[socket];
  size_t at = 0;
  while (peer->in.count - at >= 6) {
    uint8_t *head = peer->in.bytes + at;
    uint64_t count = head[1] & 127;
    size_t length = 2;
    if (count > 125) {
      length = count == 126 ? 4 : 10;
      if (peer->in.count - at < length + 4) break;
      count = 0;
      for (size_t i = 2; i < length; i++) count = count << 8 | head[i];
    }
    if (!(head[1] & 128) || count > 1 << 24) return false;
    if (peer->in.count - at < length + 4 + count) break;
    unmask(head + length + 4, count, head + length);
    take_frame(socket, head[0], head + length + 4, count);
    at += length + 4 + count;
  }
  peer->in.count -= at;
  if (peer->in.count) memmove(peer->in.bytes, peer->in.bytes + at, peer->in.count);
  else clear(&peer->in);
  return true;
}

typedef unsigned char *(*sha1)(const unsigned char *, size_t, unsigned char *);
typedef int (*encode_block)(unsigned char *, const unsigned char *, int);
static sha1 hash;
static encode_block encode_base64;

/// Answers a complete head; returns false for a request that is not a handshake.
static bool take_head(int socket) {
  peer *peer = peers[socket];
  append(&peer->in, "", 1);
  char *head = (char *)peer->in.bytes;
  char *end = strstr(head, "\r\n\r\n");
  peer->in.count--;
  if (!end) return true;
  char *key = strcasestr(head, "\r\nsec-websocket-key:");
  if (!key) return false;
  char joined[80];
  key += 20;
  while (*key == ' ') key++;
  snprintf(joined, sizeof joined, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
  uint8_t digest[20];
  hash((unsigned char *)joined, strlen(joined), digest);
  char accept[32], answer[256];
  encode_base64((unsigned char *)accept, digest, sizeof digest);
  bool is_compressed = strcasestr(head, "permessage-deflate");
  int length = snprintf(
      answer, sizeof answer,
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s\r\n",
      accept, is_compressed ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "");
  append(&peer->out, answer, (size_t)length);
  peer->mode = strncmp(head, "GET /sink", 9) == 0 ? kSink : strncmp(head, "GET /source", 11) == 0 ? kSource : kEcho;
  size_t used = (size_t)(end + 4 - head);
  peer->in.count -= used;
  memmove(peer->in.bytes, peer->in.bytes + used, peer->in.count);
  return take_frames(socket);
}

static void read_peer(int poll, int socket) {
  static uint8_t bytes[kRead];
  peer *peer = peers[socket];
  ssize_t count = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return drop(socket);
  append(&peer->in, bytes, (size_t)count);
  bool is_fine = peer->mode == kHandshake ? take_head(socket) : take_frames(socket);
  if (!is_fine || !flush(poll, socket)) drop(socket);
}

static void accept_all(int listener, int poll) {
  int socket;
  while ((socket = bench_accept(listener, poll)) >= 0) {
    peer *peer = socket < kMaximumSockets ? calloc(1, sizeof *peer) : NULL;
    if (peer) peers[socket] = peer;
    else close(socket);
  }
}

static void *serve(void *context) {
  int listener = (int)(intptr_t)context;
  int poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, -1);
    for (int i = 0; i < count; i++) {
      int socket = events[i].data.fd;
      if (socket == listener) {
        accept_all(listener, poll);
      } else if (peers[socket] && events[i].events & EPOLLOUT && !flush(poll, socket)) {
        drop(socket);
      } else if (peers[socket] && events[i].events & ~(uint32_t)EPOLLOUT) {
        read_peer(poll, socket);
      }
    }
  }
  return NULL;
}

int bench_websocket_server_start(void) {
  int port = 0;
  void *crypto = dlopen("libcrypto.so.3", RTLD_NOW);
  if (!crypto) crypto = dlopen("libcrypto.so.1.1", RTLD_NOW);
  hash = crypto ? (sha1)dlsym(crypto, "SHA1") : NULL;
  encode_base64 = crypto ? (encode_block)dlsym(crypto, "EVP_EncodeBlock") : NULL;
  int listener = hash && encode_base64 ? bench_listen_on_loopback(&port) : -1;
  if (listener < 0) return 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener)) return 0;
  pthread_detach(thread);
  return port;
}
