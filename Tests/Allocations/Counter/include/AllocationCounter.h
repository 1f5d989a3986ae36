#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// Whether allocations are counted here: with glibc, and without a sanitizer, which has an allocator of its own.
bool allocations_are_counted(void);

/// How often memory was asked for by now, by all threads.
int64_t allocations_count(void);

/// Starts a server that answers each request with 13 bytes, and asks for no memory to do so.
///
/// Returns its port on 127.0.0.1, or 0.
int allocations_serve(void);

#endif
