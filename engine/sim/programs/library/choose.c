/* choose.c - reads three variables that choose the devices of libcuda:
 *   KILN_SIM_DEVICE       the profile: a known name, the name of a file in specs/devices (`h200`), or the path of a
 *                         profile; the default is `generic`
 *   KILN_SIM_DEVICES      the number of devices
 *   CUDA_VISIBLE_DEVICES  the devices that the process can see, as with a GPU's driver */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "choose.h"

enum { PROFILE_LIMIT = 1 << 20 };

static CUresult chosen = CUDA_SUCCESS;

/* Finds the file of a profile in specs/devices, relative to this library (build tree or moved installation) or in the
 * installed prefix. */
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

static void choose_profile(void)
{
    const char *wanted = getenv("KILN_SIM_DEVICE");
    char path[PATH_MAX], name[64];
    if (!wanted || !*wanted || kiln__sim_profile(wanted))
        return;
    if (strncmp(wanted, "sim:", 4) == 0) /* the form of a profile's name in kiln's option --device */
        wanted += 4;
    const char *slash = strrchr(wanted, '/'), *base = slash ? slash + 1 : wanted;
    size_t length = strcspn(base, ".");
    chosen = CUDA_ERROR_INVALID_DEVICE;
    if (length == 0 || length >= sizeof name) {
        fprintf(stderr, "kiln: KILN_SIM_DEVICE: '%s' is not the name of a device profile\n", wanted);
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
        fprintf(
            stderr,
            "kiln: KILN_SIM_DEVICE: there is no device profile '%s'; give a name that `kiln devices` lists, such as "
            "h200, or a path\n",
            wanted);
        return;
    }
    if (add(path, name) && kiln__sim_profile(name))
        chosen = CUDA_SUCCESS;
}

/* ---- the number of devices, and the visible devices ---- */

static unsigned all = 1; /* number of devices of the machine */

static bool count_all(void)
{
    uint64_t wanted;
    if (!sim_environment("KILN_SIM_DEVICES", &wanted))
        return false;
    const char *text = getenv("KILN_SIM_DEVICES");
    if (wanted > SIM_DEVICES_MOST || (wanted == 0 && text && *text)) {
        fprintf(stderr, "kiln: KILN_SIM_DEVICES=%s: there can be 1 to %d devices\n", text, SIM_DEVICES_MOST);
        return false;
    }
    all = wanted ? (unsigned)wanted : 1;
    return true;
}

/* Returns the place (number on the machine) of the device whose UUID begins with `text`, such as "GPU-8932f937-d72c".
 * Returns -1 if there is no such device, or if there are several. */
static int place_by_uuid(const char *text, size_t length)
{
    int found = -1;
    for (unsigned place = 0; place < all; place++) {
        CUuuid uuid;
        char name[48];
        sim_device_uuid(sim_current_profile(), place, &uuid);
        int used = snprintf(name, sizeof name, "GPU");
        for (int i = 0; i < 16; i++)
            used += snprintf(name + used, sizeof name - (size_t)used, "%s%02x",
                             i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid.bytes[i]);
        if (length <= strlen("GPU-") || length > (size_t)used || !kiln__same_word(name, text, length))
            continue;
        if (found >= 0) /* `text` is the beginning of the UUIDs of two devices */
            return -1;
        found = (int)place;
    }
    return found;
}

/* Reads $CUDA_VISIBLE_DEVICES as NVIDIA's driver does, up to the first entry that does not name a device. If two
 * entries name the same device, no device is visible. */
static unsigned read_visible(unsigned places[SIM_DEVICES_MOST])
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    unsigned count = 0;
    if (!at) {
        for (; count < all; count++)
            places[count] = count;
        return count;
    }
    for (;;) {
        at += strspn(at, " \t");
        const size_t length = strcspn(at, ", \t");
        int place = -1;
        if (*at >= '0' && *at <= '9') {
            const unsigned long number = strtoul(at, NULL, 10); /* the code ignores the rest of the entry */
            place = number < all ? (int)number : -1;
        } else if (kiln__same_word(at, "GPU-", 4)) {
            place = place_by_uuid(at, length);
        }
        if (place < 0)
            return count;
        for (unsigned i = 0; i < count; i++)
            if (places[i] == (unsigned)place)
                return 0;
        places[count++] = (unsigned)place;
        at += length;
        at += strspn(at, " \t");
        if (*at != ',')
            return count;
        at++;
    }
}

static void choose(void)
{
    unsigned places[SIM_DEVICES_MOST];
    choose_profile();
    if (chosen == CUDA_SUCCESS && !count_all())
        chosen = CUDA_ERROR_INVALID_VALUE;
    if (chosen != CUDA_SUCCESS)
        return;
    const unsigned count = read_visible(places);
    if (!sim_set_devices(places, count, all))
        chosen = CUDA_ERROR_NO_DEVICE;
}

bool kiln_sim_device_at(unsigned place, kiln_sim_device *device)
{
    const CUresult result = sim_library_choose();
    if ((result != CUDA_SUCCESS && result != CUDA_ERROR_NO_DEVICE) || place >= all)
        return false;
    const sim_profile *profile = sim_current_profile();
    *device = (kiln_sim_device){.major = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                .minor = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
    snprintf(device->name, sizeof device->name, "%s", profile->title);
    sim_device_uuid(profile, place, &device->uuid);
    return sim_device_memory(profile, &device->memory);
}

CUresult sim_library_choose(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}
