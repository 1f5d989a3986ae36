#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "AllocationCounter.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif

static const char answer[] =
    "HTTP/1.1 200 OK\r\nServer: probe\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";

typedef unsigned char *(*sha1)(const unsigned char *, size_t, unsigned char *);
typedef int (*encode_block)(unsigned char *, const unsigned char *, int);

/// Returns each short message of a WebSocket, whose opening request is in `head`. A close frame ends it.
static void echo_messages(int connection, const char *head) {
  void *crypto = dlopen("libcrypto.so.3", RTLD_NOW);
  sha1 hash = crypto ? (sha1)dlsym(crypto, "SHA1") : NULL;
  encode_block encode_base64 = crypto ? (encode_block)dlsym(crypto, "EVP_EncodeBlock") : NULL;
  const char *key = strcasestr(head, "sec-websocket-key: ");
  if (!hash || !encode_base64 || !key) return;
  char text[256], accept[32];
  uint8_t digest[20], frame[132];
  int length = snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + 19);
  hash((unsigned char *)text, (size_t)length, digest);
  encode_base64((unsigned char *)accept, digest, sizeof digest);
  length = snprintf(
      text, sizeof text,
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
      accept);
  if (send(connection, text, (size_t)length, MSG_NOSIGNAL) < 0) return;
  do {
    if (recv(connection, frame, 6, MSG_WAITALL) != 6) return;
    size_t count = frame[1] & 127;
    if (count > 125 || recv(connection, frame + 6, count, MSG_WAITALL) != (ssize_t)count) return;
    for (size_t i = 0; i < count; i++) frame[6 + i] ^= frame[2 + (i & 3)];
    frame[4] = frame[0];
    frame[5] = (uint8_t)count;
    usleep(1000);
    if (send(connection, frame + 4, count + 2, MSG_NOSIGNAL) < 0) return;
  } while ((frame[4] & 15) != 8);
}

/// Responds to the requests of one connection; none has a body. Each response is delayed by 1 ms, because an immediate
/// response saves libcurl up to six allocations. How often that happens depends on the machine.
static void *answer_all(void *context) {
  int connection = (int)(intptr_t)context;
  char end[4] = {0};
  char bytes[4096];
  ssize_t got;
  while ((got = read(connection, bytes, sizeof bytes - 1)) > 0) {
    bytes[got] = 0;
    if (strstr(bytes, "Upgrade: websocket")) {
      echo_messages(connection, bytes);
      break;
    }
    for (ssize_t i = 0; i < got; i++) {
      memmove(end, end + 1, 3);
      end[3] = bytes[i];
      if (memcmp(end, "\r\n\r\n", 4)) continue;
      usleep(1000);
      if (send(connection, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0) break;
    }
  }
  close(connection);
  return NULL;
}

static void *serve(void *context) {
  int listener = (int)(intptr_t)context;
  for (;;) {
    int connection = accept(listener, NULL, NULL);
    if (connection < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (connection < 0) return NULL;
    int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer_all, (void *)(intptr_t)connection)) {
      close(connection);
    } else {
      pthread_detach(thread);
    }
  }
}

int allocations_serve(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) return 0;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  pthread_t thread;
  if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 16) ||
      getsockname(listener, (struct sockaddr *)&address, &length) ||
      pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener)) {
    close(listener);
    return 0;
  }
  pthread_detach(thread);
  return ntohs(address.sin_port);
}
