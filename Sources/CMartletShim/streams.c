#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

// libcurl does not report how an HTTP/2 stream ended. nghttp2 tells libcurl by callbacks, so the functions that set
// them are replaced in libcurl's table of imported functions (decision 0069). libcurl also ends a transfer when
// sending fails, without reading the response that has arrived. So `send` is replaced as well (decision 0081). It
// may delay RST_STREAM for a removed transfer, so nghttp2 resets the stream before the removal (decision 0083).

typedef int stream_closed(void *session, int32_t stream, uint32_t error, void *context);

struct frame_head {
  size_t length;
  int32_t stream;
  uint8_t type;
  uint8_t flags;
  uint8_t reserved;
};
struct frame {
  struct frame_head head;
  /// For DATA only: the number of padding bytes, including the byte that contains it.
  size_t padding;
};
typedef int frame_received(void *session, const struct frame *frame, void *context);

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
  ssize_t (*receive)(void *session, const uint8_t *bytes, size_t count);
  void (*set_received)(void *callbacks, frame_received *received);
  int (*send)(void *session);
  int (*wants_to_send)(void *session);
  uint32_t (*next_stream)(void *session);
  int (*reset)(void *session, uint8_t flags, int32_t stream, uint32_t error);
} nghttp2;
static ssize_t (*original_send)(int socket, const void *bytes, size_t count, int flags);
static _Thread_local struct {
  martlet_stream_noted noted;
  martlet_send_failed failed;
  void *loop;
  void *leaving;
} listener;

#define FUNCTIONS(x) \
  x(nghttp2_session_callbacks_set_on_stream_close_callback, nghttp2.set_closed) \
  x(nghttp2_session_get_stream_user_data, nghttp2.user) \
  x(nghttp2_session_mem_recv, nghttp2.receive) \
  x(nghttp2_session_callbacks_set_on_frame_recv_callback, nghttp2.set_received) \
  x(nghttp2_session_send, nghttp2.send) \
  x(nghttp2_session_want_write, nghttp2.wants_to_send) \
  x(nghttp2_session_get_next_stream_id, nghttp2.next_stream) \
  x(nghttp2_submit_rst_stream, nghttp2.reset)

FUNCTIONS(MARTLET_DECLARE)

// libcurl has callbacks for servers and others for proxies, and a static libcurl shares its table with the program.
enum { kUsers = 2 };
static _Atomic(stream_closed *) closed_originals[kUsers];
static _Atomic(frame_received *) received_originals[kUsers];

/// The easy handle of a stream, or `NULL` without a listener, or on a thread that does not run the engine.
static void *listened_easy(void *session, int32_t stream) {
  if (!listener.noted || !listener.loop || !martlet_library_is_inside()) return NULL;
  return nghttp2.user(session, stream);
}

static int closed(int number, void *session, int32_t stream, uint32_t error, void *context) {
  void *easy = listened_easy(session, stream);
  if (easy) listener.noted(listener.loop, easy, martlet_stream_closed, error);
  return atomic_load(&closed_originals[number])(session, stream, error, context);
}

/// Reports the bytes of a stream's DATA and its END_STREAM, in frames that nghttp2 has accepted.
///
/// It accepts none after a reset.
static void note_frame(void *session, const struct frame *frame) {
  enum { kData, kHeaders, kEnd = 1 };
  const struct frame_head *head = &frame->head;
  if (head->type != kData && head->type != kHeaders) return;
  void *easy = listened_easy(session, head->stream);
  if (!easy) return;
  const size_t count = head->type == kData ? head->length - frame->padding : 0;
  listener.noted(listener.loop, easy, martlet_stream_has_data, (uint32_t)count);
  if (head->flags & kEnd) listener.noted(listener.loop, easy, martlet_stream_ends, 0);
}

static int received(int number, void *session, const struct frame *frame, void *context) {
  note_frame(session, frame);
  return atomic_load(&received_originals[number])(session, frame, context);
}

#define CALLBACKS(number, suffix) \
  static int closed_##suffix(void *session, int32_t stream, uint32_t error, void *context) { \
    return closed(number, session, stream, error, context); \
  } \
  static int received_##suffix(void *session, const struct frame *frame, void *context) { \
    return received(number, session, frame, context); \
  }
CALLBACKS(0, first)
CALLBACKS(1, second)

/// Chooses the replacement of a callback; the callback itself if all are in use.
#define REPLACEMENT(type, name, callback) \
  type *const replacements[kUsers] = {name##_first, name##_second}; \
  type *replacement = callback; \
  for (int i = 0; callback && i < kUsers; i++) { \
    type *known = NULL; \
    if (!atomic_compare_exchange_strong(&name##_originals[i], &known, callback) && known != callback) continue; \
    replacement = replacements[i]; \
    break; \
  }

static void set_closed(void *callbacks, stream_closed *callback) {
  REPLACEMENT(stream_closed, closed, callback)
  nghttp2.set_closed(callbacks, replacement);
}

static void set_received(void *callbacks, frame_received *callback) {
  REPLACEMENT(frame_received, received, callback)
  nghttp2.set_received(callbacks, replacement);
}

/// Finds a response of HTTP/1, for which libcurl reports only the end of the connection.
static ssize_t receive(void *session, const uint8_t *bytes, size_t count) {
  static const char http1[] = "HTTP/1.";
  const bool is_http1 = count >= sizeof http1 - 1 && !memcmp(bytes, http1, sizeof http1 - 1);
  if (is_http1 && listener.noted && listener.loop && martlet_library_is_inside()) {
    // The streams of a new connection.
    for (int32_t stream = 1; stream < 256; stream += 2) {
      void *easy = nghttp2.user(session, stream);
      if (!easy) break;
      listener.noted(listener.loop, easy, martlet_stream_got_http1, 0);
    }
  }
  return nghttp2.receive(session, bytes, count);
}

/// The stream of the transfer to be removed; 0 if it is on another connection.
static int32_t leaving_stream(void *session) {
  enum { kMost = 4096 };
  if (!listener.leaving || !martlet_library_is_inside()) return 0;
  int32_t stream = (int32_t)nghttp2.next_stream(session) - 2;
  for (int i = 0; i < kMost && stream > 0; i++, stream -= 2) {
    if (nghttp2.user(session, stream) == listener.leaving) return stream;
  }
  return 0;
}

/// Resets that stream before libcurl sends the pending frames.
static int send_frames(void *session) {
  enum { kCancel = 8 };
  const int32_t stream = leaving_stream(session);
  if (stream) {
    listener.leaving = NULL;
    nghttp2.reset(session, 0, stream, kCancel);
  }
  return nghttp2.send(session);
}

static int wants_to_send(void *session) { return leaving_stream(session) ? 1 : nghttp2.wants_to_send(session); }

void *martlet_streams_leave(void *easy) {
  void *previous = listener.leaving;
  listener.leaving = easy;
  return previous;
}

static ssize_t send_or_wait(int socket, const void *bytes, size_t count, int flags) {
  const ssize_t written = original_send(socket, bytes, count, flags);
  if (written >= 0 || (errno != EPIPE && errno != ECONNRESET)) return written;
  if (!listener.failed || !listener.loop || !martlet_library_is_inside()) return written;
  const int error = errno;
  // libcurl waits then, and receives at the loop's request.
  errno = listener.failed(listener.loop, socket, error == ECONNRESET) ? EAGAIN : error;
  return written;
}

struct image {
  uintptr_t base;
  const ElfW(Phdr) *headers;
  int count;
};

static int find_headers(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  struct image *image = context;
  if (info->dlpi_addr != image->base) return 0;
  image->headers = info->dlpi_phdr;
  image->count = info->dlpi_phnum;
  return 1;
}

static bool is_loaded(const struct image *image, uintptr_t place, ElfW(Word) flag) {
  for (int i = 0; i < image->count; i++) {
    const ElfW(Phdr) *header = image->headers + i;
    if (header->p_type == PT_LOAD && header->p_flags & flag && place - image->base - header->p_vaddr < header->p_memsz)
      return true;
  }
  return false;
}

/// Whether the dynamic linker has made the page of a place read-only.
static bool is_read_only(const struct image *image, uintptr_t place, uintptr_t page) {
  for (int i = 0; i < image->count; i++) {
    if (image->headers[i].p_type != PT_GNU_RELRO) continue;
    const uintptr_t start = image->base + image->headers[i].p_vaddr;
    if (place >= (start & ~(page - 1)) && place < ((start + image->headers[i].p_memsz) & ~(page - 1))) return true;
  }
  return false;
}

static bool replace(const struct image *image, uintptr_t place, int kind, void *original, void *function) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  if (place % sizeof(void *) || !is_loaded(image, place, PF_W)) return false;
  // The function is another copy, or is replaced by other code. A function not yet called leads to the linker.
  void *known = atomic_load((_Atomic(void *) *)place);
  if (known != original && !(kind == kJump && is_loaded(image, (uintptr_t)known, PF_X))) return false;
  void *start = (void *)(place & ~(page - 1));
  const bool is_protected = is_read_only(image, place, page);
  if (is_protected && mprotect(start, page, PROT_READ | PROT_WRITE)) return false;
  const bool is_done = atomic_compare_exchange_strong((_Atomic(void *) *)place, &known, function);
  if (is_protected) mprotect(start, page, PROT_READ);
  return is_done;
}

/// Replaces an imported function of an image; returns whether it was found.
static bool replace_import(const struct link_map *map, const char *name, void *original, void *function) {
  uintptr_t places[DT_RELASZ + 1] = {0};
  uintptr_t jumps = 0, jumps_size = 0, jumps_kind = DT_RELA;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag >= 0 && entry->d_tag <= DT_RELASZ) places[entry->d_tag] = entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) jumps = entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) jumps_size = entry->d_un.d_val;
    if (entry->d_tag == DT_PLTREL) jumps_kind = entry->d_un.d_val;
  }
  // Not every C library has relocated these to addresses.
#define ADDRESS(value) ((value) < map->l_addr ? (value) + map->l_addr : (value))
  if (!places[DT_SYMTAB] || !places[DT_STRTAB] || jumps_kind != DT_RELA) return false;
  const ElfW(Sym) *symbols = (const void *)ADDRESS(places[DT_SYMTAB]);
  const char *names = (const char *)ADDRESS(places[DT_STRTAB]);
  const struct {
    uintptr_t start, size;
  } tables[] = {{jumps, jumps_size}, {places[DT_RELA], places[DT_RELASZ]}};
  struct image image = {.base = map->l_addr};
  if (!dl_iterate_phdr(find_headers, &image)) return false;
  bool is_found = false;
  for (size_t i = 0; i < 2; i++) {
    if (!tables[i].start) continue;
    const ElfW(Rela) *entry = (const void *)ADDRESS(tables[i].start);
    for (size_t rest = tables[i].size / sizeof *entry; rest > 0; rest--, entry++) {
      const int kind = (int)ELF64_R_TYPE(entry->r_info);
      if (kind != kGlobal && kind != kJump) continue;
      if (strcmp(names + symbols[ELF64_R_SYM(entry->r_info)].st_name, name)) continue;
      is_found = replace(&image, map->l_addr + entry->r_offset, kind, original, function) || is_found;
    }
  }
#undef ADDRESS
  return is_found;
}

static struct link_map *imports(const struct martlet_library *library) {
  struct link_map *map = NULL;
  if (sizeof(ElfW(Rela)) != sizeof(Elf64_Rela) || !library->image) return NULL;
  return dlinfo(library->image, RTLD_DI_LINKMAP, &map) ? NULL : map;
}

void martlet_sends_open(const struct martlet_library *library) {
  const struct link_map *map = imports(library);
  void *original = map ? dlsym(RTLD_DEFAULT, "send") : NULL;
  if (!original) return;
  original_send = (ssize_t(*)(int, const void *, size_t, int))original;
  replace_import(map, "send", original, send_or_wait);
}

bool martlet_streams_open(const struct martlet_library *library) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  const struct link_map *map = imports(library);
  if (!map) return false;
  if (!martlet_library_find_beside(library, symbols, sizeof symbols / sizeof symbols[0])) return false;
  // Another copy that comes first for the program may be libcurl's as well, and its structures may differ.
  void *first = dlsym(RTLD_DEFAULT, symbols[0].name);
  if (first && first != (void *)nghttp2.set_closed) return false;
  if (!replace_import(map, symbols[0].name, (void *)nghttp2.set_closed, set_closed)) return false;
  replace_import(map, symbols[2].name, (void *)nghttp2.receive, receive);
  replace_import(map, symbols[4].name, (void *)nghttp2.send, send_frames);
  replace_import(map, symbols[5].name, (void *)nghttp2.wants_to_send, wants_to_send);
  return replace_import(map, symbols[3].name, (void *)nghttp2.set_received, set_received);
}

void *martlet_streams_listen(martlet_stream_noted noted, martlet_send_failed failed, void *loop) {
  void *previous = listener.loop;
  listener.noted = noted;
  listener.failed = failed;
  listener.loop = loop;
  return previous;
}

#else

void *martlet_streams_leave(void *easy) {
  (void)easy;
  return NULL;
}

#endif
