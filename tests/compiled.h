/* compiled.h - main() of the suites that compile kernels. Without NVRTC it prints a message and skips the suite. The
 * cases of a suite share a cache in a temporary folder. */
#ifndef KILN_TESTS_COMPILED_H
#define KILN_TESTS_COMPILED_H

#include "check.h"
#include "compile.h"
#include "wire.h"

/* Runs the cases. `cache` is a name for mkdtemp(), or NULL for no cache. The function keeps NVRTC loaded, so that no
 * case loads it again. */
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
