#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CMartletShim.h"

#if defined(__linux__)

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int martlet_descriptor_limit(void) {
  int limit = getdtablesize();
  return limit < 65536 ? limit : 65536;
}

static bool is_unix_stream(int descriptor) {
  int domain = 0, type = 0;
  socklen_t length = sizeof domain;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) || domain != AF_UNIX) return false;
  length = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

int martlet_inherited_bytes(int descriptor) {
  int count = -1;
  if (fcntl(descriptor, F_GETFD) != 0 || !is_unix_stream(descriptor)) return -1;
  return ioctl(descriptor, FIONREAD, &count) ? -1 : count;
}

/// The other end of a socket pair, or -1. The system does not report it. But binding an end without an address gives it
/// a unique one (unix(7), "autobind"), which the other end reports as its peer.
static int other_end(int descriptor) {
  struct sockaddr_un own = {.sun_family = AF_UNIX}, peer;
  socklen_t length = sizeof own;
  if (bind(descriptor, (const struct sockaddr *)&own, sizeof own.sun_family)) return -1;
  if (getsockname(descriptor, (struct sockaddr *)&own, &length) || length <= sizeof own.sun_family) return -1;
  const int limit = martlet_descriptor_limit();
  // Usually it is the next descriptor.
  for (int i = 1; i < limit; i++) {
    int candidate = (descriptor + i) % limit;
    socklen_t peer_length = sizeof peer;
    if (getpeername(candidate, (struct sockaddr *)&peer, &peer_length) || peer_length != length) continue;
    if (memcmp(&peer, &own, length) == 0) return candidate;
  }
  return -1;
}

void martlet_keep_from_children(int descriptor) {
  if (fcntl(descriptor, F_GETFD) != 0) return;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  int other = is_unix_stream(descriptor) ? other_end(descriptor) : -1;
  if (other >= 0) fcntl(other, F_SETFD, FD_CLOEXEC);
}

int martlet_copy_unwritten(int descriptor, bool may_be_event) {
  struct pollfd found = {.fd = descriptor, .events = POLLIN};
  struct stat facts;
  // Only an anonymous inode, such as that of an eventfd, has no file type.
  bool is_event = may_be_event && fstat(descriptor, &facts) == 0 && (facts.st_mode & S_IFMT) == 0;
  if ((!is_event && !is_unix_stream(descriptor)) || poll(&found, 1, 0) != 0) return -1;
  return fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
}

#endif
