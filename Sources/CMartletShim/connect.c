#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CMartletShim.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Binds a socket to the local address and the interface of another one.
static bool bind_like(int descriptor, int family, int like) {
  struct sockaddr_storage local = {0};
  socklen_t length = sizeof local;
  if (getsockname(like, (struct sockaddr *)&local, &length) || local.ss_family != family) return false;
  char name[IFNAMSIZ] = {0};
  socklen_t size = sizeof name;
  if (getsockopt(like, SOL_SOCKET, SO_BINDTODEVICE, name, &size) == 0 && name[0] &&
      setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1))
    return false;
  if (family == AF_INET) ((struct sockaddr_in *)&local)->sin_port = 0;
  if (family == AF_INET6) ((struct sockaddr_in6 *)&local)->sin6_port = 0;
  return bind(descriptor, (struct sockaddr *)&local, length) == 0;
}

int martlet_connect(const void *address, int length, int like, bool is_bound) {
  struct sockaddr_storage target = {0};
  if (length <= 0 || (size_t)length > sizeof target) return -1;
  memcpy(&target, address, (size_t)length);
  int descriptor = martlet_above_streams(socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (descriptor < 0) return -1;
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if ((!is_bound || bind_like(descriptor, target.ss_family, like)) &&
      (connect(descriptor, (struct sockaddr *)&target, (socklen_t)length) == 0 || errno == EINPROGRESS))
    return descriptor;
  close(descriptor);
  return -1;
}

bool martlet_is_connecting(int socket) {
  struct pollfd found = {.fd = socket, .events = POLLOUT};
  return poll(&found, 1, 0) == 0;
}

int martlet_connect_result(int socket) {
  if (martlet_is_connecting(socket)) return 0;
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) || error) return -1;
  struct sockaddr_storage peer;
  socklen_t size = sizeof peer;
  return getpeername(socket, (struct sockaddr *)&peer, &size) ? -1 : 1;
}

bool martlet_replace(int descriptor, int other) {
  bool is_done = dup3(other, descriptor, O_CLOEXEC) >= 0;
  close(other);
  return is_done;
}

bool martlet_address_text(const void *address, int length, char *text, int room) {
  struct sockaddr_storage known = {0};
  if (length <= 0 || (size_t)length > sizeof known) return false;
  memcpy(&known, address, (size_t)length);
  return getnameinfo((struct sockaddr *)&known, (socklen_t)length, text, (socklen_t)room, NULL, 0, NI_NUMERICHOST) == 0;
}

#endif
