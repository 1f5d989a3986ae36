#ifndef MARTLET_LIBRARY_H
#define MARTLET_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/// One function of a system library.
struct martlet_symbol {
  const char *name;
  /// Where to put it.
  void **place;
  /// What the program was linked with under this name, or NULL.
  void *linked;
};

#if defined(__linux__)
// Declared weak, so that the program need not be linked with it: then it is NULL. A static program has no other way.
#define MARTLET_DECLARE(function, variable) extern void function(void) __attribute__((weak));
#define MARTLET_SYMBOL(function, variable) {#function, (void **)&(variable), (void *)function},
#else
#define MARTLET_DECLARE(function, variable)
#define MARTLET_SYMBOL(function, variable) {#function, (void **)&(variable), NULL},
#endif

/// Where a library was found.
struct martlet_library {
  /// Whether the program was linked with it.
  bool is_linked;
  /// What `dlsym` takes; NULL is all that the program can see.
  void *image;
  /// Its file, or NULL where the system does not tell.
  const char *path;
  /// The function that it lacks, or NULL if there is no such library.
  const char *missing;
};

/// Takes all functions from one library: the one that the program was linked with, else the one that is in the process, else
/// the first one of `names`, which ends with NULL, that `dlopen` finds with `flags`. Two copies are never mixed.
bool martlet_library_find(
    struct martlet_library *library, const struct martlet_symbol *symbols, size_t count, const char *const *names,
    int flags);

/// Takes functions of another library that a library uses: all of one copy.
bool martlet_library_find_beside(
    const struct martlet_library *library, const struct martlet_symbol *symbols, size_t count);

#endif
