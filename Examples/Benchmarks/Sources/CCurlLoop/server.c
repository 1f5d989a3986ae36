#define _GNU_SOURCE
#include "CCurlLoop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// nginx cannot delay a response, and cannot read a body without storing it: it responds before the body, or stores it.

enum { kHeadLimit = 8 << 10, kMaximumSockets = 1 << 16, kHeldMilliseconds = 1000 };

typedef struct {
  char head[kHeadLimit + 1];
  size_t head_length;
  // The received and the missing bytes of the body; -1 for chunks, which are counted with their framing.
  int64_t received;
  int64_t rest;
  char tail[5];
  bool is_in_body;
  uint32_t generation;
} peer;

typedef struct {
  int socket;
  uint32_t generation;
  int64_t due;
} held;

static peer *peers[kMaximumSockets];
static uint32_t generations;
// Every request is held equally long, so they become due in the order of their arrival.
static held queue[kMaximumSockets];
static size_t queue_head, queue_tail;

static int64_t milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void answer(int socket, const char *body) {
  char text[200];
  int length = snprintf(
      text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
  (void)!send(socket, text, (size_t)length, MSG_NOSIGNAL);
}

static void drop(int socket) {
  free(peers[socket]);
  peers[socket] = NULL;
  close(socket);
}

static void finish_upload(int socket) {
  peer *peer = peers[socket];
  char count[32];
  snprintf(count, sizeof count, "%lld\n", (long long)peer->received);
  peer->is_in_body = false;
  peer->head_length = 0;
  answer(socket, count);
}

/// Counts body bytes that are already in memory.
static void take_body(int socket, const char *bytes, size_t count) {
  peer *peer = peers[socket];
  peer->received += (int64_t)count;
  if (peer->rest >= 0) {
    peer->rest -= (int64_t)count;
    if (peer->rest <= 0) finish_upload(socket);
    return;
  }
  size_t kept = count < 5 ? count : 5;
  memmove(peer->tail, peer->tail + kept, 5 - kept);
  memcpy(peer->tail + 5 - kept, bytes + count - kept, kept);
  if (memcmp(peer->tail, "0\r\n\r\n", 5) == 0) finish_upload(socket);
}

/// Handles a complete head; `end` is the first byte after it.
static void take_head(int socket, const char *end) {
  peer *peer = peers[socket];
  if (strstr(peer->head, " /never ")) {
    peer->head_length = 0;
  } else if (strstr(peer->head, " /held ")) {
    peer->head_length = 0;
    queue[queue_tail++ % kMaximumSockets] =
        (held){.socket = socket, .generation = peer->generation, .due = milliseconds() + kHeldMilliseconds};
  } else {
    const char *length = strcasestr(peer->head, "\r\ncontent-length:");
    peer->rest = length ? strtoll(length + 17, NULL, 10) : -1;
    peer->received = 0;
    peer->is_in_body = true;
    memset(peer->tail, 0, 5);
    if (strcasestr(peer->head, "100-continue")) {
      static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
      (void)!send(socket, text, sizeof text - 1, MSG_NOSIGNAL);
    }
    size_t extra = peer->head_length - (size_t)(end - peer->head);
    if (extra || peer->rest == 0) take_body(socket, end, extra);
  }
}

static void read_peer(int socket) {
  static char buffer[1 << 20];
  peer *peer = peers[socket];
  ssize_t count;
  if (peer->is_in_body) {
    // With MSG_TRUNC, TCP discards bytes without copying them.
    int flags = peer->rest >= 0 ? MSG_TRUNC : 0;
    size_t most = sizeof buffer;
    if (peer->rest >= 0 && (int64_t)most > peer->rest) most = (size_t)peer->rest;
    count = recv(socket, buffer, most, flags | MSG_DONTWAIT);
    if (count > 0) return take_body(socket, buffer, (size_t)count);
  } else {
    count = recv(socket, peer->head + peer->head_length, kHeadLimit - peer->head_length, MSG_DONTWAIT);
    if (count > 0) {
      peer->head_length += (size_t)count;
      peer->head[peer->head_length] = 0;
      const char *end = strstr(peer->head, "\r\n\r\n");
      if (end) return take_head(socket, end + 4);
      if (peer->head_length < kHeadLimit) return;
      return drop(socket);
    }
  }
  if (count == 0 || (errno != EAGAIN && errno != EINTR)) drop(socket);
}

int bench_accept(int listener, int poll) {
  int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) return -1;
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
  epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
  return socket;
}

static void accept_all(int listener, int poll) {
  int socket;
  while ((socket = bench_accept(listener, poll)) >= 0) {
    peer *peer = socket < kMaximumSockets ? calloc(1, sizeof *peer) : NULL;
    if (!peer) {
      close(socket);
      continue;
    }
    peer->generation = ++generations;
    peers[socket] = peer;
  }
}

static void *serve(void *context) {
  int listener = (int)(intptr_t)context;
  int poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int64_t wait = -1;
    if (queue_head != queue_tail) {
      wait = queue[queue_head % kMaximumSockets].due - milliseconds();
      if (wait < 0) wait = 0;
    }
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, (int)wait);
    for (int i = 0; i < count; i++) {
      int socket = events[i].data.fd;
      if (socket == listener) accept_all(listener, poll);
      else if (peers[socket]) read_peer(socket);
    }
    int64_t time = milliseconds();
    while (queue_head != queue_tail && queue[queue_head % kMaximumSockets].due <= time) {
      held next = queue[queue_head++ % kMaximumSockets];
      peer *peer = peers[next.socket];
      if (peer && peer->generation == next.generation) answer(next.socket, "Hello, world\n");
    }
  }
  return NULL;
}

int bench_listen_on_loopback(int *port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096) ||
      getsockname(listener, (struct sockaddr *)&address, &size)) {
    if (listener >= 0) close(listener);
    return -1;
  }
  *port = ntohs(address.sin_port);
  return listener;
}

int bench_server_start(void) {
  int port = 0;
  int listener = bench_listen_on_loopback(&port);
  if (listener < 0) return 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener)) return 0;
  pthread_detach(thread);
  return port;
}

int bench_free_port(void) {
  int port = 0;
  int listener = bench_listen_on_loopback(&port);
  if (listener >= 0) close(listener);
  return port;
}
