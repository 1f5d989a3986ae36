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

/// Runs before the handler of an OpenSSL that was in use before, because it was registered later, and before the ends of
/// all libraries; it is registered several times, and they all have one deadline.
static void exiting(void) {
  atomic_store(&is_exiting, true);
  long long none = 0;
  atomic_compare_exchange_strong(&deadline, &none, milliseconds() + kPatienceMilliseconds);
  // The program may exit from a callback.
  const int own = depth > 0 ? 1 : 0;
  const struct timespec pause = {.tv_nsec = 100000};
  while (atomic_load(&inside) > own && milliseconds() < atomic_load(&deadline)) nanosleep(&pause, NULL);
}

/// A child has none of the other threads that were counted.
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
  // Whoever is the first decides whether OpenSSL clears up: nobody needs that, and it could come in the middle of the rest
  // of its start.
  if (init) init(kNoAtExit, NULL);
  if (stop) atomic_store(&thread_stop, stop);
  martlet_exit_watch();
}

void martlet_exit_watch(void) {
  pthread_atfork(NULL, NULL, forked);
  // Where all handlers have run, there is no place for another.
  if (atexit(exiting)) atomic_store(&is_exiting, true);
}

bool martlet_is_exiting(void) { return atomic_load(&is_exiting); }

bool martlet_library_enter(void) {
  // Counted first, and only then asked: whoever exits does it the other way round.
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
