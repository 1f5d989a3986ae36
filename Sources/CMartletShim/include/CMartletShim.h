#ifndef CMARTLETSHIM_H
#define CMARTLETSHIM_H

// What Swift cannot reach by itself on Linux: libcurl, libz (on Apple's systems too), libbrotlidec and libzstd, found
// when they are first needed, and a few system calls. No header of theirs is needed: what is used of
// their interfaces has not changed for many years, and is declared in the sources of this target.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// MARK: libcurl

/// Opens libcurl once and says why it cannot be used, or returns NULL.
const char *_Nullable martlet_curl_problem(void);
/// The version as 0xXXYYZZ, or 0.
uint32_t martlet_curl_version(void);
/// The version as text, or NULL.
const char *_Nullable martlet_curl_version_text(void);
/// What it was built with, as `CURL_VERSION_…`, or 0.
int martlet_curl_features(void);
/// The file that it was loaded from, or NULL.
const char *_Nullable martlet_curl_path(void);
/// The folder with the roots of the system, if libcurl knows one and it can be read, or NULL.
const char *_Nullable martlet_curl_ca_folder(void);
/// The file with the roots of the system, or NULL: the one that libcurl was built with, if it can be read, or, if neither that
/// nor the folder can, one at a usual place.
const char *_Nullable martlet_curl_ca_file(void);
/// The name and version of its TLS library, or NULL.
const char *_Nullable martlet_curl_tls_name(void);
/// Whether it is asked for HTTP/2: it can do that, and tells of a request before it is sent.
bool martlet_curl_has_http2(void);
/// Whether it tells of a request before that is sent, from 7.80 on; before, its log is always on.
bool martlet_curl_tells_before_sending(void);
/// What to set as the folder with roots so that there are none: from 8.21 on, NULL is the folder that libcurl was built with;
/// this is one that has no certificates.
const char *_Nullable martlet_curl_no_ca_path(void);

// MARK: The end of the process
//
// OpenSSL clears its memory when the process exits, while other threads may be using it. So whoever lets libcurl work, or
// uses what all users of libcrypto have in common, enters and leaves. When the process exits nobody comes in any more, and
// an exit handler waits until nobody is inside, for five seconds at most.

struct martlet_library;
/// Registers the exit handler, to be waited for; to be called before a library is opened.
void martlet_exit_watch(void);
/// Registers it once more, with a library that was found. If that is or brings an OpenSSL that nobody has used yet, it will not
/// clear its memory at all.
void martlet_exit_guard(const struct martlet_library *library);
/// Whether the process exits.
bool martlet_is_exiting(void);
/// Enters, unless the process exits; may be called again inside.
bool martlet_library_enter(void);
/// Whether this thread is inside, as it is while it has the lock of an engine.
bool martlet_library_is_inside(void);
void martlet_library_leave(void);
/// Enters; if the process exits, never returns.
void martlet_library_await(void);
/// Gives back what OpenSSL keeps for a thread that is about to end: else it would be done outside.
void martlet_library_end_thread(void);

// MARK: Handles

/// The callbacks of every easy handle; `handle` and `loop` are what was given to `martlet_easy_prepare`.
typedef struct {
  /// One line of a head or trailer, with its line end.
  size_t (*head)(char *bytes, size_t size, size_t count, void *_Nullable handle);
  /// Bytes of the body.
  size_t (*body)(char *bytes, size_t size, size_t count, void *_Nullable handle);
  /// Bytes of the request body are wanted.
  size_t (*read)(char *bytes, size_t size, size_t count, void *_Nullable handle);
  /// The request body is wanted from another place.
  int (*seek)(void *_Nullable handle, int64_t offset, int origin);
  /// There is a connection, and the request will be sent.
  int (*ready)(void *_Nullable handle, char *_Nullable ip, char *_Nullable local_ip, int port, int local_port);
  /// A socket was made.
  int (*opened)(void *_Nullable handle, int socket, int purpose);
  /// A socket is wanted for an address: `martlet_socket_new` makes it, and -1 refuses the address.
  int (*opening)(void *_Nullable handle, int purpose, void *_Nullable address);
  /// A socket has to be closed.
  int (*closed)(void *_Nullable loop, int socket);
  /// A line of libcurl's log, for `martlet_curl_read_note`.
  int (*logged)(void *easy, int type, char *_Nullable bytes, size_t count, void *_Nullable handle);
} martlet_curl_callbacks;

/// The callbacks of a multi handle.
typedef struct {
  int (*socket)(void *easy, int socket, int what, void *_Nullable loop, void *_Nullable own);
  int (*timer)(void *multi, long milliseconds, void *_Nullable loop);
} martlet_multi_callbacks;

void *_Nullable martlet_easy_new(void);
void martlet_easy_free(void *easy);
/// Resets a handle and sets everything that all requests have in common: a GET without a body.
int martlet_easy_prepare(
    void *easy, const martlet_curl_callbacks *callbacks, void *handle, void *loop, char *error_text);
/// Copies the bytes of an address that libcurl wants to connect to; returns 4 or 16, or 0 for what is not an IP address.
int martlet_socket_address(const void *address, uint8_t *bytes);
/// Makes the socket for such an address, or returns -1.
int martlet_socket_new(const void *address);
/// Options that Swift sets by itself; the numbers are part of libcurl's binary interface.
enum {
  martlet_opt_http_header = 10023,
  martlet_opt_connect_timeout_ms = 156,
  martlet_opt_pipe_wait = 237,
  martlet_opt_ssl_options = 216,
  martlet_opt_ssl_cert = 10025,
  martlet_opt_key_password = 10026,
  martlet_opt_ssl_version = 32,
  martlet_opt_ssl_verify_peer = 64,
  martlet_opt_ca_info = 10065,
  martlet_opt_ssl_verify_host = 81,
  martlet_opt_ssl_cert_type = 10086,
  martlet_opt_ssl_key = 10087,
  martlet_opt_ssl_key_type = 10088,
  martlet_opt_ca_path = 10097,
  martlet_opt_share = 10100,
  martlet_opt_ssl_context_function = 20108,
  martlet_opt_pinned_public_key = 10230,
  martlet_opt_proxy = 10004,
  martlet_opt_proxy_user = 10175,
  martlet_opt_proxy_password = 10176,
  martlet_opt_proxy_header = 10228,
  martlet_opt_http_auth = 107,
  martlet_opt_user = 10173,
  martlet_opt_password = 10174,
  martlet_opt_suppress_connect_headers = 265,
  martlet_opt_proxy_ssl_version = 250,
  martlet_opt_proxy_ca_info = 10246,
  martlet_opt_proxy_ca_path = 10247,
  martlet_opt_socks5_auth = 267,
  martlet_opt_header_separation = 229,
  martlet_opt_resolve = 10203,
  martlet_opt_unix_socket_path = 10231,
  martlet_opt_interface = 10062,
  martlet_opt_http_version = 84,
  martlet_opt_request_target = 10266,
  martlet_opt_fresh_connect = 74,
  martlet_opt_forbid_reuse = 75,
  martlet_opt_keep_sending_on_error = 245,
  martlet_opt_transfer_decoding = 157,
  martlet_opt_max_age_conn = 288,
  martlet_opt_buffer_size = 98,
};
/// How much is received at once, where nothing else is set.
enum { martlet_receive_size = 256 << 10 };
/// What Swift asks libcurl about a transfer.
enum {
  martlet_info_remote_address = 0x100000 + 32,
  martlet_info_remote_port = 0x200000 + 40,
  martlet_info_local_address = 0x100000 + 41,
  martlet_info_local_port = 0x200000 + 42,
  /// The status of a proxy's answer to CONNECT.
  martlet_info_connect_status = 0x200000 + 22,
  /// Why a SOCKS proxy refused (`CURLPX_…`).
  martlet_info_proxy_problem = 0x200000 + 59,
};
int martlet_easy_set_number(void *easy, int option, long value);
/// Sets a text, which libcurl copies, or takes it back with NULL.
int martlet_easy_set_text(void *easy, int option, const char *_Nullable text);
/// Sets something that has to live as long as it is set, such as a list.
int martlet_easy_set_pointer(void *easy, int option, void *_Nullable pointer);
/// A parsed URL, to be freed after the handles that know it; NULL if libcurl cannot read it.
void *_Nullable martlet_url_new(const char *text);
void martlet_url_free(void *_Nullable url);
/// Sets the URL as text and, so that libcurl need not read it again, parsed.
int martlet_easy_set_url(void *easy, const char *text, void *_Nullable url);
int martlet_easy_set_method(void *easy, const char *method, bool is_head);
/// Announces a body, of a length that may be -1 for one that is not known.
int martlet_easy_set_upload(void *easy, int64_t length);
/// Makes the list of trailers at the end of a body in chunks; returns 0, or 1 to give up the transfer.
typedef int (*martlet_curl_trailers)(void *_Nullable *_Nullable list, void *_Nullable handle);
/// Has a body be followed by trailers. With libcurl before 8.7 the handle can then serve no other transfer.
int martlet_easy_set_trailers(void *easy, martlet_curl_trailers trailers, void *handle);
/// Whether used handles of this version must be guarded: from 7.83 to 8.1.0 one keeps a pointer to the last field of its
/// last response, which is freed with it, and a response whose first header line is folded then writes to freed memory
/// (curl #11103).
bool martlet_curl_needs_guard(void);
/// Whether this version ends the streams of an HTTP/2 connection that breaks without an error, as it does before 8.1, and its
/// log tells of GOAWAY, as it does from 7.88 on.
bool martlet_curl_hides_broken_connections(void);

/// Whether libcurl may send the bytes of a request over HTTP/2 twice if its socket is full: from 7.88 until 8.1.
bool martlet_curl_repeats_uploads(void);
/// Has libcurl write its log, or ends that.
int martlet_easy_log(void *easy, bool is_on);
/// Reads a line of the log: returns 1 and the transfer's stream of HTTP/2, 2 and the last stream that a server says to
/// process and its error code (GOAWAY), 3 when libcurl wants to send once more, 4 when it keeps the connection for others, 5
/// when it wants to send once more because the server has refused the stream, 6 because the server wants the request by
/// HTTP/1.1, 7 when it finds the stream closed, 8 and the number of the connection, before 7.80, or 0 for everything else. With
/// the guard above, which is for the first header line, a header line loses the blank that it begins with.
int martlet_curl_read_note(
    int type, char *_Nullable bytes, size_t count, bool is_guarded, uint32_t *stream, uint32_t *error);
/// Says what each direction of a transfer that has begun has to do.
int martlet_easy_pause(void *easy, bool is_receiving_paused, bool is_sending_paused);
const char *martlet_easy_error(int code);
/// How many bytes of the request body, with their coding, were written to the connection.
int64_t martlet_easy_sent_count(void *easy);
/// Microseconds since the start of the transfer until a moment of it, 0 if it has not come.
int64_t martlet_easy_name_lookup_time(void *easy);
int64_t martlet_easy_connect_time(void *easy);
int64_t martlet_easy_tls_time(void *easy);
/// What libcurl knows of a transfer: a number (`CURLINFO_LONG`) or a text, 0 or NULL if it does not.
long martlet_easy_number(void *easy, int info);
const char *_Nullable martlet_easy_text(void *easy, int info);
/// The number of connections made, which is 0 if one was used again.
long martlet_easy_connection_count(void *easy);

/// The socket of the connection that a transfer has left to others, once it is over; -1 if it has not.
int martlet_easy_kept_socket(void *easy);
/// What OpenSSL knows of the connection of a transfer that has one; NULL without TLS and with another library. It is freed
/// with the connection.
void *_Nullable martlet_easy_tls(void *easy);

// MARK: OpenSSL

/// Finds the OpenSSL that an opened libcurl uses; false if one whose log is always on cannot be guarded.
bool martlet_tls_open(const struct martlet_library *library, const char *_Nullable name, bool is_logging);
/// What takes back some of what libcurl sets, for `martlet_opt_ssl_context_function`: the file for secrets that the
/// environment names (`SSLKEYLOGFILE`), and the log of TLS where it is not safe. NULL if there is nothing to take back.
void *_Nullable martlet_tls_guard(void);
/// Has the end of a connection be noted, if TLS is ended first; returns the number to ask for it by, 0 if that cannot be.
uintptr_t martlet_tls_watch_end(void *tls);
/// Whether an end was noted that was read on this thread just now.
bool martlet_tls_has_ended(uintptr_t number);
/// Whether client and server have agreed on HTTP/2.
bool martlet_tls_is_http2(void *tls);
/// Whether bytes of a connection were read from its socket that nobody has taken yet.
bool martlet_tls_has_read(void *tls);
/// Whether all that waits in the socket of a connection is messages of the protocol itself, which are taken.
bool martlet_tls_is_quiet(void *tls, int socket);

/// Adds a line to a list, which may be NULL; returns NULL without memory, and the list is as it was.
void *_Nullable martlet_list_append(void *_Nullable list, const char *line);
void martlet_list_free(void *_Nullable list);

void *_Nullable martlet_multi_new(
    const martlet_multi_callbacks *callbacks, void *loop, long per_host, long total);
void martlet_multi_free(void *multi);
int martlet_multi_add(void *multi, void *easy);
int martlet_multi_remove(void *multi, void *easy);
/// Works on a socket, or on what time has come for with -1; `events` is made of 1 to read, 2 to write, 4 for an error.
int martlet_multi_act(void *multi, int socket, int events);
/// The next transfer that has ended, and its code, or NULL.
void *_Nullable martlet_multi_next_done(void *multi, int *code);

/// What handles of one thread share: the sessions of TLS, so that a new connection can resume one. NULL without memory.
void *_Nullable martlet_share_new(void);
/// Only after all handles that use it.
void martlet_share_free(void *share);

// MARK: libz

/// Opens libz once and says whether it can be used.
bool martlet_zlib_is_usable(void);
/// Makes a decoder; `window_bits` as in inflateInit2.
void *_Nullable martlet_inflater_new(int window_bits);
void martlet_inflater_free(void *inflater);
/// Prepares for another stream.
bool martlet_inflater_reset(void *inflater);
/// Decodes; the lengths become what was taken and made. 0 for more to do, 1 at the end of the stream, -1 if corrupt.
int martlet_inflate(
    void *inflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length);
/// Makes an encoder for gzip (RFC 1952), with a level from 1 to 9.
void *_Nullable martlet_deflater_new(int level);
void martlet_deflater_free(void *deflater);
/// Encodes; the lengths become what was taken and made. `is_last` says that no more input will come. 0 for more to do, 1
/// at the end of the stream, -1 if that failed.
int martlet_deflate(
    void *deflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length, bool is_last);

// MARK: libcrypto

/// Begins a SHA-256 with the libcrypto that libcurl has loaded, or returns NULL if there is none.
void *_Nullable martlet_sha256_new(void);
bool martlet_sha256_update(void *digest, const void *_Nullable bytes, size_t count);
/// Writes the 32 octets.
bool martlet_sha256_finish(void *digest, unsigned char *octets);
void martlet_sha256_free(void *digest);

// MARK: libbrotlidec and libzstd

/// Opens libbrotlidec once and says whether it can be used.
bool martlet_brotli_is_usable(void);
/// Makes a decoder, which needs at most 16 MiB for its window (RFC 7932).
void *_Nullable martlet_brotli_new(void);
void martlet_brotli_free(void *decoder);
/// Decodes as `martlet_inflate` does.
int martlet_brotli_decode(
    void *decoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length);

/// Opens libzstd once and says whether it can be used.
bool martlet_zstd_is_usable(void);
/// Makes a decoder of frames with a window of at most 2 to the power of `window_log` bytes.
void *_Nullable martlet_zstd_new(int window_log);
void martlet_zstd_free(void *decoder);
/// Decodes as `martlet_inflate` does, with 1 at the end of each frame, and -2 for a window that is too large.
int martlet_zstd_decode(
    void *decoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length);

// MARK: The loop

typedef struct {
  int socket;
  /// 1 to read, 2 to write, 4 for an error.
  int events;
} martlet_event;

/// Starts a detached thread on which no signal of the process is handled.
bool martlet_thread_start(const char *name, void (*body)(void *_Nullable), void *context);
/// A descriptor that `martlet_wake` makes ready, or -1.
int martlet_wake_new(void);
void martlet_wake(int descriptor);
/// A set of watched sockets in which `wake` ends the wait, or -1.
int martlet_poll_new(int wake);
/// Watches a socket for 1 to read, 2 to write, in a set that may know it already.
bool martlet_poll_watch(int poll, int socket, int events, bool is_new);
void martlet_poll_forget(int poll, int socket);
/// Waits; a negative time has no end. Returns the number of events.
int martlet_poll_wait(int poll, martlet_event *events, int maximum, int milliseconds);
/// Waits for one socket to be readable, or broken; returns events as in `martlet_event`, 0 when the time is over, or -1
/// after a signal.
int martlet_wait(int socket, int microseconds);
/// Whether something waits in one of some sockets, or its end.
bool martlet_is_any_readable(const int *_Nullable sockets, size_t count);
/// One more than the highest descriptor there can be, as far as it is worth looking.
int martlet_descriptor_limit(void);
/// How many bytes wait in one end of a pair of sockets that children inherit, or -1 for what is none.
int martlet_inherited_bytes(int descriptor);
/// Keeps a descriptor from the programs that the process starts, and if it is one end of a pair of sockets, the other end.
void martlet_keep_from_children(int descriptor);
/// Copies the end of a pair of sockets that nothing has been written to, or such an eventfd if `may_be_event`; -1 for
/// anything else.
int martlet_copy_unwritten(int descriptor, bool may_be_event);
/// Closes a connection and puts one in its place that has ended, so that the descriptor stays.
void martlet_replace_with_end(int descriptor);
/// A clock that never jumps, in microseconds.
int64_t martlet_microseconds(void);
/// How many bytes were ever taken from a TCP socket, whoever took them; -1 if the system does not tell.
int64_t martlet_socket_taken(int socket);
/// How many bytes the peer has acknowledged, and how many wait for that; where the system does not tell, the former is
/// the negative of the latter.
int64_t martlet_socket_acknowledged(int socket, int64_t *queued);
/// Whether a socket takes bytes now: a third of its buffer is free, or it has ended.
bool martlet_socket_has_room(int socket);

/// The local port of a TCP socket, or -1.
int martlet_socket_port(int socket);
void martlet_close(int descriptor);
/// A file in memory that nobody can change any more, or -1.
int martlet_memory_file(const void *_Nullable bytes, size_t count);
/// Lets a socket be readable only when so many bytes wait in it, or its end does; 1 is the default.
void martlet_set_receive_mark(int socket, int count);
/// Ends a connection both ways; its descriptor stays.
void martlet_shutdown(int descriptor);
/// Opens a file for reading, or returns -1.
int martlet_open(const char *path);
/// Reads from a place of a file what is there without waiting; negative if that is nothing, or cannot be told.
int64_t martlet_read_now(int descriptor, void *buffer, size_t count, int64_t offset);
/// Reads from a place of a file; negative for an error.
int64_t martlet_read(int descriptor, void *buffer, size_t count, int64_t offset);
/// When a file was written last, in microseconds since 1970, from 0 to 10¹⁷; takes a `struct stat`.
int64_t martlet_modification_time(const void *facts);
/// Says when a file was used and written last, in microseconds since 1970.
void martlet_set_times(int descriptor, int64_t microseconds);

#pragma clang assume_nonnull end
#endif
