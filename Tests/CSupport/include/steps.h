#pragma once
#include <stdint.h>

/// The number of instructions that this process has executed under `.ci/work`, which counts them; otherwise 0.
uint64_t martlet_steps(void);
/// The thread's processor time in nanoseconds. Written in C, because in Swift the module that declares `struct
/// timespec` depends on the order of imports in all files.
int64_t martlet_thread_time(void);
