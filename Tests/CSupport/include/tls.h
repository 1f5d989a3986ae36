#pragma once
#include <stddef.h>

// The server's side of TLS, over bytes that somebody else moves; on Linux, where the system has OpenSSL.

/// A server with a certificate and its key, or NULL.
void *martlet_server_new(const char *certificate, const char *key);
void martlet_server_free(void *server);

/// A connection to it, of which nothing has come yet, or NULL.
void *martlet_accept_new(void *server);
void martlet_accept_free(void *tls);

/// Takes bytes that came.
void martlet_accept_feed(void *tls, const void *bytes, size_t count);
/// Gives what they said.
///
/// - Returns: The number of bytes; 0 if there are none yet, -1 at the end and after an error.
int martlet_accept_read(void *tls, void *bytes, size_t count);
/// Says something, as one message if it is short; only once something was read.
void martlet_accept_write(void *tls, const void *bytes, size_t count);
/// Says that nothing more will be said.
void martlet_accept_end(void *tls);
/// Gives bytes that are to be sent.
///
/// - Returns: Their number.
size_t martlet_accept_take(void *tls, void *bytes, size_t count);
