#include "steps.h"

#include <unistd.h>

// A call that no kernel knows: the emulator's plugin (`.ci/steps.c`) writes to the address.
uint64_t martlet_steps(void) {
  uint64_t count = 0;
#ifdef __linux__
  extern long syscall(long number, ...);
  syscall(0x4d61, &count);
#endif
  return count;
}
