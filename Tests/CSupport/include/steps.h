#pragma once
#include <stdint.h>

/// The number of instructions that this process has executed, where `.ci/work` counts them; 0 elsewhere.
uint64_t martlet_steps(void);
/// The processor time of the thread in nanoseconds. In C, because in Swift the module that declares `struct timespec` depends
/// on the order of imports in all files.
int64_t martlet_thread_time(void);
