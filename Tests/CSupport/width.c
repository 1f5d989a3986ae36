#include "width.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <features.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

// This runs before the tests. Swift Testing starts all tests at once unless a width is set. With thousands of tests on
// one processor, those that use sockets would time out before their turn. Stress tests need the machine to themselves.
// A width from the environment is kept. The proxies are removed, because they cannot reach the tests' servers.
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
