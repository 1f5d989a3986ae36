#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "AllocationCounter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif

static const char answer[] =
    "HTTP/1.1 200 OK\r\nServer: probe\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";

/// Responds to the requests of one connection; none has a body. Each response is delayed by 1 ms, because an immediate
/// response saves libcurl up to six allocations. How often that happens depends on the machine.
static void *answer_all(void *context) {
  int connection = (int)(intptr_t)context;
  char end[4] = {0};
  char bytes[4096];
  ssize_t got;
  while ((got = read(connection, bytes, sizeof bytes)) > 0) {
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
