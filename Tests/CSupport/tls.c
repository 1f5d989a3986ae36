#include "tls.h"

#ifdef __linux__

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

enum { kPEM = 1, kWantRead = 2 };

static struct {
  void *(*method)(void);
  void *(*new_context)(const void *);
  void (*free_context)(void *);
  int (*use_certificate)(void *, const char *);
  int (*use_key)(void *, const char *, int);
  void *(*new_connection)(void *);
  void (*free_connection)(void *);
  void (*set_pipes)(void *, void *, void *);
  void *(*reader)(const void *);
  void *(*writer)(const void *);
  void (*be_server)(void *);
  int (*read)(void *, void *, int);
  int (*write)(void *, const void *, int);
  int (*error)(const void *, int);
  int (*shutdown)(void *);
  const void *(*memory)(void);
  void *(*new_pipe)(const void *);
  int (*pipe_read)(void *, void *, int);
  int (*pipe_write)(void *, const void *, int);
  void (*clear_errors)(void);
} ssl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_open;

static void open_library(void) {
  void *image = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!image) image = dlopen("libssl.so.1.1", RTLD_NOW | RTLD_LOCAL);
  if (!image) return;
  const struct {
    const char *name;
    void **place;
  } symbols[] = {
      {"TLS_server_method", (void **)&ssl.method},
      {"SSL_CTX_new", (void **)&ssl.new_context},
      {"SSL_CTX_free", (void **)&ssl.free_context},
      {"SSL_CTX_use_certificate_chain_file", (void **)&ssl.use_certificate},
      {"SSL_CTX_use_PrivateKey_file", (void **)&ssl.use_key},
      {"SSL_new", (void **)&ssl.new_connection},
      {"SSL_free", (void **)&ssl.free_connection},
      {"SSL_set_bio", (void **)&ssl.set_pipes},
      {"SSL_get_rbio", (void **)&ssl.reader},
      {"SSL_get_wbio", (void **)&ssl.writer},
      {"SSL_set_accept_state", (void **)&ssl.be_server},
      {"SSL_read", (void **)&ssl.read},
      {"SSL_write", (void **)&ssl.write},
      {"SSL_get_error", (void **)&ssl.error},
      {"SSL_shutdown", (void **)&ssl.shutdown},
      {"BIO_s_mem", (void **)&ssl.memory},
      {"BIO_new", (void **)&ssl.new_pipe},
      {"BIO_read", (void **)&ssl.pipe_read},
      {"BIO_write", (void **)&ssl.pipe_write},
      {"ERR_clear_error", (void **)&ssl.clear_errors},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    *symbols[i].place = dlsym(image, symbols[i].name);
    if (!*symbols[i].place) return;
  }
  is_open = true;
}

void *martlet_server_new(const char *certificate, const char *key) {
  pthread_once(&once, open_library);
  if (!is_open) return NULL;
  void *server = ssl.new_context(ssl.method());
  if (!server) return NULL;
  if (ssl.use_certificate(server, certificate) == 1 && ssl.use_key(server, key, kPEM) == 1) return server;
  ssl.free_context(server);
  return NULL;
}

void martlet_server_free(void *server) { ssl.free_context(server); }

void *martlet_accept_new(void *server) {
  void *tls = ssl.new_connection(server);
  void *in = ssl.new_pipe(ssl.memory()), *out = ssl.new_pipe(ssl.memory());
  if (!tls || !in || !out) return NULL;
  ssl.set_pipes(tls, in, out);
  ssl.be_server(tls);
  return tls;
}

void martlet_accept_free(void *tls) { ssl.free_connection(tls); }

void martlet_accept_feed(void *tls, const void *bytes, size_t count) {
  ssl.pipe_write(ssl.reader(tls), bytes, count > INT_MAX ? INT_MAX : (int)count);
}

int martlet_accept_read(void *tls, void *bytes, size_t count) {
  ssl.clear_errors();
  int result = ssl.read(tls, bytes, count > INT_MAX ? INT_MAX : (int)count);
  if (result > 0) return result;
  return ssl.error(tls, result) == kWantRead ? 0 : -1;
}

void martlet_accept_write(void *tls, const void *bytes, size_t count) {
  ssl.clear_errors();
  if (count > 0) ssl.write(tls, bytes, count > INT_MAX ? INT_MAX : (int)count);
}

void martlet_accept_end(void *tls) {
  ssl.clear_errors();
  ssl.shutdown(tls);
}

size_t martlet_accept_take(void *tls, void *bytes, size_t count) {
  int result = ssl.pipe_read(ssl.writer(tls), bytes, count > INT_MAX ? INT_MAX : (int)count);
  return result > 0 ? (size_t)result : 0;
}

#endif
