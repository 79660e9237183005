/* Reads any text as a device profile. In an accepted profile every figure is within its bounds, and a refused profile
 * comes with a reason. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 16 };
    if (size > MOST)
        return 0;
    sim_profile_data profile;
    kiln__text log = {0};
    if (sim_profile_read((const char *)data, size, "input.profile", &profile, &log)) {
        WANT(log.length == 0);
        WANT(memchr(profile.title, '\0', sizeof profile.title) != NULL);
        WANT(profile.memory >= 1 << 20);
        for (size_t i = 0; i < SIM_PROFILE_ATTRIBUTES; i++)
            WANT(profile.attributes[i].value >= 0);
        const sim_model *m = &profile.model;
        WANT(m->clock > 0 && m->sm_count >= 1 && m->l2_bytes > 0 && isfinite(m->dram_rate));
    } else {
        WANT(log.failed || strncmp(log.data, "input.profile:", 14) == 0);
    }
    kiln__text_free(&log);
    return 0;
}
