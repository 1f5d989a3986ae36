#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CMartletShim.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct start {
  char name[16];
  void (*body)(void *);
  void *context;
};

static void *run(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  pthread_setname_np(pthread_self(), start.name);
  start.body(start.context);
  return NULL;
}

bool martlet_thread_start(const char *name, void (*body)(void *), void *context) {
  struct start *start = calloc(1, sizeof *start);
  if (!start) return false;
  strncpy(start->name, name, sizeof start->name - 1);
  start->body = body;
  start->context = context;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) {
    free(start);
    return false;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The program's signals are for its own threads, and writing to a closed connection must not end the process. Threads
  // inherit the mask, so it also applies to libcurl's threads, from their first instruction on.
  sigset_t all, before;
  sigfillset(&all);
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&all, faults[i]);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  bool is_started = pthread_create(&thread, &attributes, run, start) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (!is_started) free(start);
  return is_started;
}

int martlet_wake_new(void) { return martlet_above_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void martlet_wake(int descriptor) {
  const uint64_t one = 1;
  while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

int martlet_poll_new(int wake) {
  int poll = martlet_above_streams(epoll_create1(EPOLL_CLOEXEC));
  if (poll < 0) return -1;
  // Edge-triggered: each wake is one event, and the counter need not be read.
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = wake};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, wake, &event) == 0) return poll;
  close(poll);
  return -1;
}

bool martlet_poll_watch(int poll, int socket, int events, bool is_new) {
  struct epoll_event event = {.data.fd = socket};
  if (events & 1) event.events |= EPOLLIN;
  if (events & 2) event.events |= EPOLLOUT;
  if (epoll_ctl(poll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event) == 0) return true;
  if (errno == EEXIST) return epoll_ctl(poll, EPOLL_CTL_MOD, socket, &event) == 0;
  if (errno == ENOENT) return epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event) == 0;
  return false;
}

void martlet_poll_forget(int poll, int socket) {
  struct epoll_event event = {0};
  epoll_ctl(poll, EPOLL_CTL_DEL, socket, &event);
}

int martlet_poll_wait(int poll, martlet_event *events, int maximum, int milliseconds) {
  struct epoll_event found[64];
  int count = epoll_wait(poll, found, maximum < 64 ? maximum : 64, milliseconds);
  for (int i = 0; i < count; i++) {
    events[i].socket = found[i].data.fd;
    events[i].events = 0;
    if (found[i].events & (EPOLLIN | EPOLLHUP)) events[i].events |= 1;
    if (found[i].events & EPOLLOUT) events[i].events |= 2;
    if (found[i].events & EPOLLERR) events[i].events |= 4;
  }
  return count < 0 ? 0 : count;
}

int martlet_wait(int socket, int microseconds) {
  struct pollfd found = {.fd = socket, .events = POLLIN};
  const struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000L};
  int count = ppoll(&found, 1, &time, NULL);
  if (count <= 0) return count < 0 && errno == EINTR ? -1 : 0;
  return (found.revents & (POLLIN | POLLHUP | POLLNVAL) ? 1 : 0) | (found.revents & POLLERR ? 4 : 0);
}

bool martlet_is_any_readable(const int *sockets, size_t count) {
  struct pollfd found[64];
  for (size_t start = 0; start < count; start += 64) {
    nfds_t part = count - start < 64 ? count - start : 64;
    for (nfds_t i = 0; i < part; i++) found[i] = (struct pollfd){.fd = sockets[start + i], .events = POLLIN};
    // A failed poll counts as readable, so the caller examines the sockets.
    if (poll(found, part, 0) != 0) return true;
  }
  return false;
}

static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static int end = -1;

static void make_end(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return;
  // Reading returns the end. Bytes written go to the other end, which stays open: otherwise writing would raise a
  // signal. libcurl before 7.80 may be about to write, on a thread that has blocked the signal; that must fail.
  shutdown(pair[0], martlet_curl_tells_before_sending() ? SHUT_RD : SHUT_RDWR);
  end = martlet_above_streams(pair[0]);
  martlet_above_streams(pair[1]);
}

void martlet_replace_with_end(int descriptor) {
  pthread_once(&end_once, make_end);
  if (end >= 0 && dup3(end, descriptor, O_CLOEXEC) >= 0) return;
  char bytes[4096];
  for (int i = 0; i < 1024 && recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT) > 0; i++) {
  }
  shutdown(descriptor, SHUT_RDWR);
}

int64_t martlet_microseconds(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void martlet_close(int descriptor) { close(descriptor); }

int martlet_memory_file(const void *bytes, size_t count) {
  int file = martlet_above_streams(memfd_create("martlet", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file < 0) return -1;
  for (size_t done = 0; done < count;) {
    ssize_t written = write(file, (const char *)bytes + done, count - done);
    if (written > 0) {
      done += (size_t)written;
    } else if (written == 0 || errno != EINTR) {
      close(file);
      return -1;
    }
  }
  if (fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return file;
  close(file);
  return -1;
}

void martlet_set_receive_mark(int socket, int count) {
  setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &count, sizeof count);
}

void martlet_shutdown(int descriptor) { shutdown(descriptor, SHUT_RDWR); }

int martlet_open(const char *path) { return martlet_above_streams(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)); }

enum { kTCPInfo = 11, kBytesAcknowledged = 120, kBytesReceived = 128 };

/// Reads a counter in `struct tcp_info` of Linux 4.1 and later, of which the C libraries declare only the beginning.
static bool tcp_counter(int socket, size_t offset, uint64_t *value) {
  unsigned char info[256];
  socklen_t length = sizeof(info);
  if (getsockopt(socket, IPPROTO_TCP, kTCPInfo, info, &length) != 0 || length < offset + sizeof *value) return false;
  memcpy(value, info + offset, sizeof *value);
  return true;
}

int64_t martlet_socket_taken(int socket) {
  uint64_t received;
  if (!tcp_counter(socket, kBytesReceived, &received)) return -1;
  // Read last, so bytes that arrive in between do not count as read.
  int waiting = 0;
  if (ioctl(socket, FIONREAD, &waiting) != 0) return -1;
  return (int64_t)received - waiting;
}

int martlet_unread_count(int socket) {
  int waiting = 0;
  return ioctl(socket, FIONREAD, &waiting) ? 0 : waiting;
}

int64_t martlet_socket_acknowledged(int socket, int64_t *queued) {
  int waiting = 0;
  *queued = ioctl(socket, TIOCOUTQ, &waiting) == 0 ? waiting : 0;
  uint64_t acknowledged;
  return tcp_counter(socket, kBytesAcknowledged, &acknowledged) ? (int64_t)acknowledged : -*queued;
}

bool martlet_socket_has_room(int socket) {
  struct pollfd one = {.fd = socket, .events = POLLOUT};
  return poll(&one, 1, 0) != 0;
}

int martlet_socket_port(int socket) {
  struct sockaddr_storage address;
  socklen_t length = sizeof(address);
  if (getsockname(socket, (struct sockaddr *)&address, &length) != 0) return -1;
  if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
  return -1;
}

int64_t martlet_read_now(int descriptor, void *buffer, size_t count, int64_t offset) {
  struct iovec piece = {.iov_base = buffer, .iov_len = count};
  enum { kNoWait = 8 };  // RWF_NOWAIT, Linux 4.14
  for (;;) {
    // The kernel expects the offset as two words, and uses the second one only where a word has 32 bits.
    long low = (long)offset, high = (long)((uint64_t)offset >> 32 >> (sizeof(long) * 8 - 32));
    int64_t got = syscall(SYS_preadv2, descriptor, &piece, 1, low, high, kNoWait);
    if (got >= 0 || errno != EINTR) return got;
  }
}

int64_t martlet_read(int descriptor, void *buffer, size_t count, int64_t offset) {
  for (;;) {
    ssize_t got = pread(descriptor, buffer, count, (off_t)offset);
    if (got >= 0 || errno != EINTR) return got;
  }
}

#endif
