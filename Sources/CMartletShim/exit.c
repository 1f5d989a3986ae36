#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kPatienceMilliseconds = 5000, kNoAtExit = 0x80000 };

static atomic_int inside;
static atomic_bool is_exiting;
static atomic_llong deadline;
static _Thread_local int depth;
static _Atomic(void (*)(void)) thread_stop;

static long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/// Waits until no thread is inside. Because it is registered later, it runs before the exit handler of an OpenSSL that
/// was already in use, and before the destructors of all libraries. It is registered several times, with one deadline.
static void exiting(void) {
  atomic_store(&is_exiting, true);
  long long none = 0;
  atomic_compare_exchange_strong(&deadline, &none, milliseconds() + kPatienceMilliseconds);
  // The program may exit from a callback.
  const int own = depth > 0 ? 1 : 0;
  const struct timespec pause = {.tv_nsec = 100000};
  while (atomic_load(&inside) > own && milliseconds() < atomic_load(&deadline)) nanosleep(&pause, NULL);
}

/// Resets the count in a child, which has none of the other threads.
static void forked(void) { atomic_store(&inside, depth > 0 ? 1 : 0); }

#define FUNCTIONS(x) \
  x(OPENSSL_init_crypto, init) \
  x(OPENSSL_thread_stop, stop)

FUNCTIONS(MARTLET_DECLARE)

void martlet_exit_guard(const struct martlet_library *library) {
  int (*init)(uint64_t, const void *) = NULL;
  void (*stop)(void) = NULL;
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  martlet_library_find_beside(library, symbols, sizeof symbols / sizeof symbols[0]);
  // The first initialization decides whether OpenSSL cleans up at exit. The cleanup is not needed, and it could happen
  // in the middle of the rest of OpenSSL's initialization.
  if (init) init(kNoAtExit, NULL);
  if (stop) atomic_store(&thread_stop, stop);
  martlet_exit_watch();
}

void martlet_exit_watch(void) {
  pthread_atfork(NULL, NULL, forked);
  // Once all handlers have run, another one cannot be registered.
  if (atexit(exiting)) atomic_store(&is_exiting, true);
}

bool martlet_is_exiting(void) { return atomic_load(&is_exiting); }

bool martlet_library_enter(void) {
  // Increments before it checks, because the exit handler sets the flag before it reads the count.
  if (depth == 0) atomic_fetch_add(&inside, 1);
  if (atomic_load(&is_exiting)) {
    if (depth == 0) atomic_fetch_sub(&inside, 1);
    return false;
  }
  depth++;
  return true;
}

bool martlet_library_is_inside(void) { return depth > 0; }

void martlet_library_leave(void) {
  if (--depth == 0) atomic_fetch_sub(&inside, 1);
}

void martlet_library_await(void) {
  while (!martlet_library_enter()) pause();
}

void martlet_library_end_thread(void) {
  void (*stop)(void) = atomic_load(&thread_stop);
  if (stop) stop();
}

#endif
