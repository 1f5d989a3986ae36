#include "CMartletShim.h"
#include "library.h"

#if defined(__linux__)

#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The numbers are part of libcurl's binary interface and never change.
enum {
  kLong = 0, kObject = 10000, kFunction = 20000, kOffset = 30000,

  kOptWriteData = kObject + 1,
  kOptURL = kObject + 2,
  kOptReadData = kObject + 9,
  kOptErrorBuffer = kObject + 10,
  kOptWriteFunction = kFunction + 11,
  kOptReadFunction = kFunction + 12,
  kOptHeaderData = kObject + 29,
  kOptCustomRequest = kObject + 36,
  kOptVerbose = kLong + 41,
  kOptNoProgress = kLong + 43,
  kOptNoBody = kLong + 44,
  kOptUpload = kLong + 46,
  kOptHeaderFunction = kFunction + 79,
  kOptNoProxy = kObject + 177,
  kOptDebugFunction = kFunction + 94,
  kOptDebugData = kObject + 95,
  kOptNoSignal = kLong + 99,
  kOptInFileSizeLarge = kOffset + 115,
  kOptTCPNoDelay = kLong + 121,
  kOptSockoptFunction = kFunction + 148,
  kOptSockoptData = kObject + 149,
  kOptSeekFunction = kFunction + 167,
  kOptSeekData = kObject + 168,
  kOptOpenSocketFunction = kFunction + 163,
  kOptOpenSocketData = kObject + 164,
  kOptDNSCacheTimeout = kLong + 92,
  kOptConnectOnly = kLong + 141,
  kOptProtocols = kLong + 181,
  kOptCloseSocketFunction = kFunction + 208,
  kOptCloseSocketData = kObject + 209,
  kOptPathAsIs = kLong + 234,
  kOptUploadBufferSize = kLong + 280,
  kOptHTTP09Allowed = kLong + 285,
  kOptPrereqFunction = kFunction + 312,
  kOptPrereqData = kObject + 313,
  kOptParsedURL = kObject + 282,
  kOptTrailerFunction = kFunction + 283,
  kOptTrailerData = kObject + 284,
  kOptQuickExit = kLong + 322,

  kMultiSocketFunction = kFunction + 1,
  kMultiSocketData = kObject + 2,
  kMultiTimerFunction = kFunction + 4,
  kMultiTimerData = kObject + 5,
  kMultiMaxConnects = kLong + 6,
  kMultiMaxHostConnections = kLong + 7,
  kMultiMaxTotalConnections = kLong + 13,

  kInfoLong = 0x200000, kInfoOffset = 0x600000,
  kInfoNumConnects = kInfoLong + 26,
  kInfoTLS = 0x400000 + 45,
  kInfoActiveSocket = 0x500000 + 44,
  kInfoSent = kInfoOffset + 7,
  kInfoNameLookupTime = kInfoOffset + 51,
  kInfoConnectTime = kInfoOffset + 52,
  kInfoAppConnectTime = kInfoOffset + 56,

  kShareAdd = 1,
  kShareSessions = 4,

  kGlobalAll = 3,
  kFeatureSSL = 1 << 2,
  kFeatureAsynchDNS = 1 << 7,
  kFeatureHTTP2 = 1 << 16,
  kVersionNow = 6, // CURLVERSION_SEVENTH, the first with the name of the CA file
  kVersionReady = 0x075000, // 7.80, the first version with `CURLOPT_PREREQFUNCTION`
  kHTTPVersion1 = 2, kHTTPVersion2TLS = 4,
  kProtocolHTTP = 1, kProtocolHTTPS = 2,
  kPauseReceive = 1, kPauseSend = 4,
  kText = 0, kHeaderIn = 1,
  kPartURL = 0,
  kNonSupportScheme = 1 << 3, kPathAsIs = 1 << 4,
  kMessageDone = 1,
  kUnknownOption = 48,
};

struct version_info {
  int age;
  const char *version;
  unsigned int version_num;
  const char *host;
  int features;
  const char *ssl_version;
  long ssl_version_num;
  const char *libz_version;
  const char *const *protocols;
  const char *ares;
  int ares_num;
  const char *libidn;
  int iconv_ver_num;
  const char *libssh_version;
  unsigned int brotli_ver_num;
  const char *brotli_version;
  unsigned int nghttp2_ver_num;
  const char *nghttp2_version;
  const char *quic_version;
  const char *cainfo;
  const char *capath;
};

/// `struct curl_sockaddr`; `length` is the size of its address.
struct socket_address {
  int family;
  int type;
  int protocol;
  unsigned int length;
  struct sockaddr address;
};

struct message {
  int msg;
  void *easy;
  union {
    void *whatever;
    int result;
  } data;
};

static struct {
  int (*global_init)(long);
  struct version_info *(*version_info)(int);
  void *(*easy_init)(void);
  void (*easy_cleanup)(void *);
  void (*easy_reset)(void *);
  int (*easy_setopt)(void *, int, ...);
  int (*easy_getinfo)(void *, int, ...);
  int (*easy_pause)(void *, int);
  const char *(*easy_strerror)(int);
  void *(*slist_append)(void *, const char *);
  void (*slist_free_all)(void *);
  void *(*url)(void);
  void (*url_cleanup)(void *);
  int (*url_set)(void *, int, const char *, unsigned int);
  void *(*multi_init)(void);
  int (*multi_cleanup)(void *);
  int (*multi_add_handle)(void *, void *);
  int (*multi_remove_handle)(void *, void *);
  int (*multi_setopt)(void *, int, ...);
  int (*multi_socket_action)(void *, int, int, int *);
  int (*multi_wakeup)(void *);
  struct message *(*multi_info_read)(void *, int *);
  void *(*share_init)(void);
  int (*share_setopt)(void *, int, ...);
  int (*share_cleanup)(void *);
} curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[200];
static uint32_t version;
/// libcurl's description of itself, once it can be used.
static const struct version_info *facts;
static const char *path;
/// Whether the ends of HTTP/2 streams are observed.
static bool knows_stream_ends;
/// The system's root certificates, and whether libcurl needs the file as an option.
static const char *ca_file;
static const char *ca_path;
static bool names_ca_file;

/// Whether a folder has certificates under OpenSSL's names: eight hexadecimal digits, a dot and a number.
static bool has_roots(const char *folder) {
  DIR *entries = opendir(folder);
  if (!entries) return false;
  const struct dirent *entry;
  while ((entry = readdir(entries))) {
    if (strspn(entry->d_name, "0123456789abcdef") == 8 && entry->d_name[8] == '.') break;
  }
  closedir(entries);
  return entry != NULL;
}

/// Finds the system's root certificates: where libcurl was built to look for them, otherwise at the usual places of
/// distributions.
static void find_roots(const struct version_info *info) {
  // Without either, libcurl leaves the choice to OpenSSL, which reads the environment.
  if (!info->cainfo && !info->capath && (getenv("SSL_CERT_FILE") || getenv("SSL_CERT_DIR"))) return;
  static const char *const places[] = {
      "/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch, Alpine
      "/etc/pki/tls/certs/ca-bundle.crt",   // Fedora, RHEL, Amazon Linux
      "/etc/ssl/ca-bundle.pem",             // openSUSE
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
      "/etc/ssl/cert.pem",
  };
  const bool has_file = info->cainfo && access(info->cainfo, R_OK) == 0;
  if (info->capath && has_roots(info->capath)) ca_path = info->capath;
  if (has_file) ca_file = info->cainfo;
  for (size_t i = 0; !ca_file && !ca_path && i < sizeof places / sizeof places[0]; i++) {
    names_ca_file = access(places[i], R_OK) == 0;
    if (names_ca_file) ca_file = places[i];
  }
}

#define FUNCTIONS(x) \
  x(curl_global_init, curl.global_init) \
  x(curl_version_info, curl.version_info) \
  x(curl_easy_init, curl.easy_init) \
  x(curl_easy_cleanup, curl.easy_cleanup) \
  x(curl_easy_reset, curl.easy_reset) \
  x(curl_easy_setopt, curl.easy_setopt) \
  x(curl_easy_getinfo, curl.easy_getinfo) \
  x(curl_easy_pause, curl.easy_pause) \
  x(curl_easy_strerror, curl.easy_strerror) \
  x(curl_slist_append, curl.slist_append) \
  x(curl_slist_free_all, curl.slist_free_all) \
  x(curl_url, curl.url) \
  x(curl_url_cleanup, curl.url_cleanup) \
  x(curl_url_set, curl.url_set) \
  x(curl_multi_init, curl.multi_init) \
  x(curl_multi_cleanup, curl.multi_cleanup) \
  x(curl_multi_add_handle, curl.multi_add_handle) \
  x(curl_multi_remove_handle, curl.multi_remove_handle) \
  x(curl_multi_setopt, curl.multi_setopt) \
  x(curl_multi_socket_action, curl.multi_socket_action) \
  x(curl_multi_wakeup, curl.multi_wakeup) \
  x(curl_multi_info_read, curl.multi_info_read) \
  x(curl_share_init, curl.share_init) \
  x(curl_share_setopt, curl.share_setopt) \
  x(curl_share_cleanup, curl.share_cleanup)

FUNCTIONS(MARTLET_DECLARE)

// The TLS library in use; a libcurl with several names the others in parentheses, before or after it.
static const char *tls_name(const struct version_info *info) {
  const char *name = info->ssl_version;
  while (name && *name == '(') {
    name = strchr(name, ')');
    if (name) name += name[1] == ' ' ? 2 : 1;
  }
  return name;
}

static void open_library(void) {
  const struct martlet_symbol symbols[] = {FUNCTIONS(MARTLET_SYMBOL)};
  const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
  struct martlet_library library;
  if (!martlet_library_find(&library, symbols, sizeof symbols / sizeof symbols[0], files, 0)) {
    if (library.missing) {
      snprintf(problem, sizeof problem, "libcurl has no %s", library.missing);
    } else {
      snprintf(problem, sizeof problem, "there is neither libcurl.so.4 nor libcurl-gnutls.so.4");
    }
    return;
  }
  martlet_exit_guard(&library);
  const struct version_info *info = curl.version_info(kVersionNow);
  if (!info || info->age < kVersionNow || info->version_num < 0x074c00) {
    snprintf(problem, sizeof problem, "libcurl %s is older than 7.76", info && info->version ? info->version : "?");
    return;
  }
  if (!(info->features & kFeatureAsynchDNS)) {
    snprintf(problem, sizeof problem, "libcurl %s looks up names without a thread of its own", info->version);
    return;
  }
  if (!(info->features & kFeatureSSL)) {
    snprintf(problem, sizeof problem, "libcurl %s has no TLS", info->version);
    return;
  }
  int code = curl.global_init(kGlobalAll);
  if (code) {
    snprintf(problem, sizeof problem, "libcurl cannot start: %s", curl.easy_strerror(code));
    return;
  }
  // Only now is it certain which of several TLS libraries is used.
  info = curl.version_info(kVersionNow);
  version = info->version_num;
  facts = info;
  // For its log, libcurl before 7.80 sets an OpenSSL callback whose transfer may already be freed.
  if (!martlet_tls_open(&library, tls_name(info), version < kVersionReady)) {
    snprintf(problem, sizeof problem, "libcurl %s needs to be guarded, and its OpenSSL is not to be found", info->version);
    return;
  }
  martlet_identity_open(&library, tls_name(info));
  knows_stream_ends = martlet_tls_is_known() && martlet_streams_open(&library);
  martlet_sends_open(&library);
  path = library.path;
  find_roots(info);
}

static void load(void) {
  martlet_exit_watch();
  if (!martlet_library_enter()) {
    snprintf(problem, sizeof problem, "libcurl cannot start: the process is exiting");
    return;
  }
  open_library();
  martlet_library_leave();
}

const char *martlet_curl_problem(void) {
  pthread_once(&once, load);
  return problem[0] ? problem : NULL;
}

uint32_t martlet_curl_version(void) { return martlet_curl_problem() ? 0 : version; }
const char *martlet_curl_version_text(void) { return martlet_curl_problem() ? NULL : facts->version; }
int martlet_curl_features(void) { return martlet_curl_problem() ? 0 : facts->features; }
const char *martlet_curl_ca_file(void) { return martlet_curl_problem() ? NULL : ca_file; }
bool martlet_curl_is_built_with_http2(void) { return martlet_curl_features() & kFeatureHTTP2; }
// Before 7.88 a truncated body looks complete, and a stream that ends while its request is sent is not noticed. 8.5.0
// does not notice that either, nor a broken connection, and drops bytes that its reader has not taken. Only OpenSSL
// reports which connections use HTTP/2, and only nghttp2 reports which streams have ended.
bool martlet_curl_has_http2(void) {
  return martlet_curl_is_built_with_http2() && version >= 0x075800 && version != 0x080500 && knows_stream_ends;
}
const char *martlet_curl_tls_name(void) { return martlet_curl_problem() ? NULL : tls_name(facts); }
const char *martlet_curl_no_ca_path(void) { return version >= 0x081500 && facts->capath ? "/proc/self/ns" : NULL; }
const char *martlet_curl_ca_folder(void) { return martlet_curl_problem() ? NULL : ca_path; }
const char *martlet_curl_path(void) { return martlet_curl_problem() ? NULL : path; }

// MARK: Easy handles

bool martlet_curl_hides_broken_connections(void) { return version >= 0x075800 && version < 0x080100; }

int martlet_curl_read_note(int type, char *bytes, size_t count, bool is_guarded, uint32_t *number) {
  // libcurl passes each header line to the log right before it stores the line, in the same memory. It does not store a
  // line that begins with a carriage return, and the head reader rejects that line.
  if (is_guarded && type == kHeaderIn && count > 0 && (bytes[0] == ' ' || bytes[0] == '\t')) bytes[0] = '\r';
  if (type != kText) return 0;
  if (count > 15 && strncmp(bytes, "stream ", 7) == 0 && memcmp(bytes + count - 8, " closed\n", 8) == 0) return 7;
  if (count < 20) return 0;
  if (strncmp(bytes, "Downgrades to HTTP/1.1", count < 22 ? count : 22) == 0) return 6;
  const size_t end = count - (bytes[count - 1] == '\n');
  if (version < kVersionReady && strncmp(bytes, "Connected to ", 13) == 0 && bytes[end - 1] == ')') {
    const char *mark = bytes + end;
    while (mark > bytes && *mark != '#') mark--;
    *number = (uint32_t)strtoul(mark + 1, NULL, 10);
    return 8;
  }
  // Before 7.88 there is no HTTP/2 (`martlet_curl_has_http2`).
  if (version < 0x075800) return 0;
  char line[80] = {0};
  memcpy(line, bytes, count < sizeof line ? count : sizeof line - 1);
  // From the beginning of the line, because the log also contains the request.
  if (strncmp(line, "Connection died, ", 17) == 0) return 3;
  if (strncmp(line, "REFUSED_STREAM, ", 16) == 0) return 5;
  char code[12] = {0};
  if (sscanf(line, "recveived GOAWAY, error=%11[-0-9]", code) != 1 &&
      sscanf(line, "received GOAWAY, error=%11[-0-9]", code) != 1)
    return 0;
  // libcurl prints the code with a sign until 8.
  *number = (uint32_t)strtoll(code, NULL, 10);
  return 2;
}

bool martlet_curl_notes_leftovers(int type, const char *bytes, size_t count) {
  static const char chunked[] = "Leftovers after chunking", other[] = "Excess found";
  return type == kText && ((count >= sizeof chunked && memcmp(bytes, chunked, sizeof chunked - 1) == 0) ||
                           (count >= sizeof other && memcmp(bytes, other, sizeof other - 1) == 0));
}

bool martlet_curl_tells_before_sending(void) { return version >= kVersionReady; }

int martlet_easy_log(void *easy, bool is_on) {
  return version < kVersionReady ? 0 : curl.easy_setopt(easy, kOptVerbose, is_on ? 1L : 0L);
}

void *martlet_easy_new(void) { return curl.easy_init(); }
void martlet_easy_free(void *easy) { curl.easy_cleanup(easy); }

int martlet_easy_prepare(
    void *easy, const martlet_curl_callbacks *callbacks, void *handle, void *loop, char *error_text) {
  curl.easy_reset(easy);
  int code = 0;
#define SET(option, value) \
  do { if (!code) code = curl.easy_setopt(easy, (option), (value)); } while (0)
  SET(kOptNoSignal, 1L);
  SET(kOptNoProgress, 1L);
  SET(kOptErrorBuffer, error_text);
  SET(kOptDebugFunction, callbacks->logged);
  SET(kOptDebugData, handle);
  SET(kOptProtocols, (long)(kProtocolHTTP | kProtocolHTTPS));
  // Without nghttp2 even setting this option is an error.
  if (facts->features & kFeatureHTTP2) {
    SET(martlet_opt_http_version, (long)(martlet_curl_has_http2() ? kHTTPVersion2TLS : kHTTPVersion1));
  }
  SET(kOptHTTP09Allowed, 0L);
  // Empty texts, because libcurl reads the environment if there are none.
  SET(martlet_opt_proxy, "");
  SET(kOptNoProxy, "");
  SET(kOptPathAsIs, 1L);
  SET(kOptTCPNoDelay, 1L);
  SET(martlet_opt_buffer_size, (long)martlet_receive_size);
  // Before 8.7, over TLS and HTTP/1, even a request without a body is copied into a new buffer of this size, the smallest
  // that is allowed. With 8.1 and 8.2, a larger head that has to wait would fail over HTTP/2.
  if (version < 0x080700 && version >> 8 != 0x0801 && version >> 8 != 0x0802) SET(kOptUploadBufferSize, 16L << 10);
  // A proxy's response to CONNECT is not the server's response.
  SET(martlet_opt_suppress_connect_headers, 1L);
  SET(kOptHeaderFunction, callbacks->head);
  SET(kOptHeaderData, handle);
  SET(kOptWriteFunction, callbacks->body);
  SET(kOptWriteData, handle);
  SET(kOptReadFunction, callbacks->read);
  SET(kOptReadData, handle);
  SET(kOptSeekFunction, callbacks->seek);
  SET(kOptSeekData, handle);
  if (version < kVersionReady) {
    SET(kOptVerbose, 1L);
  } else {
    SET(kOptPrereqFunction, callbacks->ready);
    SET(kOptPrereqData, handle);
  }
  SET(kOptSockoptFunction, callbacks->opened);
  SET(kOptSockoptData, handle);
  SET(kOptOpenSocketFunction, callbacks->opening);
  SET(kOptOpenSocketData, handle);
  SET(kOptCloseSocketFunction, callbacks->closed);
  SET(kOptCloseSocketData, loop);
  // Only without a folder does libcurl keep parsed certificates (7.87). Parsing takes 20 ms per connection.
  if (ca_file) SET(martlet_opt_ca_path, NULL);
  if (names_ca_file) {
    SET(martlet_opt_ca_info, ca_file);
    SET(martlet_opt_proxy_ca_info, ca_file);
  }
#undef SET
  // 7.87: a transfer that ends during a name lookup does not wait for the lookup.
  if (!code) {
    int quick = curl.easy_setopt(easy, kOptQuickExit, 1L);
    if (quick != kUnknownOption) code = quick;
  }
  return code;
}

int martlet_socket_address(const void *address, uint8_t *bytes) {
  const struct socket_address *socket_address = address;
  const char *start = (const char *)address + offsetof(struct socket_address, address);
  // The address contains its own family, which determines where libcurl connects.
  if (socket_address->family != socket_address->address.sa_family) return 0;
  if (socket_address->family == AF_INET && socket_address->length >= sizeof(struct sockaddr_in)) {
    memcpy(bytes, start + offsetof(struct sockaddr_in, sin_addr), 4);
    return 4;
  }
  if (socket_address->family == AF_INET6 && socket_address->length >= sizeof(struct sockaddr_in6)) {
    memcpy(bytes, start + offsetof(struct sockaddr_in6, sin6_addr), 16);
    return 16;
  }
  return 0;
}

int martlet_socket_name(const void *address, void *bytes, int room) {
  const struct socket_address *wanted = address;
  if (wanted->type != SOCK_STREAM || wanted->length > (unsigned)room) return 0;
  memcpy(bytes, (const char *)address + offsetof(struct socket_address, address), wanted->length);
  return (int)wanted->length;
}

int martlet_socket_new(const void *address) {
  const struct socket_address *wanted = address;
  return martlet_above_streams(socket(wanted->family, wanted->type | SOCK_CLOEXEC, wanted->protocol));
}

int martlet_easy_set_number(void *easy, int option, long value) { return curl.easy_setopt(easy, option, value); }
int martlet_easy_set_text(void *easy, int option, const char *text) { return curl.easy_setopt(easy, option, text); }
int martlet_easy_set_pointer(void *easy, int option, void *value) { return curl.easy_setopt(easy, option, value); }

void *martlet_url_new(const char *text) {
  void *url = curl.url();
  if (!url || curl.url_set(url, kPartURL, text, kNonSupportScheme | kPathAsIs) == 0) return url;
  curl.url_cleanup(url);
  return NULL;
}

void martlet_url_free(void *url) { curl.url_cleanup(url); }

int martlet_easy_set_url(void *easy, const char *text, void *url) {
  int code = curl.easy_setopt(easy, kOptURL, text);
  return code ? code : curl.easy_setopt(easy, kOptParsedURL, url);
}

int martlet_easy_set_method(void *easy, const char *method, bool is_head) {
  int code = is_head ? curl.easy_setopt(easy, kOptNoBody, 1L) : 0;
  return code ? code : curl.easy_setopt(easy, kOptCustomRequest, method);
}

int martlet_easy_set_upload(void *easy, int64_t length) {
  int code = curl.easy_setopt(easy, kOptUpload, 1L);
  if (!code) code = curl.easy_setopt(easy, kOptInFileSizeLarge, length);
  // Unless it fits in the usual one.
  const long buffer = length < 0 ? 256L << 10 : length > 64 << 10 ? 1L << 20 : length > 16 << 10 ? 64L << 10 : 0;
  return code || !buffer ? code : curl.easy_setopt(easy, kOptUploadBufferSize, buffer);
}

int martlet_easy_set_upgrade(void *easy) {
  int code = curl.easy_setopt(easy, kOptUpload, 1L);
  if (!code) code = curl.easy_setopt(easy, kOptInFileSizeLarge, (int64_t)-1);
  return code ? code : curl.easy_setopt(easy, kOptUploadBufferSize, 64L << 10);
}

int martlet_easy_set_trailers(void *easy, martlet_curl_trailers trailers, void *handle) {
  int code = curl.easy_setopt(easy, kOptTrailerFunction, trailers);
  return code ? code : curl.easy_setopt(easy, kOptTrailerData, handle);
}

int martlet_easy_pause(void *easy, bool is_receiving_paused, bool is_sending_paused) {
  return curl.easy_pause(easy, (is_receiving_paused ? kPauseReceive : 0) | (is_sending_paused ? kPauseSend : 0));
}

const char *martlet_easy_error(int code) { return martlet_curl_problem() ? "" : curl.easy_strerror(code); }

static int64_t offset_info(void *easy, int which) {
  int64_t value = 0;
  return curl.easy_getinfo(easy, which, &value) ? 0 : value;
}

int64_t martlet_easy_sent_count(void *easy) { return offset_info(easy, kInfoSent); }
int64_t martlet_easy_name_lookup_time(void *easy) { return offset_info(easy, kInfoNameLookupTime); }
int64_t martlet_easy_connect_time(void *easy) { return offset_info(easy, kInfoConnectTime); }
int64_t martlet_easy_tls_time(void *easy) { return offset_info(easy, kInfoAppConnectTime); }

long martlet_easy_number(void *easy, int info) {
  long value = 0;
  return curl.easy_getinfo(easy, info, &value) ? 0 : value;
}

const char *martlet_easy_text(void *easy, int info) {
  const char *value = NULL;
  return curl.easy_getinfo(easy, info, &value) ? NULL : value;
}

long martlet_easy_connection_count(void *easy) {
  long value = 0;
  return curl.easy_getinfo(easy, kInfoNumConnects, &value) ? 1 : value;
}

int martlet_easy_kept_socket(void *easy) {
  int socket = -1;
  return curl.easy_getinfo(easy, kInfoActiveSocket, &socket) ? -1 : socket;
}

enum { kOpenSSL = 1, kGnuTLS = 2 };

// The backend's number, and its object; 0 without TLS.
static int tls_session(void *easy, void **internals) {
  struct {
    int backend;
    void *internals;
  } *session = NULL;
  if (curl.easy_getinfo(easy, kInfoTLS, &session) || !session || !session->internals) return 0;
  *internals = session->internals;
  return session->backend;
}

void *martlet_easy_tls(void *easy) {
  void *internals = NULL;
  return tls_session(easy, &internals) == kOpenSSL ? internals : NULL;
}

void *martlet_easy_session(void *easy) {
  void *internals = NULL;
  const int backend = tls_session(easy, &internals);
  return backend == (martlet_tls_is_known() ? kOpenSSL : kGnuTLS) ? internals : NULL;
}

bool martlet_easy_has_tls(void *easy) {
  void *internals = NULL;
  return tls_session(easy, &internals) != 0;
}

void *martlet_list_append(void *list, const char *line) { return curl.slist_append(list, line); }
void martlet_list_free(void *list) { curl.slist_free_all(list); }

// MARK: Multi handles

/// Keeps the socket pair that wakes a multi handle from children, as libcurl before 8.8 does not. Only the effect of a
/// wake identifies the pair.
static void keep_wake_pair(void *multi) {
  if (version >= 0x080800) return;
  curl.multi_wakeup(multi);
  for (int i = 3; i < martlet_descriptor_limit(); i++) {
    if (martlet_inherited_bytes(i) != 1) continue;
    curl.multi_wakeup(multi);
    if (martlet_inherited_bytes(i) != 2) continue;
    curl.multi_wakeup(multi);
    if (martlet_inherited_bytes(i) == 3) return martlet_keep_from_children(i);
  }
}

void *martlet_multi_new(const martlet_multi_callbacks *callbacks, void *loop, long per_host, long total) {
  void *multi = curl.multi_init();
  if (!multi) return NULL;
  if (curl.multi_setopt(multi, kMultiSocketFunction, callbacks->socket) ||
      curl.multi_setopt(multi, kMultiSocketData, loop) ||
      curl.multi_setopt(multi, kMultiTimerFunction, callbacks->timer) ||
      curl.multi_setopt(multi, kMultiTimerData, loop) || curl.multi_setopt(multi, kMultiMaxConnects, total) ||
      curl.multi_setopt(multi, kMultiMaxHostConnections, per_host) ||
      curl.multi_setopt(multi, kMultiMaxTotalConnections, total)) {
    curl.multi_cleanup(multi);
    return NULL;
  }
  keep_wake_pair(multi);
  return multi;
}

int martlet_multi_set_limits(void *multi, long per_host, long total) {
  int code = curl.multi_setopt(multi, kMultiMaxHostConnections, per_host);
  return code ? code : curl.multi_setopt(multi, kMultiMaxTotalConnections, total);
}

void *martlet_scout_new(const char *url, int (*opening)(void *, int, void *), void *scout) {
  void *easy = curl.easy_init();
  if (!easy) return NULL;
  // Uses no existing connection, and sends no request.
  if (curl.easy_setopt(easy, kOptURL, url) || curl.easy_setopt(easy, kOptOpenSocketFunction, opening) ||
      curl.easy_setopt(easy, kOptOpenSocketData, scout) || curl.easy_setopt(easy, kOptDNSCacheTimeout, -1L) ||
      curl.easy_setopt(easy, kOptConnectOnly, 1L) || curl.easy_setopt(easy, martlet_opt_fresh_connect, 1L) ||
      curl.easy_setopt(easy, martlet_opt_proxy, "") || curl.easy_setopt(easy, kOptNoProxy, "") ||
      curl.easy_setopt(easy, kOptNoSignal, 1L)) {
    curl.easy_cleanup(easy);
    return NULL;
  }
  curl.easy_setopt(easy, kOptQuickExit, 1L);
  return easy;
}

void martlet_multi_free(void *multi) { curl.multi_cleanup(multi); }
int martlet_multi_add(void *multi, void *easy) { return curl.multi_add_handle(multi, easy); }
int martlet_multi_remove(void *multi, void *easy) { return curl.multi_remove_handle(multi, easy); }

int martlet_multi_act(void *multi, int socket, int events) {
  int running = 0;
  return curl.multi_socket_action(multi, socket, events, &running);
}

void *martlet_multi_next_done(void *multi, int *code) {
  int rest = 0;
  const struct message *message;
  while ((message = curl.multi_info_read(multi, &rest))) {
    if (message->msg != kMessageDone) continue;
    *code = message->data.result;
    return message->easy;
  }
  return NULL;
}

void *martlet_share_new(void) {
  void *share = curl.share_init();
  if (!share || curl.share_setopt(share, kShareAdd, kShareSessions) == 0) return share;
  curl.share_cleanup(share);
  return NULL;
}

void martlet_share_free(void *share) { curl.share_cleanup(share); }

#else

const char *martlet_curl_problem(void) { return "libcurl is used on Linux only"; }
uint32_t martlet_curl_version(void) { return 0; }
const char *martlet_curl_version_text(void) { return NULL; }
int martlet_curl_features(void) { return 0; }
const char *martlet_curl_ca_file(void) { return NULL; }

#endif
