#include "width.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <features.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Swift Testing starts all tests at once unless it is told how many may run side by side. Where thousands share a
// processor, what talks over sockets then waits for its turn until its limits have passed. Stress tests need the machine
// to themselves. This runs before the tests do; a width that somebody has chosen stays. The proxies of whoever runs the
// tests cannot reach their servers.
__attribute__((constructor)) static void prepare(void) {
  const char *stress = getenv("MARTLET_STRESS");
  int isStress = stress && strcmp(stress, "1") == 0;
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", isStress ? "1" : "16", 0);
  const char *proxies[] = {"http_proxy", "https_proxy", "all_proxy", "no_proxy",
                           "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"};
  for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++) unsetenv(proxies[i]);
}

void limit_arenas(void) {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 2);
#endif
}
