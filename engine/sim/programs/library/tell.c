/* tell.c - tells why a kernel has failed. The program gets only an error such as CUDA_ERROR_LAUNCH_TIMEOUT, and many programs do not
 * look at it. */
#include "choose.h"
#include <stdatomic.h>
#include <stdio.h>

enum { MOST = 16 };

void sim_library_tell(const char *reason)
{
    static atomic_uint said;
    const unsigned before = atomic_fetch_add(&said, 1);
    if (before < MOST)
        fprintf(stderr, "kiln: %s%s\n", reason, before == MOST - 1 ? " (later messages are left out)" : "");
}
