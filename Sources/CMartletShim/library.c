#define _GNU_SOURCE
#include "library.h"

#if defined(__linux__) || defined(__APPLE__)

#include <dlfcn.h>

/// Stores all functions; returns the name of the first that is missing or belongs to another library, or NULL.
static const char *take(
    const struct martlet_symbol *symbols, size_t count, bool is_linked, void *image, const char **path) {
  void *home = NULL;
  for (size_t i = 0; i < count; i++) {
    void *found = is_linked ? symbols[i].linked : dlsym(image, symbols[i].name);
    if (!found) return symbols[i].name;
    // A program without a dynamic linker has one library of each kind, and `dladdr` does not know its name.
    Dl_info info;
    if (dladdr(found, &info)) {
      if (home && home != info.dli_fbase) return symbols[i].name;
      home = info.dli_fbase;
      if (path) *path = info.dli_fname;
    }
    *symbols[i].place = found;
  }
  return NULL;
}

bool martlet_library_find(
    struct martlet_library *library, const struct martlet_symbol *symbols, size_t count, const char *const *names,
    int flags) {
  *library = (struct martlet_library){0};
#if defined(__linux__)
  if (!take(symbols, count, true, NULL, &library->path)) {
    library->is_linked = true;
  } else if (take(symbols, count, false, RTLD_DEFAULT, &library->path)) {
    library->path = NULL;
  }
  if (library->is_linked || library->path) {
    // The image is for lookups of its dependencies: the program may see another copy of these first. NULL if the
    // library is part of the program itself.
    if (library->path) library->image = dlopen(library->path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return true;
  }
#endif
  for (; *names; names++) {
    library->image = dlopen(*names, RTLD_NOW | RTLD_LOCAL | flags);
    if (!library->image) continue;
    library->missing = take(symbols, count, false, library->image, &library->path);
    return !library->missing;
  }
  return false;
}

bool martlet_library_find_beside(
    const struct martlet_library *library, const struct martlet_symbol *symbols, size_t count) {
  return (library->is_linked && !take(symbols, count, true, NULL, NULL)) ||
         !take(symbols, count, false, library->image, NULL);
}

#endif
