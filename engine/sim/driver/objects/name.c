/* name.c - converts the symbols of kernels to the names that the kernels have in their source. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cu_objects.h"

/* Returns true if the demangled form of a symbol has at most MOST bytes. Without this limit a symbol of 300 characters
 * could take gigabytes. Each reference to an earlier part (S_, S0_, T_, T0_) prints that part again, and the demangler
 * has no limit. With `n` references, the name becomes at most 3^(n / 3) times as long. In the worst case, a part refers
 * three times to the part before it. A character that belongs to no reference prints at most WIDEST bytes. */
static bool is_short(const char *symbol)
{
    enum { MOST = 1 << 26, WIDEST = 36 };
    uint64_t bytes = 0;
    unsigned references = 0;
    for (const char *at = symbol; *at; at++) {
        const char next = at[1];
        references += (*at == 'S' || *at == 'T') &&
                      (next == '_' || (next >= '0' && next <= '9') || (*at == 'S' && next >= 'A' && next <= 'Z'));
        bytes += WIDEST;
    }
    for (; bytes <= MOST && references >= 3; references -= 3)
        bytes *= 3;
    return bytes << references <= MOST;
}

char *sim_readable_name(const char *symbol)
{
    typedef char *(*demangler)(const char *, char *, size_t *, int *);
    const bool mangled = strncmp(symbol, "_Z", 2) == 0 && is_short(symbol);
    void *library = mangled ? dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL) : NULL;
    demangler demangle = NULL;
    void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&demangle, &found, sizeof demangle); /* ISO C has no cast from a data pointer to a function pointer */
    int status = -1;
    char *name = demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
    if (status == 0)
        return name;
    free(name);
    return NULL;
}
