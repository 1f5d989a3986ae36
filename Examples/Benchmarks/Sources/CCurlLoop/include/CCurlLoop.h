#ifndef CCURLLOOP_H
#define CCURLLOOP_H

// The C code of the benchmarks: the ceiling for all clients, and a server for tasks that nginx cannot do.

#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// MARK: The ceiling: libcurl's multi interface and epoll, on the calling thread

typedef struct {
  const char *url;
  /// The certificates to trust; NULL for the system's.
  const char *_Nullable ca_file;
  /// The number of transfers at a time.
  long concurrency;
  /// No transfer begins later than this.
  double seconds;
  /// The maximum number of transfers, or 0 for no limit.
  int64_t most;
  /// The length that each body must have.
  int64_t length;
  /// The file to send, or NULL for a GET.
  const char *_Nullable upload_path;
  int64_t upload_length;
  /// Whether all transfers that have not ended in time are cancelled.
  bool cancels;
  /// Whether all transfers share HTTP/2 connections.
  bool is_http2;
} curl_loop_job;

typedef struct {
  int64_t requests;
  /// The duration of the cancellation.
  double cancel_seconds;
} curl_loop_result;

typedef struct curl_loop curl_loop;

/// Creates a loop with its connection pool, or returns NULL.
curl_loop *_Nullable curl_loop_new(long connections);
void curl_loop_free(curl_loop *loop);
/// Runs a job and returns NULL, or the error of one of its transfers.
const char *_Nullable curl_loop_run(curl_loop *loop, const curl_loop_job *job, curl_loop_result *result);
// The same loop on its own thread, for requests from any thread.

/// Receives the end of a request on the loop's thread; `problem` is NULL if the request succeeded.
typedef void (*curl_loop_done)(void *user, const char *_Nullable problem);
/// Starts the thread, which sends GETs for one URL whose bodies have this length. Call it before `curl_loop_get`.
bool curl_loop_serve(curl_loop *loop, const char *url, int64_t length, bool is_http2);
void curl_loop_get(curl_loop *loop, curl_loop_done done, void *user);

/// The version of libcurl, or NULL if there is none.
const char *_Nullable curl_loop_version(void);

// MARK: A server for tasks that nginx cannot do

/// Starts a server on its own thread and returns its port, or 0.
///
/// The server responds to `/held` after a second and to `/never` never. The response to a `POST` to `/upload` is the
/// number of bytes in its body, sent after the last one.
int bench_server_start(void);

/// Starts a WebSocket server on its own thread and returns its port, or 0.
///
/// `/echo` returns each message. `/sink` drops binary messages and returns texts. `/source` keeps a binary message, and
/// sends it as often as a text says. Control frames are answered. It agrees to compression, and sends compressed
/// messages as they arrived.
int bench_websocket_server_start(void);

/// Listens on a loopback port, and returns the socket or -1.
int bench_listen_on_loopback(int *port);
/// Accepts a connection and adds it to an epoll set; returns the socket, or -1 if there is none.
int bench_accept(int listener, int poll);

// MARK: Compression of messages (RFC 7692) with zlib, for clients that have none

typedef struct bench_deflate bench_deflate;

bench_deflate *_Nullable bench_deflate_new(int level);
void bench_deflate_free(bench_deflate *contexts);
/// Compresses a message, and returns its length without the last four bytes, or -1 without room.
long bench_deflate_message(bench_deflate *contexts, const void *bytes, long count, void *room, long capacity);
/// Expands a message, and returns its length, or -1 without room.
long bench_inflate_message(bench_deflate *contexts, const void *bytes, long count, void *room, long capacity);

// MARK: The process

/// Replaces a file for this process only.
bool bench_replace_file(const char *place, const char *file);
/// The seconds of processor time that this process has used.
double bench_cpu_seconds(void);
/// The nanoseconds in which a cache line travels from one processor to another and back; 0 if there is only one.
double bench_line_round_trip(void);
/// Kills this process when its parent ends.
void bench_die_with_parent(void);
/// Raises this process's limit of open files to its maximum.
void bench_raise_descriptor_limit(void);
/// The port of no listening socket, or 0.
int bench_free_port(void);

#pragma clang assume_nonnull end
#endif
