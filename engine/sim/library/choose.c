/* choose.c - the device that $KILN_SIM_DEVICE names, for libcuda: `h200`, the name of a profile that is known or lies in
 * specs/devices, or the path of a profile. Without it the device is `generic`. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choose.h"

enum { PROFILE_LIMIT = 1 << 20 };

static CUresult chosen = CUDA_SUCCESS;

/* specs/devices of the build tree, or of the installation that this library belongs to. */
static bool find(const char *name, char path[PATH_MAX])
{
    static const char *const folders[] = {"../../share/kiln/specs/devices", "../../../share/kiln/specs/devices"};
    Dl_info here;
    if (!dladdr((const void *)&chosen, &here) || !here.dli_fname)
        return false;
    const char *slash = strrchr(here.dli_fname, '/');
    int length = slash ? (int)(slash - here.dli_fname) : 0;
    for (size_t i = 0; slash && i < KILN__COUNT(folders); i++)
        if (snprintf(path, PATH_MAX, "%.*s/%s/%s.profile", length, here.dli_fname, folders[i], name) < PATH_MAX &&
            access(path, R_OK) == 0)
            return true;
    return snprintf(path, PATH_MAX, KILN_DATADIR "/kiln/specs/devices/%s.profile", name) < PATH_MAX &&
           access(path, R_OK) == 0;
}

static bool add(const char *path, const char *name)
{
    char *text = NULL;
    size_t length = 0;
    kiln_error *error = NULL;
    kiln__text log = {0};
    kiln__sim_added result = KILN__SIM_BAD_PROFILE;
    if (kiln__file_read(NULL, path, PROFILE_LIMIT, &text, &length, &error) == KILN_OK)
        result = kiln__sim_profile_add(name, text, length, &log);
    if (result != KILN__SIM_ADDED && result != KILN__SIM_KNOWN)
        fprintf(stderr, "kiln: KILN_SIM_DEVICE: %s: %s\n", path,
                error ? kiln_error_message(error) : kiln__text_get(&log));
    kiln_error_free(error);
    kiln__text_free(&log);
    kiln__free(NULL, text);
    return result == KILN__SIM_ADDED || result == KILN__SIM_KNOWN;
}

static void choose(void)
{
    const char *wanted = getenv("KILN_SIM_DEVICE");
    char path[PATH_MAX], name[64];
    if (!wanted || !*wanted || kiln__sim_profile(wanted))
        return;
    if (strncmp(wanted, "sim:", 4) == 0) /* as kiln's option --device has it */
        wanted += 4;
    const char *slash = strrchr(wanted, '/'), *base = slash ? slash + 1 : wanted;
    size_t length = strcspn(base, ".");
    chosen = CUDA_ERROR_INVALID_DEVICE;
    if (length == 0 || length >= sizeof name) {
        fprintf(stderr, "kiln: KILN_SIM_DEVICE: '%s' is no name of a device profile\n", wanted);
        return;
    }
    memcpy(name, base, length);
    name[length] = '\0';
    bool is_path = slash || base[length];
    if (!is_path && kiln__sim_profile(name)) {
        chosen = CUDA_SUCCESS;
        return;
    }
    if (is_path ? snprintf(path, sizeof path, "%s", wanted) >= (int)sizeof path : !find(name, path)) {
        fprintf(stderr,
                "kiln: KILN_SIM_DEVICE: there is no device profile '%s'; `kiln devices` lists those that are known, or "
                "give a path\n",
                wanted);
        return;
    }
    if (add(path, name) && kiln__sim_profile(name))
        chosen = CUDA_SUCCESS;
}

CUresult sim_library_choose(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}
