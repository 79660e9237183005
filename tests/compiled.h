/* compiled.h - main() of the suites that compile kernels: skipped visibly without an NVRTC, with a temporary folder for a cache
 * that their cases share. */
#ifndef KILN_TESTS_COMPILED_H
#define KILN_TESTS_COMPILED_H

#include "check.h"
#include "compile.h"
#include "wire.h"

/* cache: NULL, or a name for mkdtemp(). The library is held so long that no case loads it again. */
static inline int compiled_main(int count, char **arguments, const char *name, const check_case *cases, size_t length,
                                char *cache)
{
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc, &error) != KILN_OK) {
        printf("SKIP nvrtc: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return 77; /* CTest shows this exit code as skipped */
    }
    int code = 1;
    if (!cache || mkdtemp(cache))
        code = check_main(count, arguments, name, cases, length);
    kiln__nvrtc_close(nvrtc);
    if (cache)
        kiln__folder_remove(cache);
    return code;
}

#define KILN_COMPILED_SUITE(name, cases, cache)                                                                        \
    int main(int count, char **arguments)                                                                              \
    {                                                                                                                  \
        return compiled_main(count, arguments, name, cases, sizeof(cases) / sizeof *(cases), cache);                   \
    }
#endif
