#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { kWantRead = 2, kAlert = 21, kCloseNotify = 0, kSetMessageArgument = 16, kNoted = 256 };

typedef void message_callback(int, int, int, const void *, size_t, void *, void *);

static struct {
  void (*protocol)(const void *, const unsigned char **, unsigned *);
  void (*set_messages)(void *, message_callback *);
  long (*control)(void *, int, long, void *);
  int (*pending)(const void *);
  int (*has_pending)(const void *);
  int (*peek)(void *, void *, int);
  int (*error)(const void *, int);
  int (*shutdown)(void *);
  void *(*reader)(const void *);
  void *(*writer)(const void *);
  void (*set_reader)(void *, void *);
  void (*set_writer)(void *, void *);
  void *(*new_socket)(int, int);
  void *(*new_bio)(const void *);
  const void *(*memory)(void);
  int (*read)(void *, void *, int);
  int (*free)(void *);
  int (*keep)(void *);
  void (*clear_errors)(void);
} ssl;
static bool is_usable;
static void (*set_key_log)(void *, void *);
static void (*set_context_messages)(void *, message_callback *);
static uint64_t (*set_context_options)(void *, uint64_t);
static size_t (*gnutls_pending)(void *);

#define TLS_FUNCTIONS(x) \
  x(SSL_get0_alpn_selected, ssl.protocol) \
  x(SSL_set_msg_callback, ssl.set_messages) \
  x(SSL_ctrl, ssl.control) \
  x(SSL_pending, ssl.pending) \
  x(SSL_has_pending, ssl.has_pending) \
  x(SSL_peek, ssl.peek) \
  x(SSL_get_error, ssl.error) \
  x(SSL_shutdown, ssl.shutdown) \
  x(SSL_get_rbio, ssl.reader) \
  x(SSL_get_wbio, ssl.writer) \
  x(SSL_set0_rbio, ssl.set_reader) \
  x(SSL_set0_wbio, ssl.set_writer)
#define CRYPTO_FUNCTIONS(x) \
  x(BIO_new_socket, ssl.new_socket) \
  x(BIO_new, ssl.new_bio) \
  x(BIO_s_mem, ssl.memory) \
  x(BIO_read, ssl.read) \
  x(BIO_free, ssl.free) \
  x(BIO_up_ref, ssl.keep) \
  x(ERR_clear_error, ssl.clear_errors)

TLS_FUNCTIONS(MARTLET_DECLARE)
CRYPTO_FUNCTIONS(MARTLET_DECLARE)
MARTLET_DECLARE(SSL_CTX_set_keylog_callback, set_key_log)
MARTLET_DECLARE(SSL_CTX_set_msg_callback, set_context_messages)
MARTLET_DECLARE(SSL_CTX_set_options, set_context_options)
MARTLET_DECLARE(gnutls_record_check_pending, gnutls_pending)

bool martlet_tls_open(const struct martlet_library *library, const char *name, bool is_logging) {
  const struct martlet_symbol gnutls[] = {MARTLET_SYMBOL(gnutls_record_check_pending, gnutls_pending)};
  if (name && strncmp(name, "GnuTLS/", 7) == 0) martlet_library_find_beside(library, gnutls, 1);
  // LibreSSL and BoringSSL have OpenSSL's callbacks, but their functions are not looked up.
  if (!name || strncmp(name, "OpenSSL/", 8) != 0) return !is_logging || !name || strstr(name, "SSL") == NULL;
  const struct martlet_symbol key_log[] = {MARTLET_SYMBOL(SSL_CTX_set_keylog_callback, set_key_log)};
  // libcurl has also just read the variable.
  if (getenv("SSLKEYLOGFILE")) martlet_library_find_beside(library, key_log, 1);
  const struct martlet_symbol messages[] = {MARTLET_SYMBOL(SSL_CTX_set_msg_callback, set_context_messages)};
  if (is_logging && !martlet_library_find_beside(library, messages, 1)) return false;
  const struct martlet_symbol options[] = {MARTLET_SYMBOL(SSL_CTX_set_options, set_context_options)};
  martlet_library_find_beside(library, options, 1);
  const struct martlet_symbol tls[] = {TLS_FUNCTIONS(MARTLET_SYMBOL)};
  const struct martlet_symbol crypto[] = {CRYPTO_FUNCTIONS(MARTLET_SYMBOL)};
  is_usable = martlet_library_find_beside(library, tls, sizeof tls / sizeof tls[0]) &&
              martlet_library_find_beside(library, crypto, sizeof crypto / sizeof crypto[0]);
  return true;
}

// libcurl calls this after setting its own callbacks.
static int drop_callbacks(void *easy, void *context, void *unused) {
  if (set_key_log) set_key_log(context, NULL);
  if (set_context_messages) set_context_messages(context, NULL);
  return 0;
}

// Connections may end without `close_notify`, which OpenSSL 3 reports as an error.
static int drop_callbacks_and_ends(void *easy, void *context, void *unused) {
  enum { kIgnoreUnexpectedEnd = 1 << 7 };
  if (set_context_options) set_context_options(context, kIgnoreUnexpectedEnd);
  return drop_callbacks(easy, context, unused);
}

bool martlet_tls_is_known(void) { return is_usable; }
bool martlet_tls_shows_pending(void) { return is_usable || gnutls_pending; }

void *martlet_tls_guard(bool needs_end) {
  if (!needs_end && set_context_options) return (void *)drop_callbacks_and_ends;
  return set_key_log || set_context_messages ? (void *)drop_callbacks : NULL;
}

bool martlet_tls_is_http2(void *tls) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  if (is_usable) ssl.protocol(tls, &name, &length);
  return length == 2 && memcmp(name, "h2", 2) == 0;
}

// The numbers of the connections whose ends this thread has read last. A connection may be freed right after its end,
// so it cannot be queried later.
static _Thread_local uintptr_t ended[kNoted];
static _Thread_local unsigned next_ended;
// The last alerts that this thread has read, kept for the same reason.
static _Thread_local struct {
  uintptr_t number;
  int description;
} alerts[kNoted];
static _Thread_local unsigned next_alert;
static atomic_uintptr_t numbers;

static void heard(
    int is_written, int protocol, int type, const void *bytes, size_t count, void *tls, void *number) {
  if (is_written || type != kAlert || count != 2) return;
  const int description = ((const unsigned char *)bytes)[1];
  if (description == kCloseNotify) {
    ended[next_ended++ % kNoted] = (uintptr_t)number;
  } else {
    const unsigned place = next_alert++ % kNoted;
    alerts[place].number = (uintptr_t)number;
    alerts[place].description = description;
  }
}

uintptr_t martlet_tls_watch_alerts(void *tls) { return martlet_tls_watch_end(tls); }

void martlet_tls_ignore_alerts(void *tls) {
  if (is_usable) ssl.set_messages(tls, NULL);
}

// The alerts about the client (RFC 8446 §6.2); OpenSSL 3.0 has no name for the last one.
static const char *alert_name(int description) {
  switch (description) {
    case 40: return "handshake failure";
    case 42: return "bad certificate";
    case 43: return "unsupported certificate";
    case 44: return "certificate revoked";
    case 45: return "certificate expired";
    case 46: return "certificate unknown";
    case 48: return "unknown ca";
    case 49: return "access denied";
    case 51: return "decrypt error";
    case 116: return "certificate required";
    default: return NULL;
  }
}

const char *martlet_tls_alert(uintptr_t number) {
  if (number == 0) return NULL;
  for (size_t i = 0; i < kNoted; i++) {
    if (alerts[i].number == number) return alert_name(alerts[i].description);
  }
  return NULL;
}

uintptr_t martlet_tls_watch_end(void *tls) {
  if (!is_usable) return 0;
  uintptr_t number = atomic_fetch_add(&numbers, 1) + 1;
  ssl.set_messages(tls, heard);
  ssl.control(tls, kSetMessageArgument, 0, (void *)number);
  return number;
}

bool martlet_tls_has_ended(uintptr_t number) {
  for (size_t i = 0; i < kNoted; i++) {
    if (ended[i] == number) return true;
  }
  return false;
}

bool martlet_tls_has_read(void *tls, int socket) {
  if (!is_usable) return gnutls_pending && gnutls_pending(tls) > 0;
  if (ssl.pending(tls) > 0) return true;
  // Since 8.15 libcurl lets OpenSSL read ahead. Bytes that it has read and not processed may be a session ticket.
  return ssl.has_pending(tls) && (socket < 0 || !martlet_tls_is_quiet(tls, socket));
}

bool martlet_tls_is_quiet(void *tls, int socket) {
  if (!is_usable || ssl.pending(tls) > 0) return false;
  // libcurl's own BIO needs a transfer, and there is none.
  void *own = ssl.new_socket(socket, 0);
  if (!own) return false;
  void *reader = ssl.reader(tls), *writer = ssl.writer(tls);
  // Setting a BIO frees the previous one, so `reader` and `writer` each need one more reference. `own` needs two, for
  // two places.
  ssl.keep(reader);
  ssl.keep(writer);
  ssl.keep(own);
  ssl.set_reader(tls, own);
  ssl.set_writer(tls, own);
  ssl.clear_errors();
  char byte;
  int count = ssl.peek(tls, &byte, 1);
  bool is_quiet = count <= 0 && ssl.error(tls, count) == kWantRead && !ssl.has_pending(tls);
  ssl.clear_errors();
  ssl.set_reader(tls, reader);
  ssl.set_writer(tls, writer);
  return is_quiet;
}

void martlet_half_close(int descriptor, void *tls) {
  if (!tls) {
    shutdown(descriptor, SHUT_WR);
    return;
  }
  void *memory = is_usable ? ssl.new_bio(ssl.memory()) : NULL;
  if (!memory) return;
  // libcurl's own BIO needs a transfer, and there is none; so `close_notify` is sent without it.
  void *writer = ssl.writer(tls);
  ssl.keep(writer);
  ssl.keep(memory);
  ssl.set_writer(tls, memory);
  ssl.clear_errors();
  ssl.shutdown(tls);
  ssl.clear_errors();
  ssl.set_writer(tls, writer);
  char bytes[256];
  const int count = ssl.read(memory, bytes, sizeof bytes);
  if (count > 0) send(descriptor, bytes, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT);
  ssl.free(memory);
}

#endif
