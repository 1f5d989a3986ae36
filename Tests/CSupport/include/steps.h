#pragma once
#include <stdint.h>

/// The number of instructions that this process has executed, where `.ci/work` counts them; 0 elsewhere.
uint64_t martlet_steps(void);
