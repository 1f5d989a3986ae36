#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// Whether allocations are counted: with glibc, and without a sanitizer, because sanitizers replace the allocator.
bool allocations_are_counted(void);

/// The number of allocations so far, across all threads.
int64_t allocations_count(void);

/// Starts a server that sends a 13-byte response to each request without allocating memory.
///
/// It also returns each message of a WebSocket, if libcrypto 3 is installed. Returns its port on 127.0.0.1, or 0 on failure.
int allocations_serve(void);

#endif
