// Linking this module limits how many tests run in parallel and removes proxies from the environment.
#ifndef WIDTH_H
#define WIDTH_H

/// Makes all threads share two malloc arenas from now on; otherwise glibc reserves 64 MiB for each thread.
void limit_arenas(void);

#endif
