#ifndef CCURLLOOP_H
#define CCURLLOOP_H

// What the benchmarks need in C: the ceiling that all clients are compared with, and the server that nginx cannot be.

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
  /// The most transfers, or 0 for no limit.
  int64_t most;
  /// The length that each body must have.
  int64_t length;
  /// The file to send, or NULL for a GET.
  const char *_Nullable upload_path;
  int64_t upload_length;
  /// All transfers that have not ended in time are cancelled.
  bool cancels;
  /// All transfers share connections of HTTP/2.
  bool is_http2;
} curl_loop_job;

typedef struct {
  int64_t requests;
  /// How long it took to cancel.
  double cancel_seconds;
} curl_loop_result;

typedef struct curl_loop curl_loop;

/// Makes a loop with its pool of connections, or returns NULL.
curl_loop *_Nullable curl_loop_new(long connections);
void curl_loop_free(curl_loop *loop);
/// Runs a job and returns NULL, or what was wrong with one of its transfers.
const char *_Nullable curl_loop_run(curl_loop *loop, const curl_loop_job *job, curl_loop_result *result);
// The same loop on a thread of its own, for requests that come from any thread.

/// Hears that a request has ended, on the loop's thread; `problem` is NULL if nothing was wrong.
typedef void (*curl_loop_done)(void *user, const char *_Nullable problem);
/// Starts the thread, which sends GETs for one URL whose bodies have this length. Before any `curl_loop_get`.
bool curl_loop_serve(curl_loop *loop, const char *url, int64_t length, bool is_http2);
void curl_loop_get(curl_loop *loop, curl_loop_done done, void *user);

/// The version of libcurl, or NULL if there is none.
const char *_Nullable curl_loop_version(void);

// MARK: A server that nginx cannot be

/// Starts a server on a thread of its own and returns its port, or 0.
///
/// `/held` is answered after a second, `/never` never, a `POST` to `/upload` with the number of its body's bytes, once
/// the last one has come.
int bench_server_start(void);

// MARK: The process

/// Shows this process, and no other, a file in the place of another one.
bool bench_replace_file(const char *place, const char *file);
/// The seconds of processor time that this process has used.
double bench_cpu_seconds(void);
/// The nanoseconds that a cache line takes from one processor to another and back; 0 if there is only one.
double bench_line_round_trip(void);
/// Kills this process when its parent ends.
void bench_die_with_parent(void);
/// Lets this process open as many files as it may.
void bench_raise_descriptor_limit(void);
/// A listening socket's port that nobody uses, or 0.
int bench_free_port(void);

#pragma clang assume_nonnull end
#endif
