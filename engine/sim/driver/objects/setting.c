/* setting.c - settings that come from the environment. This file also has the list of destructors of user objects that
 * the driver must call later without locks. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu_objects.h"

bool sim_environment(const char *name, uint64_t *value)
{
    const char *text = getenv(name);
    char *end = NULL;
    *value = 0;
    if (!text || !*text)
        return true;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0' && *text >= '0' && *text <= '9')
        return true;
    fprintf(stderr, "kiln: %s=%s is not a number\n", name, text);
    return false;
}

bool sim_jit_asked(uint32_t *threshold)
{
    const char *text = getenv("KILN_SIM_JIT");
    uint64_t value;
    if (!sim_environment("KILN_SIM_JIT", &value))
        return false;
    value = text && *text ? value : SIM_JIT_DEFAULT;
    *threshold = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    return true;
}

/* Returns true if the variable is not set, or if it has one of the known values. If the value is unknown, prints a line
 * on stderr, because the functions that use these variables would ignore an unknown value. */
static bool is_one_of(const char *variable, const char *const *known, size_t count, const char *all)
{
    const char *text = getenv(variable);
    bool right = !text || !*text;
    for (size_t i = 0; !right && i < count; i++)
        right = strcmp(text, known[i]) == 0;
    if (!right)
        fprintf(stderr, "kiln: %s=%s must be %s\n", variable, text, all);
    return right;
}

bool sim_right_words(void)
{
    static const char *const sets[] = {"base", "avx2", "avx512"}, *const targets[] = {"strict"};
    return is_one_of("KILN_SIM_ISA", sets, KILN__COUNT(sets), "base, avx2 or avx512") &&
           is_one_of("KILN_SIM_TARGET", targets, KILN__COUNT(targets), "strict");
}

/* ---- destructors of user objects ---- */

static pthread_mutex_t dead_lock = PTHREAD_MUTEX_INITIALIZER;
static sim_end_of *dead; /* the list of destructors that the driver must still call */

void sim_bury(sim_end_of *end)
{
    pthread_mutex_lock(&dead_lock);
    end->next = dead;
    dead = end;
    pthread_mutex_unlock(&dead_lock);
}

void sim_bury_users(void)
{
    for (;;) {
        pthread_mutex_lock(&dead_lock);
        sim_end_of *end = dead;
        dead = end ? end->next : NULL;
        pthread_mutex_unlock(&dead_lock);
        if (!end)
            return;
        end->destroy(end->pointer);
        kiln__free(sim_memory(), end);
    }
}
