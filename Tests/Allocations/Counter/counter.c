#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "AllocationCounter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

static _Atomic(int64_t) count;

int64_t allocations_count(void) { return atomic_load(&count); }

#if defined(__linux__) && defined(__GLIBC__) && !defined(HAS_SANITIZER)

bool allocations_are_counted(void) { return true; }

// Symbols that the program defines take precedence over the C library's in every image of the process.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *memory);

static void note(void) { atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  note();
  return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

void *valloc(size_t size) {
  note();
  return __libc_valloc(size);
}

void *pvalloc(size_t size) {
  note();
  return __libc_pvalloc(size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1)) return EINVAL;
  note();
  void *found = __libc_memalign(alignment, size);
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}

// `free` is defined as well, because another loaded allocator must not receive pointers that it did not allocate.
void free(void *memory) { __libc_free(memory); }

#else

bool allocations_are_counted(void) { return false; }

#endif
