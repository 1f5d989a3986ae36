#include "CCurlLoop.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

// The numbers are part of libcurl's binary interface and never change, so this builds without libcurl's headers.
enum {
  kLong = 0, kObject = 10000, kFunction = 20000, kOffset = 30000,

  kOptWriteData = kObject + 1,
  kOptURL = kObject + 2,
  kOptReadData = kObject + 9,
  kOptWriteFunction = kFunction + 11,
  kOptReadFunction = kFunction + 12,
  kOptHTTPHeader = kObject + 23,
  kOptUpload = kLong + 46,
  kOptPost = kLong + 47,
  kOptHTTPVersion = kLong + 84,
  kOptCAInfo = kObject + 65,
  kOptCAPath = kObject + 97,
  kOptBufferSize = kLong + 98,
  kOptNoSignal = kLong + 99,
  kOptPrivate = kObject + 103,
  kOptInFileSizeLarge = kOffset + 115,
  kOptNoProxy = kObject + 177,
  kOptCloseSocketFunction = kFunction + 208,
  kOptCloseSocketData = kObject + 209,
  kOptPipeWait = kLong + 237,
  kOptUploadBufferSize = kLong + 280,

  kMultiSocketFunction = kFunction + 1,
  kMultiSocketData = kObject + 2,
  kMultiTimerFunction = kFunction + 4,
  kMultiTimerData = kObject + 5,
  kMultiMaxConnects = kLong + 6,

  kInfoStatus = 0x200002,
  kInfoPrivate = 0x100015,

  kGlobalAll = 3,
  kHTTPVersion11 = 2, kHTTPVersion2TLS = 4,
  kMessageDone = 1,
  kPollIn = 1, kPollOut = 2, kPollInOut = 3, kPollRemove = 4,
  kSelectIn = 1, kSelectOut = 2, kSelectError = 4,
  kSocketTimeout = -1,
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
  const char *(*version)(void);
  void *(*easy_init)(void);
  void (*easy_cleanup)(void *);
  int (*easy_setopt)(void *, int, ...);
  int (*easy_getinfo)(void *, int, ...);
  const char *(*easy_strerror)(int);
  void *(*slist_append)(void *, const char *);
  void (*slist_free_all)(void *);
  void *(*multi_init)(void);
  int (*multi_cleanup)(void *);
  int (*multi_add_handle)(void *, void *);
  int (*multi_remove_handle)(void *, void *);
  int (*multi_setopt)(void *, int, ...);
  int (*multi_socket_action)(void *, int, int, int *);
  struct message *(*multi_info_read)(void *, int *);
} curl;

static bool load(void) {
  static bool is_loaded;
  if (is_loaded) return true;
  void *image = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!image) image = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!image) return false;
#define LOAD(name) if (!(*(void **)&curl.name = dlsym(image, "curl_" #name))) return false
  LOAD(global_init);
  LOAD(version);
  LOAD(easy_init);
  LOAD(easy_cleanup);
  LOAD(easy_setopt);
  LOAD(easy_getinfo);
  LOAD(easy_strerror);
  LOAD(slist_append);
  LOAD(slist_free_all);
  LOAD(multi_init);
  LOAD(multi_cleanup);
  LOAD(multi_add_handle);
  LOAD(multi_remove_handle);
  LOAD(multi_setopt);
  LOAD(multi_socket_action);
  LOAD(multi_info_read);
#undef LOAD
  is_loaded = curl.global_init(kGlobalAll) == 0;
  return is_loaded;
}

const char *curl_loop_version(void) { return load() ? curl.version() : NULL; }

enum { kMaximumSockets = 1 << 16, kEventsPerWait = 256 };

typedef struct request {
  struct request *next;
  curl_loop_done done;
  void *user;
} request;

struct curl_loop {
  // Requests of other threads, and whether the loop's thread sleeps or must end; protected by the lock.
  pthread_mutex_t lock;
  request *first;
  request **last;
  bool is_asleep;
  bool is_over;
  // The thread, if there is one, and the descriptor that wakes it.
  pthread_t thread;
  bool has_thread;
  int wake;
  struct transfer *free;
  curl_loop_job job;

  void *multi;
  int poll;
  // The time of libcurl's next timeout, or negative.
  double timer;
  // The events that epoll watches for each socket, and whether libcurl still wants them. The socket of an idle
  // connection stays watched, which saves two system calls for each request.
  uint8_t watched[kMaximumSockets];
  bool wanted[kMaximumSockets];
};

typedef struct transfer {
  void *easy;
  int64_t received;
  int64_t sent;
  int file;
  bool is_running;
  // The request that waits for the transfer, if the loop has its own thread.
  request *request;
  struct transfer *next;
} transfer;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// MARK: Callbacks of libcurl

static int on_socket(void *easy, int socket, int what, void *user, void *own) {
  (void)easy, (void)own;
  curl_loop *loop = user;
  if (socket < 0 || socket >= kMaximumSockets) return -1;
  loop->wanted[socket] = what != kPollRemove;
  if (what == kPollRemove) return 0;
  uint8_t events = (what & kPollIn ? EPOLLIN : 0) | (what & kPollOut ? EPOLLOUT : 0);
  if (loop->watched[socket] == events) return 0;
  struct epoll_event event = {.events = events, .data.fd = socket};
  int operation = loop->watched[socket] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  loop->watched[socket] = events;
  return epoll_ctl(loop->poll, operation, socket, &event);
}

static int on_close(void *user, int socket) {
  curl_loop *loop = user;
  if (socket >= 0 && socket < kMaximumSockets) {
    loop->watched[socket] = 0;
    loop->wanted[socket] = false;
  }
  return close(socket);
}

static int on_timer(void *multi, long milliseconds, void *user) {
  (void)multi;
  curl_loop *loop = user;
  loop->timer = milliseconds < 0 ? -1 : milliseconds == 0 ? 0 : now() + (double)milliseconds * 1e-3;
  return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
  (void)bytes;
  transfer *transfer = user;
  transfer->received += (int64_t)(size * count);
  return size * count;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *user) {
  transfer *transfer = user;
  ssize_t got = pread(transfer->file, bytes, size * count, transfer->sent);
  if (got < 0) return 0x10000000; // CURL_READFUNC_ABORT
  transfer->sent += got;
  return (size_t)got;
}

// MARK: The loop

curl_loop *curl_loop_new(long connections) {
  if (!load()) return NULL;
  curl_loop *loop = calloc(1, sizeof *loop);
  if (!loop) return NULL;
  loop->timer = -1;
  loop->wake = -1;
  loop->last = &loop->first;
  pthread_mutex_init(&loop->lock, NULL);
  loop->poll = epoll_create1(EPOLL_CLOEXEC);
  loop->multi = curl.multi_init();
  if (loop->poll < 0 || !loop->multi || curl.multi_setopt(loop->multi, kMultiSocketFunction, on_socket) ||
      curl.multi_setopt(loop->multi, kMultiSocketData, loop) ||
      curl.multi_setopt(loop->multi, kMultiTimerFunction, on_timer) ||
      curl.multi_setopt(loop->multi, kMultiTimerData, loop) ||
      curl.multi_setopt(loop->multi, kMultiMaxConnects, connections)) {
    curl_loop_free(loop);
    return NULL;
  }
  return loop;
}

void curl_loop_free(curl_loop *loop) {
  if (loop->has_thread) {
    pthread_mutex_lock(&loop->lock);
    loop->is_over = true;
    pthread_mutex_unlock(&loop->lock);
    eventfd_write(loop->wake, 1);
    pthread_join(loop->thread, NULL);
  }
  while (loop->free) {
    transfer *transfer = loop->free;
    loop->free = transfer->next;
    curl.easy_cleanup(transfer->easy);
    free(transfer);
  }
  if (loop->multi) curl.multi_cleanup(loop->multi);
  if (loop->wake >= 0) close(loop->wake);
  pthread_mutex_destroy(&loop->lock);
  if (loop->poll >= 0) close(loop->poll);
  free(loop);
}

static int prepare(curl_loop *loop, transfer *transfer, const curl_loop_job *job, void *fields) {
  int code = 0;
#define SET(option, value) \
  do { if (!code) code = curl.easy_setopt(transfer->easy, (option), (value)); } while (0)
  SET(kOptURL, job->url);
  SET(kOptNoSignal, 1L);
  SET(kOptNoProxy, "*");
  SET(kOptHTTPVersion, (long)(job->is_http2 ? kHTTPVersion2TLS : kHTTPVersion11));
  SET(kOptPipeWait, job->is_http2 ? 1L : 0L);
  SET(kOptBufferSize, 256L << 10);
  SET(kOptPrivate, transfer);
  SET(kOptWriteFunction, on_body);
  SET(kOptWriteData, transfer);
  SET(kOptCloseSocketFunction, on_close);
  SET(kOptCloseSocketData, loop);
  // libcurl keeps its parsed certificates only if no directory is set.
  SET(kOptCAPath, NULL);
  if (job->ca_file) SET(kOptCAInfo, job->ca_file);
  if (job->upload_path) {
    SET(kOptPost, 1L);
    SET(kOptUpload, 1L);
    SET(kOptInFileSizeLarge, job->upload_length);
    SET(kOptUploadBufferSize, 1L << 20);
    SET(kOptReadFunction, on_read);
    SET(kOptReadData, transfer);
    SET(kOptHTTPHeader, fields);
  }
#undef SET
  return code;
}

/// Waits for the first event, and lets libcurl handle it.
static void turn(curl_loop *loop, double end) {
  int running = 0;
  if (loop->timer == 0) {
    loop->timer = -1;
    curl.multi_socket_action(loop->multi, kSocketTimeout, 0, &running);
    return;
  }
  double wait = end - now();
  if (loop->timer > 0 && loop->timer - now() < wait) wait = loop->timer - now();
  int milliseconds = wait <= 0 ? 0 : wait > 1000 ? 1000000 : (int)(wait * 1e3) + 1;

  struct epoll_event events[kEventsPerWait];
  int count = epoll_wait(loop->poll, events, kEventsPerWait, milliseconds);
  for (int i = 0; i < count; i++) {
    int socket = events[i].data.fd;
    if (socket == loop->wake) {
      eventfd_t value;
      eventfd_read(socket, &value);
      continue;
    }
    if (!loop->watched[socket]) continue;
    if (!loop->wanted[socket]) {
      epoll_ctl(loop->poll, EPOLL_CTL_DEL, socket, NULL);
      loop->watched[socket] = 0;
      continue;
    }
    int what = (events[i].events & EPOLLIN ? kSelectIn : 0) | (events[i].events & EPOLLOUT ? kSelectOut : 0) |
        (events[i].events & (EPOLLERR | EPOLLHUP) ? kSelectError : 0);
    curl.multi_socket_action(loop->multi, socket, what, &running);
  }
  if (loop->timer > 0 && now() >= loop->timer) loop->timer = 0;
}

static const char *check(const struct message *message, const transfer *transfer, const curl_loop_job *job) {
  static char problem[200];
  long status = 0;
  curl.easy_getinfo(message->easy, kInfoStatus, &status);
  if (message->data.result) {
    snprintf(problem, sizeof problem, "%s", curl.easy_strerror(message->data.result));
  } else if (status != 200 || transfer->received != job->length) {
    snprintf(problem, sizeof problem, "status %ld with %lld bytes", status, (long long)transfer->received);
  } else {
    return NULL;
  }
  return problem;
}

/// Removes the next finished transfer from libcurl and reports its error; returns NULL if there is none.
static transfer *next_ended(curl_loop *loop, const curl_loop_job *job, const char **problem) {
  int rest = 0;
  const struct message *message;
  while ((message = curl.multi_info_read(loop->multi, &rest))) {
    if (message->msg != kMessageDone) continue;
    void *easy = message->easy;
    transfer *transfer = NULL;
    curl.easy_getinfo(easy, kInfoPrivate, &transfer);
    *problem = check(message, transfer, job);
    curl.multi_remove_handle(loop->multi, easy);
    transfer->received = transfer->sent = 0;
    return transfer;
  }
  return NULL;
}

const char *curl_loop_run(curl_loop *loop, const curl_loop_job *job, curl_loop_result *result) {
  const char *problem = NULL;
  transfer *transfers = calloc((size_t)job->concurrency, sizeof *transfers);
  if (!transfers) return "no memory";
  // Otherwise libcurl would wait for a 100 response before it sends the body.
  void *fields = job->upload_path ? curl.slist_append(NULL, "Expect:") : NULL;
  int file = job->upload_path ? open(job->upload_path, O_RDONLY | O_CLOEXEC) : -1;
  double end = now() + job->seconds;
  int64_t begun = 0;
  long active = 0;
  result->requests = 0;

  for (long i = 0; i < job->concurrency && !problem; i++) {
    transfers[i] = (transfer){.easy = curl.easy_init(), .file = file};
    if (!transfers[i].easy || prepare(loop, &transfers[i], job, fields) ||
        curl.multi_add_handle(loop->multi, transfers[i].easy)) {
      problem = "libcurl takes no transfer";
      break;
    }
    transfers[i].is_running = true;
    begun++;
    active++;
  }

  while (active && !problem && !(job->cancels && now() >= end)) {
    turn(loop, job->cancels ? end : now() + 60);
    const char *wrong = NULL;
    transfer *transfer;
    while ((transfer = next_ended(loop, job, &wrong))) {
      if (wrong) problem = wrong;
      result->requests++;
      transfer->is_running = false;
      active--;
      if (problem || (job->most && begun >= job->most) || now() >= end) continue;
      if (curl.multi_add_handle(loop->multi, transfer->easy)) continue;
      transfer->is_running = true;
      begun++;
      active++;
    }
  }

  double start = now();
  if (job->cancels) result->requests = active;
  for (long i = 0; i < job->concurrency; i++) {
    if (!transfers[i].easy) continue;
    if (transfers[i].is_running) curl.multi_remove_handle(loop->multi, transfers[i].easy);
  }
  result->cancel_seconds = now() - start;
  for (long i = 0; i < job->concurrency; i++) {
    if (transfers[i].easy) curl.easy_cleanup(transfers[i].easy);
  }
  if (file >= 0) close(file);
  if (fields) curl.slist_free_all(fields);
  free(transfers);
  return problem;
}

// MARK: The loop on its own thread

/// Starts the waiting requests; returns false when the loop must end.
static bool begin(curl_loop *loop, const curl_loop_job *job) {
  pthread_mutex_lock(&loop->lock);
  request *request = loop->first;
  loop->first = NULL;
  loop->last = &loop->first;
  loop->is_asleep = !request;
  bool is_over = loop->is_over;
  pthread_mutex_unlock(&loop->lock);
  while (request) {
    struct request *next = request->next;
    transfer *transfer = loop->free;
    if (transfer) {
      loop->free = transfer->next;
    } else {
      transfer = calloc(1, sizeof *transfer);
      if (transfer) transfer->easy = curl.easy_init();
      if (!transfer || !transfer->easy || prepare(loop, transfer, job, NULL)) abort();
    }
    transfer->request = request;
    if (curl.multi_add_handle(loop->multi, transfer->easy)) abort();
    request = next;
  }
  return !is_over;
}

static void *serve(void *user) {
  curl_loop *loop = user;
  const curl_loop_job *job = &loop->job;
  while (begin(loop, job)) {
    turn(loop, now() + 60);
    pthread_mutex_lock(&loop->lock);
    loop->is_asleep = false;
    pthread_mutex_unlock(&loop->lock);
    const char *problem = NULL;
    transfer *transfer;
    while ((transfer = next_ended(loop, job, &problem))) {
      request *request = transfer->request;
      transfer->next = loop->free;
      loop->free = transfer;
      request->done(request->user, problem);
      free(request);
    }
  }
  return NULL;
}

bool curl_loop_serve(curl_loop *loop, const char *url, int64_t length, bool is_http2) {
  loop->job = (curl_loop_job){.url = strdup(url), .length = length, .is_http2 = is_http2};
  loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = loop->wake};
  if (!loop->job.url || loop->wake < 0 || epoll_ctl(loop->poll, EPOLL_CTL_ADD, loop->wake, &event)) return false;
  loop->has_thread = pthread_create(&loop->thread, NULL, serve, loop) == 0;
  return loop->has_thread;
}

void curl_loop_get(curl_loop *loop, curl_loop_done done, void *user) {
  request *request = malloc(sizeof *request);
  if (!request) abort();
  *request = (struct request){.done = done, .user = user};
  pthread_mutex_lock(&loop->lock);
  *loop->last = request;
  loop->last = &request->next;
  bool wakes = loop->is_asleep;
  loop->is_asleep = false;
  pthread_mutex_unlock(&loop->lock);
  if (wakes) eventfd_write(loop->wake, 1);
}
