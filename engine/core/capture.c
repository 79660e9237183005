/* capture.c - decides which launches are captured, by the requests of the application and of the environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core_internal.h"

static const uint64_t default_limit = (uint64_t)4 << 30;

static const char *read_environment(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* Reads a number of bytes such as "512M": digits, and then an optional K, M or G (2^10, 2^20, 2^30). Returns false for
 * any other text, for 0, and for a number that does not fit into 64 bits. */
static bool read_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])) || value > UINT64_MAX >> shift)
        return false;
    *bytes = value << shift;
    return *bytes > 0;
}

static uint64_t limit_of_environment(void)
{
    uint64_t bytes;
    const char *text = read_environment("KILN_CAPTURE_LIMIT");
    return text && read_bytes(text, &bytes) ? bytes : default_limit;
}

bool kiln__capture_default(const char *folder, kiln__arena *arena, kiln__capture_order *order)
{
    if (!folder || !*folder)
        folder = read_environment("KILN_CAPTURE_DIR");
    order->folder = kiln__arena_strdup(arena, folder ? folder : "kiln-capture");
    order->limit = limit_of_environment();
    return order->folder != NULL;
}

/* Replaces the engine's order to capture launches, and takes ownership of both texts. A NULL `what` means any launch,
 * and a NULL `folder` means the default folder. */
static void give_order(kiln_engine *engine, char *what, char *folder, unsigned count, uint64_t limit)
{
    pthread_mutex_lock(&engine->lock);
    char *old_what = engine->capture_what, *old_folder = engine->capture_folder;
    engine->capture_what = what;
    engine->capture_folder = folder;
    engine->capture_limit = limit;
    atomic_store(&engine->capture_left, count);
    pthread_mutex_unlock(&engine->lock);
    kiln__free(engine->mem, old_what);
    kiln__free(engine->mem, old_folder);
}

kiln_status kiln_capture(kiln_engine *engine, const kiln_capture_options *given, kiln_error **error)
{
    kiln_capture_options options;
    KILN__NEEDS(NULL, error, engine);
    if (!given) {
        give_order(engine, NULL, NULL, 0, 0);
        return KILN_OK;
    }
    KILN__TAKE(engine->mem, error, "options", given, &options);
    char *what = NULL, *folder = NULL;
    bool any = !options.what || !*options.what || strcmp(options.what, "*") == 0;
    if (!any && !(what = kiln__strdup(engine->mem, options.what)))
        return kiln__fail_memory(error);
    if (options.folder && *options.folder && !(folder = kiln__strdup(engine->mem, options.folder))) {
        kiln__free(engine->mem, what);
        return kiln__fail_memory(error);
    }
    give_order(engine, what, folder, options.count ? options.count : 1,
               options.limit ? options.limit : limit_of_environment());
    return KILN_OK;
}

/* Reads $KILN_CAPTURE in the form WHAT or WHAT:COUNT. WHAT may be a C++ name that contains "::". So a colon begins the
 * count only if it is single and only digits follow. */
kiln_status kiln__capture_environment(kiln_engine *engine, kiln_error **error)
{
    uint64_t bytes;
    const char *text = read_environment("KILN_CAPTURE"), *limit = read_environment("KILN_CAPTURE_LIMIT");
    if (!text)
        return KILN_OK;
    if (limit && !read_bytes(limit, &bytes))
        kiln__logf(&engine->log, KILN_LOG_WARNING,
                   "KILN_CAPTURE_LIMIT=%s must be a number of bytes such as 512M or 8G; "
                   "the limit is 4 GiB",
                   limit);
    size_t length = strlen(text);
    unsigned long count = 1;
    const char *colon = strrchr(text, ':');
    if (colon && colon > text && colon[-1] != ':' && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        count = strtoul(colon + 1, NULL, 10);
        length = (size_t)(colon - text);
    }
    if (count == 0 || count > UINT32_MAX) {
        kiln__logf(&engine->log, KILN_LOG_WARNING,
                   "KILN_CAPTURE=%s: nothing is captured: the count must be 1 to "
                   "4294967295",
                   text);
        return KILN_OK;
    }
    char *what = kiln__strdup(engine->mem, text);
    if (!what)
        return kiln__fail_memory(error);
    what[length] = '\0';
    if (strcmp(what, "*") == 0) {
        kiln__free(engine->mem, what);
        what = NULL;
    }
    give_order(engine, what, NULL, (unsigned)count, limit_of_environment());
    return KILN_OK;
}

bool kiln__capture_claim(kiln_engine *engine, bool (*matches)(void *user, const char *what), void *user,
                         kiln__arena *arena, kiln__capture_order *order)
{
    pthread_mutex_lock(&engine->lock);
    unsigned left = atomic_load(&engine->capture_left);
    bool claimed = left > 0 && (!engine->capture_what || matches(user, engine->capture_what)) &&
                   kiln__capture_default(engine->capture_folder, arena, order);
    if (claimed) {
        order->limit = engine->capture_limit;
        atomic_store(&engine->capture_left, left - 1);
    }
    pthread_mutex_unlock(&engine->lock);
    return claimed;
}
