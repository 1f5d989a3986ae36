#ifndef CMARTLETSHIM_H
#define CMARTLETSHIM_H

// Interfaces that Swift alone cannot reach on Linux: libcurl, libz (also on Apple's systems), libbrotlidec and libzstd,
// and a few system calls. The libraries are opened when they are first needed. Their headers are not needed: the
// sources of this target declare the parts of their interfaces that they use, and those have not changed for many
// years.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// MARK: libcurl

/// Opens libcurl once; returns why it cannot be used, or NULL.
const char *_Nullable martlet_curl_problem(void);
/// The version as 0xXXYYZZ, or 0.
uint32_t martlet_curl_version(void);
/// The version as text, or NULL.
const char *_Nullable martlet_curl_version_text(void);
/// The features that it was built with, as `CURL_VERSION_…`, or 0.
int martlet_curl_features(void);
/// The file that it was loaded from, or NULL.
const char *_Nullable martlet_curl_path(void);
/// The folder with the system's root certificates. NULL if libcurl knows none, cannot read it or finds no certificate
/// in it.
const char *_Nullable martlet_curl_ca_folder(void);
/// The file with the system's root certificates, or NULL. This is the file that libcurl was built with, if it can be
/// read. If neither that file nor a folder with certificates can be read, it is one at a usual place.
const char *_Nullable martlet_curl_ca_file(void);
/// The name and version of its TLS library, or NULL.
const char *_Nullable martlet_curl_tls_name(void);
/// Whether HTTP/2 can be used: libcurl supports it, is 7.88 or newer but not 8.5.0, and uses an OpenSSL and an nghttp2
/// that were found.
bool martlet_curl_has_http2(void);
/// Whether libcurl was built with HTTP/2, which may be too faulty to use.
bool martlet_curl_is_built_with_http2(void);
/// Whether libcurl reports a request before sending it, as it does since 7.80. Before that, its log is always on.
bool martlet_curl_tells_before_sending(void);
/// The folder to set to trust no root certificates. From 8.21 on, NULL means the folder that libcurl was built with;
/// this one contains no certificates.
const char *_Nullable martlet_curl_no_ca_path(void);

// MARK: The end of the process
//
// OpenSSL clears its memory when the process exits, while other threads may be using it. So every thread enters before
// it lets libcurl work or uses state that all users of libcrypto share, and leaves afterwards. Once the process exits,
// no thread can enter. An exit handler waits until all threads have left, at most five seconds.

struct martlet_library;
/// Registers the exit handler. Call it before opening a library.
void martlet_exit_watch(void);
/// Registers the exit handler again, for a library that was found. If that library is or loads an OpenSSL that is not
/// in use yet, this OpenSSL does not clear its memory at all.
void martlet_exit_guard(const struct martlet_library *library);
/// Whether the process is exiting.
bool martlet_is_exiting(void);
/// Enters, unless the process is exiting; calls can be nested.
bool martlet_library_enter(void);
/// Whether this thread is inside, as it is while it holds an engine's lock.
bool martlet_library_is_inside(void);
void martlet_library_leave(void);
/// Enters; never returns if the process is exiting.
void martlet_library_await(void);
/// Frees OpenSSL's memory of a thread that is about to end. Otherwise it would be freed outside.
void martlet_library_end_thread(void);

// MARK: Handles

/// The callbacks of every easy handle; `handle` and `loop` are the arguments of `martlet_easy_prepare`.
typedef struct {
  /// One line of a head or trailer, with its line end.
  size_t (*head)(char *bytes, size_t size, size_t count, void *_Nullable handle);
  /// Bytes of the body.
  size_t (*body)(char *bytes, size_t size, size_t count, void *_Nullable handle);
  /// Fills a buffer with bytes of the request body.
  size_t (*read)(char *bytes, size_t size, size_t count, void *_Nullable handle);
  /// Moves to another position in the request body.
  int (*seek)(void *_Nullable handle, int64_t offset, int origin);
  /// A connection exists, and the request is about to be sent.
  int (*ready)(void *_Nullable handle, char *_Nullable ip, char *_Nullable local_ip, int port, int local_port);
  /// A socket was created.
  int (*opened)(void *_Nullable handle, int socket, int purpose);
  /// Creates a socket for an address with `martlet_socket_new`; -1 refuses the address.
  int (*opening)(void *_Nullable handle, int purpose, void *_Nullable address);
  /// Closes a socket.
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
/// Resets a handle and sets the options of all requests: a GET without a body.
int martlet_easy_prepare(
    void *easy, const martlet_curl_callbacks *callbacks, void *handle, void *loop, char *error_text);
/// Copies the bytes of an address that libcurl is about to connect to. Returns 4 or 16, or 0 if it is not an IP
/// address.
int martlet_socket_address(const void *address, uint8_t *bytes);
/// Creates a socket for such an address, or returns -1.
int martlet_socket_new(const void *address);
/// Copies the address with its port, as `martlet_connect` takes it. Returns its length, or 0 if it is not for TCP.
int martlet_socket_name(const void *address, void *bytes, int room);
/// Options that Swift sets; the numbers are part of libcurl's binary interface.
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
  martlet_opt_http_proxy_tunnel = 61,
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
  /// Since 7.80.
  martlet_opt_max_lifetime_conn = 314,
  martlet_opt_dns_shuffle_addresses = 275,
  martlet_opt_dns_cache_timeout = 92,
  martlet_opt_connect_only = 141,
  martlet_opt_buffer_size = 98,
};
/// The maximum number of bytes received at once, unless another one is set.
enum { martlet_receive_size = 64 << 10 };
/// Information about a transfer that Swift reads.
enum {
  martlet_info_remote_address = 0x100000 + 32,
  martlet_info_remote_port = 0x200000 + 40,
  martlet_info_local_address = 0x100000 + 41,
  martlet_info_local_port = 0x200000 + 42,
  /// The number of bytes of request heads that were written, including CONNECT.
  martlet_info_request_size = 0x200000 + 12,
  /// The status of a proxy's response to CONNECT.
  martlet_info_connect_status = 0x200000 + 22,
  /// Why a SOCKS proxy refused the connection (`CURLPX_…`).
  martlet_info_proxy_problem = 0x200000 + 59,
};
int martlet_easy_set_number(void *easy, int option, long value);
/// Sets a text, which libcurl copies; NULL removes it.
int martlet_easy_set_text(void *easy, int option, const char *_Nullable text);
/// Sets a pointer, such as a list, that has to live as long as it is set.
int martlet_easy_set_pointer(void *easy, int option, void *_Nullable pointer);
/// A parsed URL, or NULL if libcurl cannot parse it. Free it after the handles that use it.
void *_Nullable martlet_url_new(const char *text);
void martlet_url_free(void *_Nullable url);
/// Sets the URL as text and in parsed form, so libcurl need not parse it again.
int martlet_easy_set_url(void *easy, const char *text, void *_Nullable url);
int martlet_easy_set_method(void *easy, const char *method, bool is_head);
/// Announces a body; a length of -1 means that it is unknown.
int martlet_easy_set_upload(void *easy, int64_t length);
/// Sets up a request whose upload begins when the server changes the protocol.
int martlet_easy_set_upgrade(void *easy);
/// Makes the list of trailers of a chunked body; returns 0, or 1 to abort the transfer.
typedef int (*martlet_curl_trailers)(void *_Nullable *_Nullable list, void *_Nullable handle);
/// Sends trailers after the body. With libcurl before 8.7 the handle can then serve no other transfer.
int martlet_easy_set_trailers(void *easy, martlet_curl_trailers trailers, void *handle);
/// Whether streams of a broken HTTP/2 connection end without an error, as from 7.88 to 8.0.
bool martlet_curl_hides_broken_connections(void);
/// Turns libcurl's log on or off.
int martlet_easy_log(void *easy, bool is_on);
/// Parses a line of the log. Returns
/// 2 and the error code of a GOAWAY;
/// 3 if libcurl is about to send the request again;
/// 5 if it is about to send the request again because the server has refused the stream;
/// 6 if it does so because the server requires HTTP/1.1;
/// 7 if it finds the stream closed;
/// 8 and the number of the connection, before 7.80;
/// 0 for any other line.
/// With the guard above, which is for the first header line, a header line loses its leading blank.
int martlet_curl_read_note(
    int type, char *_Nullable bytes, size_t count, bool is_guarded, uint32_t *number);
/// Whether a line of the log says that bytes after a response were read and dropped.
bool martlet_curl_notes_leftovers(int type, const char *_Nullable bytes, size_t count);
/// Sets whether receiving and sending are paused, for a transfer that has begun.
int martlet_easy_pause(void *easy, bool is_receiving_paused, bool is_sending_paused);
const char *martlet_easy_error(int code);
/// The number of bytes of the request body, including their coding, that were written to the connection.
int64_t martlet_easy_sent_count(void *easy);
/// Microseconds from the start of the transfer to an event; 0 if it has not happened.
int64_t martlet_easy_name_lookup_time(void *easy);
int64_t martlet_easy_connect_time(void *easy);
int64_t martlet_easy_tls_time(void *easy);
/// A number (`CURLINFO_LONG`) or text about a transfer; 0 or NULL if it is unknown.
long martlet_easy_number(void *easy, int info);
const char *_Nullable martlet_easy_text(void *easy, int info);
/// The number of connections made; 0 if an existing one was reused.
long martlet_easy_connection_count(void *easy);

/// The socket of the connection that a finished transfer has left for others, or -1.
int martlet_easy_kept_socket(void *easy);
/// The OpenSSL object of a transfer's connection. NULL without TLS and with another TLS library. It is freed with the
/// connection.
void *_Nullable martlet_easy_tls(void *easy);
/// The object of OpenSSL or GnuTLS for `martlet_tls_has_read`.
void *_Nullable martlet_easy_session(void *easy);
/// Whether a transfer's connection uses TLS, including TLS to a proxy.
bool martlet_easy_has_tls(void *easy);

// MARK: HTTP/2 streams

/// Observes how HTTP/2 streams end. Returns whether an opened libcurl allows it.
bool martlet_streams_open(const struct martlet_library *library);
enum martlet_stream_event {
  /// The stream is closed. The value is its error code (RFC 9113 §7).
  martlet_stream_closed,
  /// nghttp2 has accepted a frame of HEADERS or DATA. The value is its number of data bytes.
  martlet_stream_has_data,
  /// That frame had END_STREAM.
  martlet_stream_ends,
  /// The server has sent HTTP/1 on the connection.
  martlet_stream_got_http1,
};
/// An event of the HTTP/2 stream of an easy handle. The handle may be unknown to the loop.
typedef void (*martlet_stream_noted)(
    void *_Nullable loop, void *easy, enum martlet_stream_event event, uint32_t value);
/// Replaces the function with which an opened libcurl sends.
void martlet_sends_open(const struct martlet_library *library);
/// Sending on a socket has failed, perhaps because it was reset. Returns whether libcurl must receive before it learns
/// that.
typedef bool (*martlet_send_failed)(void *_Nullable loop, int socket, bool is_reset);
/// Sets the receiver of events and failures that occur on this thread while it is inside. Returns the loop that was set.
void *_Nullable martlet_streams_listen(martlet_stream_noted noted, martlet_send_failed failed, void *_Nullable loop);

/// Sets the easy handle whose HTTP/2 stream to reset when libcurl next sends on its connection; `NULL` for none. Returns
/// the previous handle.
void *_Nullable martlet_streams_leave(void *_Nullable easy);

// MARK: OpenSSL

/// Finds the OpenSSL that an opened libcurl uses. Returns false if `is_logging`, libcurl's log is always on, and no
/// OpenSSL is found whose callback for that log can be removed.
bool martlet_tls_open(const struct martlet_library *library, const char *_Nullable name, bool is_logging);
/// Finds the functions for `martlet_identity_check`.
void martlet_identity_open(const struct martlet_library *library, const char *_Nullable name);
/// Whether a certificate and its key in PEM belong together, or without a key whether PKCS #12 contains such a pair. -1
/// if libcurl's TLS library is neither OpenSSL nor GnuTLS. For use on any thread.
int martlet_identity_check(
    const void *certificate, size_t count, const void *_Nullable key, size_t key_count, const char *password);
/// The callback for `martlet_opt_ssl_context_function` that undoes some of libcurl's settings: the file for secrets
/// that the environment names (`SSLKEYLOGFILE`), and the log of TLS where it is not safe. Without `needs_end`, OpenSSL
/// accepts a connection that ends without the end of TLS. NULL if there is nothing to do.
void *_Nullable martlet_tls_guard(bool needs_end);
/// Whether libcurl uses an OpenSSL whose functions were found.
bool martlet_tls_is_known(void);
/// Whether `martlet_tls_has_read` knows the TLS library.
bool martlet_tls_shows_pending(void);
/// Watches whether TLS ends before its connection does. Returns the number to query it by, or 0 if that is impossible.
uintptr_t martlet_tls_watch_end(void *tls);
/// Whether this thread has just read the end of TLS with this number.
bool martlet_tls_has_ended(uintptr_t number);
/// Observes the server's alerts until `martlet_tls_ignore_alerts`, or until `martlet_tls_watch_end`. Returns the number to
/// query them by, or 0 if that is impossible.
uintptr_t martlet_tls_watch_alerts(void *tls);
void martlet_tls_ignore_alerts(void *tls);
/// The name of the alert with this number that this thread has just read, if it rejects the client; NULL without one.
const char *_Nullable martlet_tls_alert(uintptr_t number);
/// Whether client and server have negotiated HTTP/2.
bool martlet_tls_is_http2(void *tls);
/// Whether bytes were read from a connection's socket that libcurl has not taken yet; `tls` is an object of OpenSSL or
/// GnuTLS. `socket` is -1 if another TLS connection carries this one, which then counts as having read what may be a
/// message of the TLS protocol only.
bool martlet_tls_has_read(void *tls, int socket);
/// Whether only messages of the TLS protocol wait in a connection's socket; they are consumed. False with GnuTLS.
bool martlet_tls_is_quiet(void *tls, int socket);

/// Adds a line to a list, which may be NULL. Returns NULL if memory is exhausted; the list is then unchanged.
void *_Nullable martlet_list_append(void *_Nullable list, const char *line);
void martlet_list_free(void *_Nullable list);

void *_Nullable martlet_multi_new(
    const martlet_multi_callbacks *callbacks, void *loop, long per_host, long total);
/// Changes the limits of `martlet_multi_new`; 0 means none.
int martlet_multi_set_limits(void *multi, long per_host, long total);
/// Creates a handle that passes each address of a host to `opening`, which must refuse it.
void *_Nullable martlet_scout_new(
    const char *url, int (*opening)(void *_Nullable scout, int purpose, void *_Nullable address),
    void *_Nullable scout);
void martlet_multi_free(void *multi);
int martlet_multi_add(void *multi, void *easy);
int martlet_multi_remove(void *multi, void *easy);
/// Handles events of a socket, or with -1 expired timers. `events` consists of 1 to read, 2 to write, 4 for an error.
int martlet_multi_act(void *multi, int socket, int events);
/// The next finished transfer and its code, or NULL.
void *_Nullable martlet_multi_next_done(void *multi, int *code);

/// The state that the handles of one thread share: TLS sessions, so a new connection can resume one. NULL if
/// memory is exhausted.
void *_Nullable martlet_share_new(void);
/// Call it only after all handles that use the share are freed.
void martlet_share_free(void *share);

// MARK: libidn2

/// Opens libidn2 once; returns whether it can be used.
bool martlet_idn_is_usable(void);
/// The ASCII form of an international host name (UTS #46, then IDNA 2008), to be freed; NULL if it has none.
char *_Nullable martlet_idn_to_ascii(const char *name);

// MARK: libz

/// Opens libz once; returns whether it can be used.
bool martlet_zlib_is_usable(void);
/// Makes a decoder; `window_bits` as in inflateInit2.
void *_Nullable martlet_inflater_new(int window_bits);
void martlet_inflater_free(void *inflater);
/// Prepares for another stream.
bool martlet_inflater_reset(void *inflater);
/// Prepares for another raw stream that refers to the last bytes of the previous stream.
bool martlet_inflater_resume(void *inflater);
/// Returns whether the last step ended after a whole block.
bool martlet_inflater_is_between_blocks(const void *inflater);
/// Decodes; the lengths become the number of bytes consumed and produced. Returns 0 to continue, 1 at the end of the
/// stream, -1 if the data is corrupt.
int martlet_inflate(
    void *inflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length);
/// Makes an encoder for gzip (RFC 1952), with a level from 1 to 9.
void *_Nullable martlet_deflater_new(int level);
/// Makes an encoder for raw deflate (RFC 1951), with a window of 9 to 15 bits and a memory level from 1 to 9.
void *_Nullable martlet_deflater_new_raw(int level, int window_bits, int memory_level);
void martlet_deflater_free(void *deflater);
/// Prepares for another stream.
bool martlet_deflater_reset(void *deflater);
/// Encodes; the lengths become the number of bytes consumed and produced. `is_last` means that no more input follows.
/// Returns 0 to continue, 1 at the end of the stream, -1 for a failure.
int martlet_deflate(
    void *deflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length, bool is_last);
/// Encodes as `martlet_deflate` does, and flushes all input to a byte boundary (Z_SYNC_FLUSH).
///
/// The flush is complete when the output is not filled. Provide more than six bytes of output.
int martlet_deflate_flush(
    void *deflater, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length);

// MARK: libcrypto

/// Begins a SHA-256 digest with the libcrypto that libcurl has loaded; NULL if there is none.
void *_Nullable martlet_sha256_new(void);
bool martlet_sha256_update(void *digest, const void *_Nullable bytes, size_t count);
/// Writes the 32 octets.
bool martlet_sha256_finish(void *digest, unsigned char *octets);
void martlet_sha256_free(void *digest);

/// Opens libcrypto once, even if libcurl does not use it; returns whether it can sign.
bool martlet_keys_are_usable(void);
/// Reads a private key from PEM; NULL if it has a password or cannot be read. Free it with `martlet_key_free`.
void *_Nullable martlet_key_read(const void *pem, size_t count);
/// Generates a P-256 key; NULL if that fails.
void *_Nullable martlet_key_new(void);
void martlet_key_free(void *key);
/// Writes the public key as SubjectPublicKeyInfo; returns its length, or 0 if it is longer than `capacity`.
size_t martlet_key_public(const void *key, uint8_t *octets, size_t capacity);
/// Signs, with SHA-256 if `is_hashed`; returns the signature's length, or 0 if signing fails.
size_t martlet_key_sign(
    void *key, bool is_hashed, const uint8_t *message, size_t count, uint8_t *signature, size_t capacity);

// MARK: libbrotlidec, libbrotlienc and libzstd

/// Opens libbrotlidec once; returns whether it can be used.
bool martlet_brotli_is_usable(void);
/// Makes a decoder, which needs at most 16 MiB for its window (RFC 7932).
void *_Nullable martlet_brotli_new(void);
void martlet_brotli_free(void *decoder);
/// Decodes as `martlet_inflate` does.
int martlet_brotli_decode(
    void *decoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length);

/// Opens libzstd once; returns whether it can be used.
bool martlet_zstd_is_usable(void);
/// Makes a decoder of frames with a window of at most 2 to the power of `window_log` bytes.
void *_Nullable martlet_zstd_new(int window_log);
void martlet_zstd_free(void *decoder);
/// Decodes as `martlet_inflate` does, but returns 1 at the end of each frame, and -2 for a window that is too large.
int martlet_zstd_decode(
    void *decoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length);

/// Opens libbrotlienc once; returns whether it can be used.
bool martlet_brotli_encodes(void);
/// Makes an encoder with a quality from 0 to 11, and a window of 2 to the power of `window_log` bytes.
void *_Nullable martlet_brotli_encoder_new(uint32_t quality, uint32_t window_log);
void martlet_brotli_encoder_free(void *encoder);
/// Encodes as `martlet_deflate` does.
int martlet_brotli_encode(
    void *encoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length, bool is_last);

/// Opens libzstd for encoding once; returns whether it can be used.
bool martlet_zstd_encodes(void);
/// Makes an encoder with a level from 1 to 19, a window as for Brotli, and a checksum in each frame.
void *_Nullable martlet_zstd_encoder_new(int level, int window_log);
void martlet_zstd_encoder_free(void *encoder);
/// Encodes as `martlet_deflate` does.
int martlet_zstd_encode(
    void *encoder, const uint8_t *input, size_t *input_length, uint8_t *output, size_t *output_length, bool is_last);

// MARK: Descriptors

/// One more than the highest possible descriptor, up to a limit for searches.
int martlet_descriptor_limit(void);
/// The number of bytes waiting in one end of a socket pair that children inherit, or -1 for any other descriptor.
int martlet_inherited_bytes(int descriptor);
/// Keeps a descriptor from child processes, and also the other end if it belongs to a socket pair.
void martlet_keep_from_children(int descriptor);
/// Duplicates one end of a socket pair to which nothing was written; with `may_be_event`, even such an eventfd.
/// Returns -1 for any other descriptor.
int martlet_copy_unwritten(int descriptor, bool may_be_event);

// MARK: The loop

typedef struct {
  int socket;
  /// 1 to read, 2 to write, 4 for an error.
  int events;
} martlet_event;

/// Starts a detached thread that handles no signal of the process.
bool martlet_thread_start(const char *name, void (*body)(void *_Nullable), void *context);
/// A descriptor that `martlet_wake` makes ready, or -1.
int martlet_wake_new(void);
void martlet_wake(int descriptor);
/// Makes a set of watched sockets in which `wake` ends the wait, or returns -1.
int martlet_poll_new(int wake);
/// Watches a socket for 1 to read, 2 to write. The set may already contain it.
bool martlet_poll_watch(int poll, int socket, int events, bool is_new);
void martlet_poll_forget(int poll, int socket);
/// Waits, without a limit if the time is negative. Returns the number of events.
int martlet_poll_wait(int poll, martlet_event *events, int maximum, int milliseconds);
/// Waits until one socket is readable or broken. Returns events as in `martlet_event`, 0 when the time is over, or -1
/// after a signal.
int martlet_wait(int socket, int microseconds);
/// Whether any of the sockets has bytes to read or has ended.
bool martlet_is_any_readable(const int *_Nullable sockets, size_t count);
/// Replaces a connection with one that has ended; the descriptor stays.
void martlet_replace_with_end(int descriptor);
/// Starts connecting to an address, bound like the socket `like` if `is_bound`. Returns the socket, or -1.
int martlet_connect(const void *address, int length, int like, bool is_bound);
/// Whether a socket still connects.
bool martlet_is_connecting(int socket);
/// Whether an attempt of `martlet_connect` has succeeded: 1, -1 if it failed, 0 if it continues.
int martlet_connect_result(int socket);
/// Replaces a descriptor with another one, which is closed.
bool martlet_replace(int descriptor, int other);
/// Writes the numeric text of an address from `martlet_socket_name`.
bool martlet_address_text(const void *address, int length, char *text, int room);
/// The time of a monotonic clock, in microseconds.
int64_t martlet_microseconds(void);
/// The total number of bytes that were read from a TCP socket; -1 if the system does not report it.
int64_t martlet_socket_taken(int socket);
/// The number of bytes that wait in a socket.
int martlet_unread_count(int socket);
/// The number of bytes that the peer has acknowledged; `queued` becomes the number not yet acknowledged. Returns
/// `-*queued` if the system does not report the former.
int64_t martlet_socket_acknowledged(int socket, int64_t *queued);
/// Whether a socket accepts bytes now: a third of its buffer is free, or it has ended.
bool martlet_socket_has_room(int socket);

/// The local port of a TCP socket, or -1.
int martlet_socket_port(int socket);
void martlet_close(int descriptor);
/// Enlarges mapped pages without copying; returns their new address, or NULL if the system cannot.
void *_Nullable martlet_grow_pages(void *_Nonnull start, size_t size, size_t larger);
/// An immutable file in memory, or -1.
int martlet_memory_file(const void *_Nullable bytes, size_t count);
/// Sets the receive low-water mark: the bytes that make a socket readable, unless it has ended. The default is 1.
void martlet_set_receive_mark(int socket, int count);
/// Ends a connection in both directions; its descriptor stays open.
void martlet_shutdown(int descriptor);
/// Closes the sending side of a connection: of TLS if it has `tls`, an object of OpenSSL, otherwise of the socket.
void martlet_half_close(int descriptor, void *_Nullable tls);
/// Opens a file for reading, or returns -1.
int martlet_open(const char *path);
/// Reads bytes of a file without waiting. Negative if there are none in the cache, or if that is unknown.
int64_t martlet_read_now(int descriptor, void *buffer, size_t count, int64_t offset);
/// Reads bytes of a file; negative for an error.
int64_t martlet_read(int descriptor, void *buffer, size_t count, int64_t offset);
/// Moves a new descriptor above those of the standard streams; returns -1 with `errno` on failure, and for -1.
///
/// In a process that was started with a closed standard stream, the system gives the stream's number to the next file or
/// socket, and what is printed would be written there.
int martlet_above_streams(int descriptor);
bool martlet_is_main_thread(void);
/// The modification time in a `struct stat`, in microseconds since 1970, from 0 to 10¹⁷.
int64_t martlet_modification_time(const void *facts);
/// The time of the last change of contents, name or permissions in a `struct stat`, as above.
int64_t martlet_change_time(const void *facts);
/// Sets the access and modification times of a file, in microseconds since 1970.
void martlet_set_times(int descriptor, int64_t microseconds);

#pragma clang assume_nonnull end
#endif
