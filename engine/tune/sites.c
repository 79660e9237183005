/* sites.c - finds the devices on which a sweep measures: devices of this machine, and devices of the other ranks of its
 * job. */
#include <string.h>

#include "ranks.h"
#include "sites_internal.h"

/* Tells whether two devices have the same model. Times of different models cannot be compared. */
static bool same_model(const kiln_device_info *a, const kiln_device_info *b)
{
    return strcmp(a->name, b->name) == 0 && a->cc_major == b->cc_major && a->cc_minor == b->cc_minor &&
           a->sm_count == b->sm_count && a->memory_bus_bits == b->memory_bus_bits;
}

/* ---- this machine ---- */

static kiln_status note_uuid(kiln_engine *engine, const kiln_tune_options *options, CUdevice device, kiln__site *site,
                             kiln_error **error)
{
    if (!kiln__driver_uuid(&engine->driver, device, site->uuid) && !site->info.simulated &&
        engine->driver.cuDeviceGetUuid_ && options->store)
        return kiln__fail(
            engine->mem, error, KILN_ERROR_DEVICE,
            "%s: cuDeviceGetUuid fails, so kiln could not distinguish its samples from the samples of another device",
            site->info.id);
    return KILN_OK;
}

/* Finds the device number `i` of the options, which is on this machine. A sweep may name a GPU only once. It may name a
 * simulated device several times, to use several cores. */
static kiln_status find_here(kiln_engine *engine, const kiln_tune_options *options, kiln__sites *sites, size_t i,
                             kiln_error **error)
{
    kiln__site *site = &sites->items[i];
    CUdevice device = engine->device;
    site->info = engine->info;
    site->host = sites->here;
    site->device = engine->device_given ? engine->device_given : engine->info.id;
    if (options->device_count) {
        site->device = options->devices[i];
        KILN__TRY(kiln__engine_peer(engine, site->device, &device, &site->info, error));
    }
    site->label = site->info.id;
    if (!same_model(&site->info, &engine->info))
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "%s is %s and %s is %s: times of different models cannot be compared, so these devices "
                          "cannot share a sweep",
                          site->info.id, site->info.name, engine->info.id, engine->info.name);
    for (size_t k = 0; k < i && !site->info.simulated; k++)
        if (strcmp(sites->items[k].info.id, site->info.id) == 0)
            return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "the device %s is named twice", site->info.id);
    return note_uuid(engine, options, device, site, error);
}

/* ---- the other ranks ---- */

/* Logs a warning if several ranks have the same GPU. This is nearly always a mistake, because ranks with the same GPU
 * measure one after another. */
static void warn_shared(const kiln_engine *engine, const kiln__sites *sites, const kiln__site *site)
{
    for (const kiln__site *other = sites->items; other < site; other++)
        if (*site->uuid && strcmp(other->uuid, site->uuid) == 0) {
            kiln__logf(&engine->log, KILN_LOG_WARNING, "%s and %s are the same GPU: they take turns there",
                       other->label, site->label);
            return;
        }
}

/* Sends away the ranks whose devices have the model of `info`, which is not the model of the sweep. These ranks run a
 * separate sweep, which the first of them leads. */
static bool send_away(kiln_engine *engine, const kiln__rank_info *info)
{
    const int count = kiln_ranks_count(engine->ranks);
    uint64_t *group = kiln__calloc(engine->mem, (size_t)count, sizeof *group);
    const kiln_device_info device = info->device;
    size_t found = 0;
    for (int rank = 1; rank < count && group; rank++) {
        const kiln__rank_info *other = kiln__ranks_info(engine->ranks, rank);
        if (other && same_model(&other->device, &device))
            group[found++] = (uint64_t)rank;
    }
    if (found > 0) {
        kiln__logf(&engine->log, KILN_LOG_INFO,
                   "rank %d leads a separate sweep of %zu ranks, because its device is %s, and %s is %s", (int)group[0],
                   found, device.name, engine->info.id, engine->info.name);
        kiln__ranks_send_away(engine->ranks, group, found);
    }
    kiln__free(engine->mem, group);
    return found > 0;
}

/* Tells whether another rank has a device of the leader's model. If the leader itself does not measure, it needs such a
 * rank.
 */
static bool has_follower(kiln_engine *engine)
{
    bool found = false;
    for (int rank = 1; rank < kiln_ranks_count(engine->ranks); rank++) {
        const kiln__rank_info *info = kiln__ranks_info(engine->ranks, rank);
        found = found || (info && same_model(&info->device, &engine->info));
    }
    return found;
}

static bool find_ranks(kiln_engine *engine, kiln__sites *sites)
{
    for (int rank = 1; rank < kiln_ranks_count(engine->ranks); rank++) {
        const kiln__rank_info *info = kiln__ranks_info(engine->ranks, rank);
        if (!info)
            continue; /* the rank was lost, and the log has a message about it */
        const kiln__place *place = kiln__ranks_place(engine->ranks, rank);
        if (!same_model(&info->device, &engine->info)) {
            if (!send_away(engine, info))
                return false;
            continue;
        }
        kiln__site *site = &sites->items[sites->count++];
        *site = (kiln__site){
            .place = place, .device = info->name, .info = info->device, .host = info->host, .label = place->name};
        memcpy(site->uuid, info->uuid, sizeof site->uuid);
        warn_shared(engine, sites, site);
    }
    return true;
}

size_t kiln__sites_jobs(const kiln_engine *engine)
{
    size_t jobs = engine->jobs ? engine->jobs : kiln__cpu_count();
    for (int rank = 1; rank < kiln_ranks_count(engine->ranks); rank++) {
        const kiln__rank_info *info = kiln__ranks_info(engine->ranks, rank);
        jobs += info ? info->jobs : 0;
    }
    return jobs;
}

kiln_status kiln__sites_find(kiln_engine *engine, const kiln_tune_options *options, kiln__arena *arena,
                             kiln__sites *sites, kiln_error **error)
{
    size_t here = options->device_count ? options->device_count : 1;
    kiln__text host = {.mem = engine->mem};
    kiln__host_describe(&host);
    *sites = (kiln__sites){.here = kiln__arena_strdup(arena, kiln__text_get(&host))};
    bool failed = host.failed;
    kiln__text_free(&host);
    sites->items = kiln__arena_alloc(arena, (here + (size_t)kiln_ranks_count(engine->ranks)) * sizeof *sites->items);
    if (failed || !sites->here || !sites->items)
        return kiln__fail_memory(error);
    KILN__TRY(kiln__engine_device(engine, error));
    for (size_t i = 0; i < here; i++)
        KILN__TRY(find_here(engine, options, sites, i, error));
    const bool lead_only = options->flags & KILN_TUNE_LEAD_ONLY;
    if (lead_only && (!engine->ranks || options->device_count))
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "kiln_tune: KILN_TUNE_LEAD_ONLY needs an engine with ranks, and excludes options.devices");
    if (engine->ranks)
        kiln__ranks_gather(engine->ranks);
    if (lead_only && !has_follower(engine))
        return kiln__fail(engine->mem, error, KILN_ERROR_DEVICE,
                          "rank 0 must not measure (lead-only), but no other rank has a device of its model, %s",
                          engine->info.name);
    sites->count = lead_only ? 0 : here;
    return !engine->ranks || find_ranks(engine, sites) ? KILN_OK : kiln__fail_memory(error);
}
