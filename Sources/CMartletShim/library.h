#ifndef MARTLET_LIBRARY_H
#define MARTLET_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/// One function of a system library.
struct martlet_symbol {
  const char *name;
  /// The variable that receives its address.
  void **place;
  /// The function that the program was linked with under this name, or NULL.
  void *linked;
};

#if defined(__linux__)
// Weak, so the program need not be linked with the library; the address is then NULL. A static program has no
// other way.
#define MARTLET_DECLARE(function, variable) extern void function(void) __attribute__((weak));
#define MARTLET_SYMBOL(function, variable) {#function, (void **)&(variable), (void *)function},
#else
#define MARTLET_DECLARE(function, variable)
#define MARTLET_SYMBOL(function, variable) {#function, (void **)&(variable), NULL},
#endif

/// The result of looking for a library.
struct martlet_library {
  /// Whether the program was linked with it.
  bool is_linked;
  /// The handle for `dlsym`; NULL means everything that the program can see.
  void *image;
  /// The file, or NULL if the system does not report it.
  const char *path;
  /// The missing function, or NULL if the library was not found.
  const char *missing;
};

/// Finds all functions in one library: the one that the program was linked with, otherwise one that is already loaded,
/// otherwise the first of `names` that `dlopen` finds with `flags`. `names` ends with NULL. Two copies are never mixed.
bool martlet_library_find(
    struct martlet_library *library, const struct martlet_symbol *symbols, size_t count, const char *const *names,
    int flags);

/// Finds functions of a library's dependency, all in one copy.
bool martlet_library_find_beside(
    const struct martlet_library *library, const struct martlet_symbol *symbols, size_t count);

#endif
