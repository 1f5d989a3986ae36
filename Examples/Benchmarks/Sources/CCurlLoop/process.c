#define _GNU_SOURCE
#include "CCurlLoop.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, text, strlen(text));
  close(file);
}

bool bench_replace_file(const char *place, const char *file) {
  unsigned user = geteuid();
  if (unshare(CLONE_NEWNS)) {
    // Without root, the process may still be able to mount files in its own user namespace.
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return false;
    char map[64];
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_text("/proc/self/uid_map", map);
  }
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return false;
  return mount(file, place, NULL, MS_BIND, NULL) == 0;
}

double bench_cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

enum { kBounces = 100000 };

typedef struct {
  _Alignas(128) atomic_int ball;
  atomic_bool is_over;
  cpu_set_t processors[2];
} court;

static void play(court *court, int player) {
  const cpu_set_t *own = &court->processors[player];
  if (sched_setaffinity(0, sizeof *own, own)) atomic_store(&court->is_over, true);
  for (int turn = player; turn < 2 * kBounces; turn += 2) {
    while (atomic_load(&court->ball) != turn) {
      // On a single processor, each turn would take a whole time slice.
      if (atomic_load(&court->is_over)) return;
    }
    atomic_store(&court->ball, turn + 1);
  }
}

static void *second_player(void *given) {
  play(given, 1);
  return NULL;
}

static void *first_player(void *given) {
  struct timespec start, end;
  static double taken;
  pthread_t other;
  if (pthread_create(&other, NULL, second_player, given)) return NULL;
  clock_gettime(CLOCK_MONOTONIC, &start);
  play(given, 0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  pthread_join(other, NULL);
  if (atomic_load(&((court *)given)->is_over)) return NULL;
  taken = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
  return &taken;
}

double bench_line_round_trip(void) {
  court court = {0};
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return 0;
  int found = 0;
  for (int number = 0; number < CPU_SETSIZE && found < 2; number++) {
    if (CPU_ISSET(number, &allowed)) CPU_SET(number, &court.processors[found++]);
  }
  // Separate threads, because each stays on its processor.
  pthread_t first;
  void *taken = NULL;
  if (found < 2 || pthread_create(&first, NULL, first_player, &court)) return 0;
  pthread_join(first, &taken);
  return taken ? *(double *)taken / kBounces : 0;
}

void bench_die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

void bench_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}
