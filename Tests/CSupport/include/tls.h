#pragma once
#include <stddef.h>

// The server side of TLS over bytes that the caller transports; for Linux systems with OpenSSL.

/// Creates a server with a certificate and its key; NULL on failure.
void *martlet_server_new(const char *certificate, const char *key);
void martlet_server_free(void *server);

/// Creates a connection to the server that has received nothing yet; NULL on failure.
void *martlet_accept_new(void *server);
void martlet_accept_free(void *tls);

/// Passes received bytes to the connection.
void martlet_accept_feed(void *tls, const void *bytes, size_t count);
/// Reads decrypted bytes.
///
/// - Returns: The number of bytes; 0 if none are available yet, -1 at the end or after an error.
int martlet_accept_read(void *tls, void *bytes, size_t count);
/// Writes bytes, as one record if they are few. Requires a successful read first.
void martlet_accept_write(void *tls, const void *bytes, size_t count);
/// Ends the sending side (`close_notify`).
void martlet_accept_end(void *tls);
/// Copies bytes that are due to be sent.
///
/// - Returns: The number of bytes.
size_t martlet_accept_take(void *tls, void *bytes, size_t count);
