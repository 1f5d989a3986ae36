// Limits how many tests run side by side and takes proxies out of the environment, by being linked.
#ifndef WIDTH_H
#define WIDTH_H

/// From now on threads share two arenas of memory; else the C library reserves 64 MiB for each thread.
void limit_arenas(void);

#endif
