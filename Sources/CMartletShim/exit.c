#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CMartletShim.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kPatienceMilliseconds = 5000, kPausesPerMillisecond = 10, kAddAllDigests = 8, kNoAtExit = 0x80000 };

static atomic_int inside;
static atomic_bool is_exiting;
static _Thread_local int depth;
static atomic_int owner;

static void pause_briefly(void) {
  const struct timespec pause = {.tv_nsec = 1000000 / kPausesPerMillisecond};
  nanosleep(&pause, NULL);
}

/// Runs before the handler of an OpenSSL that was in use before, because it was registered later, and before the ends of
/// all libraries; runs twice, and more often, without harm.
static void exiting(void) {
  // A forked child has none of the threads that were counted.
  if (getpid() != atomic_load(&owner)) return;
  atomic_store(&is_exiting, true);
  // The program may exit from a callback.
  int own = depth > 0 ? 1 : 0;
  for (int i = 0; i < kPatienceMilliseconds * kPausesPerMillisecond && atomic_load(&inside) > own; i++) pause_briefly();
}

void martlet_exit_watch(void *image) {
  int (*init)(uint64_t, const void *) = NULL;
  if (image) *(void **)&init = dlsym(image, "OPENSSL_init_crypto");
  // Whoever is the first decides whether OpenSSL clears up: nobody needs that, and it could come in the middle of the
  // rest of its start. A second option, because it looks only for what is left to be done.
  if (init) init(kNoAtExit | kAddAllDigests, NULL);
  atomic_store(&owner, getpid());
  // Where all handlers have run, there is no place for another.
  if (atexit(exiting)) atomic_store(&is_exiting, true);
}

bool martlet_is_exiting(void) { return atomic_load(&is_exiting); }

bool martlet_library_enter(void) {
  if (depth == 0) {
    // Counted first, and only then asked: whoever exits does it the other way round.
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&is_exiting)) {
      atomic_fetch_sub(&inside, 1);
      return false;
    }
  }
  depth++;
  return true;
}

void martlet_library_leave(void) {
  if (--depth == 0) atomic_fetch_sub(&inside, 1);
}

void martlet_library_await(void) {
  while (!martlet_library_enter()) pause();
}

#endif
