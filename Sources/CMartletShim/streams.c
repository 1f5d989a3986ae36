#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// libcurl does not report how an HTTP/2 stream ended. nghttp2 tells libcurl by a callback, so the function that sets
// this callback is replaced in libcurl's table of imported functions (decision 0069).

typedef int stream_closed(void *session, int32_t stream, uint32_t error, void *context);

#if defined(__x86_64__)
enum { kGlobal = R_X86_64_GLOB_DAT, kJump = R_X86_64_JUMP_SLOT };
#elif defined(__aarch64__)
enum { kGlobal = R_AARCH64_GLOB_DAT, kJump = R_AARCH64_JUMP_SLOT };
#else
enum { kGlobal = -1, kJump = -1 };
#endif

static struct {
  void (*set_closed)(void *callbacks, stream_closed *closed);
  void *(*user)(void *session, int32_t stream);
} nghttp2;
static bool is_open;
static _Atomic(stream_closed *) original;
static _Thread_local struct {
  martlet_stream_ended ended;
  void *loop;
} listener;

#define FUNCTIONS(x) \
  x(nghttp2_session_callbacks_set_on_stream_close_callback, nghttp2.set_closed) \
  x(nghttp2_session_get_stream_user_data, nghttp2.user)

FUNCTIONS(MARTLET_DECLARE)

static int closed(void *session, int32_t stream, uint32_t error, void *context) {
  // Other users of libcurl in this process are never inside.
  if (listener.ended && martlet_library_is_inside()) {
    void *easy = nghttp2.user(session, stream);
    if (easy) listener.ended(listener.loop, easy, error);
  }
  return atomic_load(&original)(session, stream, error, context);
}

static void set_closed(void *callbacks, stream_closed *callback) {
  stream_closed *known = NULL;
  // libcurl has another callback for HTTP/2 connections to proxies, which are not used here.
  const bool is_known = atomic_compare_exchange_strong(&original, &known, callback) || known == callback;
  nghttp2.set_closed(callbacks, is_known ? closed : callback);
}

struct image {
  uintptr_t base;
  uintptr_t start;
  uintptr_t end;
};

/// Finds the pages of an image that the dynamic linker has made read-only.
static int find_read_only(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  struct image *image = context;
  if (info->dlpi_addr != image->base) return 0;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO) continue;
    const uintptr_t start = image->base + info->dlpi_phdr[i].p_vaddr;
    image->start = start & ~(page - 1);
    image->end = (start + info->dlpi_phdr[i].p_memsz) & ~(page - 1);
  }
  return 1;
}

static bool replace(const struct image *image, uintptr_t place, void *function) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void *start = (void *)(place & ~(page - 1));
  const bool is_read_only = place >= image->start && place < image->end;
  if (is_read_only && mprotect(start, page, PROT_READ | PROT_WRITE)) return false;
  atomic_store((_Atomic(void *) *)place, function);
  if (is_read_only) mprotect(start, page, PROT_READ);
  return true;
}

/// Replaces an imported function of an image; returns whether it was found.
static bool replace_import(const struct link_map *map, const char *name, void *function) {
  uintptr_t places[DT_RELASZ + 1] = {0};
  uintptr_t jumps = 0, jumps_size = 0;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag >= 0 && entry->d_tag <= DT_RELASZ) places[entry->d_tag] = entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) jumps = entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) jumps_size = entry->d_un.d_val;
  }
  // Not every C library has made these into addresses.
#define ADDRESS(value) ((value) < map->l_addr ? (value) + map->l_addr : (value))
  if (!places[DT_SYMTAB] || !places[DT_STRTAB]) return false;
  const ElfW(Sym) *symbols = (const void *)ADDRESS(places[DT_SYMTAB]);
  const char *names = (const char *)ADDRESS(places[DT_STRTAB]);
  const struct {
    uintptr_t start, size;
  } tables[] = {{jumps, jumps_size}, {places[DT_RELA], places[DT_RELASZ]}};
  struct image image = {.base = map->l_addr};
  dl_iterate_phdr(find_read_only, &image);
  bool is_found = false;
  for (size_t i = 0; i < 2; i++) {
    if (!tables[i].start) continue;
    const ElfW(Rela) *entry = (const void *)ADDRESS(tables[i].start);
    for (size_t rest = tables[i].size / sizeof *entry; rest > 0; rest--, entry++) {
      const int kind = (int)ELF64_R_TYPE(entry->r_info);
      if (kind != kGlobal && kind != kJump) continue;
      if (strcmp(names + symbols[ELF64_R_SYM(entry->r_info)].st_name, name)) continue;
      is_found = replace(&image, map->l_addr + entry->r_offset, function) || is_found;
    }
  }
#undef ADDRESS
  return is_found;
}

void martlet_streams_open(const struct martlet_library *library) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  struct link_map *map = NULL;
  if (sizeof(ElfW(Rela)) != sizeof(Elf64_Rela) || !library->image) return;
  if (dlinfo(library->image, RTLD_DI_LINKMAP, &map) || !map) return;
  if (!martlet_library_find_beside(library, symbols, sizeof symbols / sizeof symbols[0])) return;
  is_open = replace_import(map, symbols[0].name, set_closed);
}

bool martlet_streams_are_known(void) { return !martlet_curl_problem() && is_open; }

void martlet_streams_listen(martlet_stream_ended ended, void *loop) {
  listener.ended = ended;
  listener.loop = loop;
}

#else

bool martlet_streams_are_known(void) { return false; }

#endif
