/* shipped.c - reads the best-known configurations that are shipped beside a spec, and sorts them by their distance to
 * given sizes. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shipped.h"
#include "spec.h"

/* ---- distances ---- */

/* Returns the binary logarithm of a size. Distances compare ratios of sizes: 64 is as far from 128 as 4096 is from
 * 8192. The size 0 counts as 0.5, so 0 is as far from 1 as 1 is from 2. */
static double log_of(kiln_value value)
{
    if (value.kind == KILN_FLOAT)
        return log2(fmax(fabs(value.as.f), 0x1p-20));
    return log2(fmax((double)value.as.i, 0.5));
}

enum { OTHER_TEXT = 16 }; /* distance between two sizes that are different texts */

bool kiln__size_distance(kiln__settings a, kiln__settings b, double *distance, bool *same)
{
    double sum = 0;
    *same = true;
    if (a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++) {
        const kiln_value *x = &a.items[i].value;
        const kiln_setting *other = kiln__settings_find(b, a.items[i].name);
        if (!other || (x->kind == KILN_TEXT) != (other->value.kind == KILN_TEXT))
            return false;
        bool equal = kiln__value_equal(*x, other->value), text = x->kind == KILN_TEXT;
        double apart = text ? (equal ? 0 : OTHER_TEXT) : log_of(*x) - log_of(other->value);
        *same = *same && equal;
        sum += apart * apart;
    }
    *distance = sqrt(sum);
    return true;
}

int kiln__capability(const char *cc)
{
    char *end;
    long major = strtol(cc, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, &end, 10) : -1;
    return major > 0 && major < 1000 && minor >= 0 && minor < 10 && !*end ? (int)(10 * major + minor) : 0;
}

int kiln__capability_distance(int wanted, int there)
{
    if (!there)
        return 100000;
    int apart = abs(wanted - there);
    return wanted / 10 == there / 10 ? apart : 10 + apart;
}

/* ---- the file ---- */

kiln_status kiln__shipped_read(kiln_engine *engine, const kiln_spec *spec, kiln__known_list *list, kiln_error **error)
{
    static const size_t limit = (size_t)16 << 20;
    char path[PATH_MAX];
    struct stat info;
    char *text = NULL;
    size_t length = 0;
    kiln_error *why = NULL;
    const int written = snprintf(path, sizeof path, "%s/known/%s.yaml", spec->folder, spec->name);
    if (written < 0 || (size_t)written >= sizeof path || strchr(spec->name, '/') || stat(path, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return KILN_OK;
    kiln_status status = kiln__file_read(engine->mem, path, limit, &text, &length, &why);
    if (status == KILN_OK)
        status = kiln__known_read(engine->mem, path, text ? text : "", length, list, &why);
    kiln__free(engine->mem, text);
    if (status != KILN_OK && status != KILN_ERROR_MEMORY)
        kiln__logf(&engine->log, KILN_LOG_WARNING, "the known configurations that are shipped with %s are not used: %s",
                   spec->name, kiln_error_message(why));
    kiln_error_free(why);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* ---- the order by nearness ---- */

static int compare_numbers(double a, double b) { return (a > b) - (a < b); }

/* Returns a rank for an entry: 0 for these sizes on this device, 1 for these sizes on another device of the same
 * compute capability, 2 for other sizes on this device, and more for every other device. */
static int rank_of(const kiln__shipped *entry)
{
    enum { SAME_CAPABILITY = 1 }; /* value of `apart` */
    if (entry->apart <= SAME_CAPABILITY && entry->distance == 0)
        return entry->apart;
    return 2 + entry->apart;
}

/* Sorts by rank, then by the distance of the sizes, then by time. Devices of one compute capability compile the same
 * code, and the best configuration depends more on the sizes than on the number of multiprocessors. So the same sizes
 * on a device of the same compute capability come before other sizes on this device. The order is total, so it does not
 * depend on the order in the file. */
static int by_nearness(const void *left, const void *right)
{
    const kiln__shipped *a = left, *b = right;
    int order = rank_of(a) - rank_of(b);
    order = order ? order : compare_numbers(a->distance, b->distance);
    order = order ? order : strcmp(a->device, b->device);
    order = order ? order : a->problem - b->problem;
    order = order ? order : compare_numbers(a->seconds, b->seconds);
    return order ? order : strcmp(a->variant, b->variant);
}

/* Copies from the file every entry of this spec whose sizes have the same names as `sizes`, and sorts the entries by
 * rank, distance and time. `problem` numbers the pairs of device and sizes in the order of the file, so that the
 * entries of one pair stay together. */
kiln_status kiln__shipped_find(kiln_engine *engine, const kiln_spec *spec, kiln__settings sizes, kiln__arena *arena,
                               kiln__shipped **list, size_t *count, kiln_error **error)
{
    const kiln_device_info *info = &engine->info;
    const int cc = 10 * info->cc_major + info->cc_minor;
    kiln__known_list known = {.arena.mem = engine->mem};
    *count = 0;
    kiln_status status = kiln__shipped_read(engine, spec, &known, error);
    kiln__known_deduplicate(&known);
    *list = status == KILN_OK ? kiln__arena_alloc(arena, (known.count + 1) * sizeof **list) : NULL;
    kiln__text sizes_text = {.mem = engine->mem};
    int problem = 0;
    for (size_t i = 0; *list && i < known.count; i++) {
        const kiln__known *one = &known.items[i];
        bool same;
        double distance;
        problem += i > 0 && !kiln__known_same_problem(&known.items[i - 1], one);
        if (strcmp(one->spec, spec->name) != 0 || !kiln__size_distance(sizes, one->sizes, &distance, &same))
            continue;
        const int there = kiln__capability(one->cc);
        kiln__text_free(&sizes_text);
        sizes_text = (kiln__text){.mem = engine->mem};
        kiln__settings_print(&sizes_text, one->sizes);
        const bool here = strcmp(one->device, info->name) == 0 && there == cc;
        (*list)[(*count)++] = (kiln__shipped){.variant = kiln__arena_strdup(arena, one->variant),
                                              .device = kiln__arena_strdup(arena, one->device),
                                              .sizes = kiln__arena_strdup(arena, kiln__text_get(&sizes_text)),
                                              .params = kiln__settings_copy(arena, one->params),
                                              .seconds = one->seconds,
                                              .distance = same ? 0 : fmax(distance, 0x1p-40),
                                              .apart = here ? 0 : 1 + kiln__capability_distance(cc, there),
                                              .problem = problem};
    }
    kiln__text_free(&sizes_text);
    kiln__known_free(&known);
    if (status == KILN_OK && (!*list || arena->failed))
        return kiln__fail_memory(error);
    if (status == KILN_OK && *count)
        qsort(*list, *count, sizeof **list, by_nearness);
    return status;
}
