#define _GNU_SOURCE
#include "CMartletShim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if !defined(__APPLE__) || defined(__GLIBC__)
#include <sys/syscall.h>
#endif

// In C, because in Swift the module that declares `struct timespec` depends on the order of imports in all files.

static int64_t clamped_microseconds(struct timespec time) {
  int64_t seconds = time.tv_sec;
  if (seconds < 0) seconds = 0;
  if (seconds > 100000000000) seconds = 100000000000;
  return seconds * 1000000 + time.tv_nsec / 1000;
}

int64_t martlet_modification_time(const void *facts) {
#if defined(__APPLE__) && !defined(__GLIBC__)
  struct timespec modified = ((const struct stat *)facts)->st_mtimespec;
#else
  struct timespec modified = ((const struct stat *)facts)->st_mtim;
#endif
  return clamped_microseconds(modified);
}

int64_t martlet_change_time(const void *facts) {
#if defined(__APPLE__) && !defined(__GLIBC__)
  struct timespec changed = ((const struct stat *)facts)->st_ctimespec;
#else
  struct timespec changed = ((const struct stat *)facts)->st_ctim;
#endif
  return clamped_microseconds(changed);
}

void martlet_set_times(int descriptor, int64_t microseconds) {
  struct timespec time = {.tv_sec = (time_t)(microseconds / 1000000), .tv_nsec = (long)(microseconds % 1000000) * 1000};
  struct timespec times[2] = {time, time};
  // A time that cannot be set is not worth an error.
  (void)!futimens(descriptor, times);
}

bool martlet_is_main_thread(void) {
#if defined(__APPLE__) && !defined(__GLIBC__)
  return pthread_main_np() != 0;
#else
  return syscall(SYS_gettid) == getpid();
#endif
}

int martlet_above_streams(int descriptor) {
  if (descriptor < 0 || descriptor > 2) return descriptor;
  int other = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  int code = errno;
  close(descriptor);
  errno = code;
  return other;
}

void *martlet_grow_pages(void *start, size_t size, size_t larger) {
#if defined(__linux__)
  void *moved = mremap(start, size, larger, MREMAP_MAYMOVE);
  return moved == MAP_FAILED ? NULL : moved;
#else
  (void)start, (void)size, (void)larger;
  return NULL;
#endif
}
