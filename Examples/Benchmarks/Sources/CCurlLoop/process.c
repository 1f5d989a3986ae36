#define _GNU_SOURCE
#include "CCurlLoop.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
    // Without rights of its own the process may still have them in a world of its own.
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

void bench_die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

void bench_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}
