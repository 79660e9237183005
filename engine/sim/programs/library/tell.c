/* tell.c - tells why a kernel has failed. The program gets only an error code such as CUDA_ERROR_LAUNCH_TIMEOUT, and
 * many programs ignore it. */
#include "choose.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { MOST = 16 };

/* Texts of assertions and names of files come from the module, which is untrusted. The output may go to a terminal. So
 * the function escapes all characters except printable ASCII. */
void sim_library_tell(const char *reason)
{
    static atomic_uint said;
    const unsigned before = atomic_fetch_add(&said, 1);
    char text[4 * 1024 + 1];
    size_t length = 0;
    for (const char *at = reason; *at && length + 4 < sizeof text; at++) {
        const bool plain = *at >= 0x20 && *at < 0x7f;
        length += (size_t)snprintf(text + length, sizeof text - length, plain ? "%c" : "\\x%02x", (unsigned char)*at);
    }
    text[length] = '\0';
    if (before < MOST)
        fprintf(stderr, "kiln: %s%s\n", text, before == MOST - 1 ? " (later messages are left out)" : "");
}
