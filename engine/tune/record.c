/* record.c - uses the store in a sweep. Makes the keys of samples, reuses stored samples, and writes new samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "determine_internal.h"
#include "known_internal.h"
#include "plan.h"
#include "record_internal.h"
#include "sites_internal.h"
#include "split_internal.h"
#include "store.h"
#include "trial_internal.h"
#include "tuning_internal.h"

typedef struct recorder_device {  /* a device of the sweep */
    const char *id, *uuid, *host; /* the id, UUID and host of the device's site */
    const char *fields;           /* the fields of the key that identify the device */
    char driver[16];
} recorder_device;

struct kiln__recorder {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_tune_options *options;
    kiln__arena arena;
    kiln_store *store;
    bool told_read, told_write; /* the log already has the message that the store cannot be read, or written */
    uint64_t lost;              /* the number of samples that could not be stored */
    const char *run;            /* the options of the runs, as a text */
    const char *path;           /* the path of the spec; "" if it is not from a file, or its file is gone */
    recorder_device *devices;
    size_t device_count;
    const char *sizes;      /* the sizes as a text; "" until the first configuration is known */
    const char *size_files; /* the contents of the files that the sizes name */
    const char *features;   /* the features of the input as a text; "" until the inputs were made */
    char cc[16], nvrtc[16];
    kiln__hash128 *variants; /* for each variant of the spec, its hash by kiln__determine_variant() */
    bool *known;
    double *times;
    size_t time_count, time_room;
    kiln__store_key *taken; /* the keys of the samples that the sweep took from the store */
    size_t taken_count, taken_room;
};

/* ---- the parts that all samples of a sweep have in common ---- */

static const char *keep_text(kiln__arena *arena, kiln__text *text)
{
    const char *kept = text->failed ? NULL : kiln__arena_strdup(arena, kiln__text_get(text));
    kiln__text_free(text);
    return kept;
}

static void describe_run(const kiln_run_options *run, kiln__text *out)
{
    static const struct {
        unsigned flag;
        const char *text;
    } flags[] = {
        {KILN_RUN_NO_MEASURE, " no-measure"}, {KILN_RUN_KEEP_L2, " keep-l2"}, {KILN_RUN_FLUSH_L2, " flush-l2"},
        {KILN_RUN_CHECK, " check"},           {KILN_RUN_ENERGY, " energy"},
    };
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"budget", run->budget},       {"precision", run->precision},     {"min", run->min_repetitions},
        {"max", run->max_repetitions}, {"verify-runs", run->verify_runs}, {"verify-seconds", run->verify_seconds},
    };
    kiln__text_puts(out, run->flags & KILN_RUN_NO_VERIFY ? "no-verify" : "verify");
    for (size_t i = 0; i < KILN__COUNT(flags); i++)
        kiln__text_puts(out, run->flags & flags[i].flag ? flags[i].text : "");
    for (size_t i = 0; i < KILN__COUNT(numbers); i++)
        if (numbers[i].value > 0) {
            kiln__text_printf(out, " %s=", numbers[i].name);
            kiln__value_print(out, (kiln_value){.kind = KILN_FLOAT, .as.f = numbers[i].value});
        }
}

static void print_driver(const kiln_device_info *info, char text[16])
{
    *text = '\0';
    if (info->driver_version)
        snprintf(text, 16, "%d.%d", info->driver_version / 1000, info->driver_version % 1000 / 10);
}

static kiln_status make_devices(kiln__recorder *r, const kiln__sites *sites, kiln_error **error)
{
    r->device_count = sites->count;
    r->devices = kiln__arena_alloc(&r->arena, r->device_count * sizeof *r->devices);
    if (!r->devices)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < r->device_count; i++) {
        const kiln__site *site = &sites->items[i];
        kiln__text fields = {.mem = r->engine->mem};
        recorder_device *device = &r->devices[i];
        *device = (recorder_device){.id = site->info.id, .uuid = site->uuid, .host = site->host};
        print_driver(&site->info, device->driver);
        kiln__determine_device(&site->info, &fields);
        kiln__text_puts(&fields, site->uuid);
        device->fields = keep_text(&r->arena, &fields);
        if (!device->fields)
            return kiln__fail_memory(error);
    }
    return KILN_OK;
}

kiln_status kiln__recorder_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                const kiln__sites *sites, kiln__recorder **recorder, kiln_error **error)
{
    if (!options->store)
        return KILN_OK;
    kiln_status status = kiln__engine_nvrtc(engine, error);
    kiln__recorder *r = status == KILN_OK ? kiln__calloc(engine->mem, 1, sizeof *r) : NULL;
    if (!r)
        return status == KILN_OK ? kiln__fail_memory(error) : status;
    *r = (kiln__recorder){.engine = engine,
                          .spec = spec,
                          .options = options,
                          .arena.mem = engine->mem,
                          .store = options->store,
                          .sizes = "",
                          .size_files = "",
                          .features = ""};
    const kiln_device_info *info = &engine->info;
    int nvrtc = kiln__nvrtc_version(engine->nvrtc);
    snprintf(r->cc, sizeof r->cc, "%d.%d", info->cc_major, info->cc_minor);
    snprintf(r->nvrtc, sizeof r->nvrtc, "%d.%d", nvrtc / 1000, nvrtc % 1000 / 10);
    kiln__text run = {.mem = engine->mem};
    describe_run(kiln__tune_run(options), &run);
    kiln__split_print(spec, options, &run);
    r->run = keep_text(&r->arena, &run);
    char *path = realpath(spec->path, NULL); /* NULL means that the spec was parsed from memory */
    r->path = path && !strchr(path, '\n') ? kiln__arena_strdup(&r->arena, path) : "";
    free(path);
    r->variants = kiln__arena_alloc(&r->arena, (spec->variant_count + 1) * sizeof *r->variants);
    r->known = kiln__arena_alloc(&r->arena, (spec->variant_count + 1) * sizeof *r->known);
    status = !r->run || !r->path || !r->variants || !r->known ? kiln__fail_memory(error)
                                                              : make_devices(r, sites, error);
    if (status != KILN_OK) {
        kiln__recorder_free(r);
        return status;
    }
    *recorder = r;
    return KILN_OK;
}

void kiln__recorder_free(kiln__recorder *r)
{
    if (!r)
        return;
    const kiln_allocator *mem = r->engine->mem;
    kiln__free(mem, r->times);
    kiln__free(mem, r->taken);
    kiln__arena_free(&r->arena);
    kiln__free(mem, r);
}

/* ---- identity ---- */

static kiln_status variant_hash(kiln__recorder *r, const char *name, kiln__hash128 *hash, kiln_error **error)
{
    const kiln__variant *variant = kiln__spec_variant(r->spec, name);
    size_t index = (size_t)(variant - r->spec->variants);
    if (!r->known[index]) {
        kiln_status status = kiln__determine_variant(r->engine, r->spec, variant, r->options, &r->variants[index],
                                                     error);
        if (status != KILN_OK)
            return status;
        r->known[index] = true;
    }
    *hash = r->variants[index];
    return KILN_OK;
}

kiln_status kiln__recorder_identify(kiln__recorder *r, const kiln_sample *sample, const kiln__config *config,
                                    const kiln__code_job *code, kiln__identity *identity, kiln_error **error)
{
    if (!r)
        return KILN_OK;
    kiln__hash128 hash;
    kiln_status status = variant_hash(r, sample->variant, &hash, error);
    if (status != KILN_OK)
        return status;
    kiln__hash_print(hash, identity->inputs);
    if (config && !*r->sizes) { /* the sizes are the same for all samples of a sweep, so they are written once */
        kiln__text sizes = {.mem = r->engine->mem}, files = {.mem = r->engine->mem};
        status = kiln__determine_sizes(r->engine, r->spec, config->sizes, &files, error);
        if (status != KILN_OK) {
            kiln__text_free(&files);
            return status;
        }
        kiln__settings_print(&sizes, config->sizes);
        const char *kept = keep_text(&r->arena, &sizes), *kept_files = keep_text(&r->arena, &files);
        if (!kept || !kept_files)
            return kiln__fail_memory(error);
        r->sizes = kept;
        r->size_files = kept_files;
    }
    if (code)
        kiln__hash_print(kiln__code_key(code), identity->source);
    kiln__text all = {.mem = r->engine->mem};
    kiln__text_printf(&all, "%s\n%s\n%s\n%s\n%s\n%s\n", r->run, r->sizes, r->spec->name, sample->variant,
                      identity->inputs, identity->source);
    kiln__settings_print(&all, KILN__PARAMS(sample));
    kiln__text_puts(&all, r->size_files);
    if (all.failed)
        status = kiln__fail_memory(error);
    else
        kiln__hash_print(kiln__hash(all.data, all.length), identity->rest);
    kiln__text_free(&all);
    return status;
}

/* Writes the key of a sample for the device number `at`. The key is "" if memory runs out. */
static void make_key(const kiln__recorder *r, const kiln__identity *identity, size_t at, char key[33])
{
    kiln__text all = {.mem = r->engine->mem};
    kiln__text_printf(&all, "kiln sample 2\n%s\n%s\n%s", KILN_VERSION, r->devices[at].fields, identity->rest);
    if (all.failed)
        *key = '\0';
    else
        kiln__hash_print(kiln__hash(all.data, all.length), key);
    kiln__text_free(&all);
}

/* ---- reading and writing ---- */

/* Logs an error of the store, once for reading and once for writing. The sweep then goes on, and tries the store again
 * for each sample without a further message. Frees `why`. */
static void tell(kiln__recorder *r, bool writes, kiln_error *why)
{
    bool *told = writes ? &r->told_write : &r->told_read;
    if (!*told)
        kiln__logf(&r->engine->log, KILN_LOG_WARNING, "%s: %s",
                   writes ? "samples are not stored" : "stored samples are not used", kiln_error_message(why));
    *told = true;
    kiln_error_free(why);
}

/* Notes the key of a sample that the sweep takes from the store. */
static void note_taken(kiln__recorder *r, const char *key)
{
    kiln_error *why = NULL;
    if (!kiln__grow(r->engine->mem, &r->taken, &r->taken_room, r->taken_count + 1, sizeof *r->taken)) {
        kiln__fail_memory(&why);
        tell(r, true, why);
        return;
    }
    kiln__format(r->taken[r->taken_count++].text, sizeof r->taken->text, "%s", key);
}

/* Notes in the store which samples the sweep has taken. The noted samples then count as the latest samples of their
 * configurations. */
static void store_taken(kiln__recorder *r, bool wait)
{
    kiln_error *why = NULL;
    if (r->taken_count && kiln__store_mark_taken(r->store, r->taken, r->taken_count, wait, &why) != KILN_OK)
        kiln__logf(&r->engine->log, KILN_LOG_WARNING,
                   "%zu samples that the sweep took from the store do not count as the latest ones, because that could "
                   "not be written: %s",
                   r->taken_count, kiln_error_message(why));
    kiln_error_free(why);
}

void kiln__recorder_finish(kiln__recorder *r, bool wait)
{
    kiln_error *why = NULL;
    if (!r)
        return;
    const bool settled = kiln__store_settle(r->store, wait, &why) == KILN_OK;
    if (!settled)
        kiln__logf(&r->engine->log, KILN_LOG_WARNING, "%s", kiln_error_message(why));
    store_taken(r, wait && settled); /* waiting once for another process is enough */
    if (r->lost)
        kiln__logf(&r->engine->log, KILN_LOG_WARNING,
                   "%llu samples of this sweep were not written to the store %s; a sweep makes "
                   "them again",
                   (unsigned long long)r->lost, kiln_store_path(r->store));
    kiln_error_free(why);
}

/* Tells whether a row records that a compile worker died. Earlier versions stored such a row as a failure that can be
 * reused. */
static bool died_before_marks(const kiln__store_row *row)
{
    return row->status == KILN_ERROR_COMPILE && (strstr(row->message, ": the compiler crashed: ") != NULL ||
                                                 strstr(row->message, ": the compiler ran out of memory") != NULL);
}

/* Tells whether stored samples may replace new samples of the sweep. Stored samples may not be used if the caller needs
 * results of a run that a sample does not have. */
static bool reuses(const kiln__recorder *r)
{
    const kiln_run_options *run = kiln__tune_run(r->options);
    return !(r->options->flags & KILN_TUNE_FRESH) && !run->output_count && !(run->flags & KILN_RUN_CHECK);
}

/* Tells whether the spec marks the variant with `contender: false`. A sweep that tries only such variants treats them
 * as contenders, but the store keeps the mark of the spec. */
static bool is_comparison(const kiln_spec *spec, const char *variant)
{
    for (size_t v = 0; v < spec->variant_count; v++)
        if (strcmp(spec->variants[v].name, variant) == 0)
            return !spec->variants[v].contender;
    return false;
}

/* Looks for a sample under the key of each device of the sweep. Devices with the same fields have the same key. If a
 * stored run was stopped early, and `bound` would not stop it again, the sample is not used. A sample that is used gets
 * the spec's path and comparison mark, so that later queries by path find it. If the store has an error, the log has a
 * message, and the sweep measures the sample. */
bool kiln__recorder_find(kiln__recorder *r, const kiln__identity *identity, double bound, kiln__arena *arena,
                         kiln_sample *sample, kiln_status *status, const char **message)
{
    if (!r || !reuses(r))
        return false;
    kiln__store_row row;
    bool found = false;
    kiln_error *why = NULL;
    for (size_t i = 0; i < r->device_count && !found; i++) {
        char key[33];
        if (i > 0 && strcmp(r->devices[i].fields, r->devices[i - 1].fields) == 0)
            continue;
        make_key(r, identity, i, key);
        if (kiln__store_find(r->store, key, arena, &row, &found, &why) != KILN_OK) {
            tell(r, false, why);
            return false;
        }
    }
    if (!found || died_before_marks(&row))
        return false;
    kiln_result result;
    kiln__store_row_result(&row, &result);
    if (result.stopped_early && !(bound > 0 && kiln__result_seconds(&result) > bound))
        return false;
    kiln__store_adopt(r->store, &row, r->path, is_comparison(r->spec, row.variant));
    note_taken(r, row.key);
    *kiln__tuning_result(sample) = result;
    if (result.finals)
        kiln__tuning_set_rounds(sample, row.times, row.time_count);
    sample->reused = 1;
    sample->device = row.device_id;
    *status = (kiln_status)row.status;
    *message = row.message;
    return true;
}

typedef struct recalling {
    const kiln__recorder *r;
    kiln__arena *arena;
    kiln__known *list;
    size_t count, capacity;
    bool failed;
} recalling;

static int recall_one(void *user, const kiln_record *record)
{
    recalling *all = user;
    const kiln__recorder *r = all->r;
    bool here = false;
    for (size_t i = 0; i < r->device_count; i++)
        here |= strcmp(record->device_id, r->devices[i].id) == 0;
    if (!here || !record->reusable || strcmp(record->run, r->run) != 0)
        return 0;
    if (!kiln__grow(r->engine->mem, &all->list, &all->capacity, all->count + 1, sizeof *all->list))
        return all->failed = true;
    all->list[all->count++] =
        (kiln__known){.variant = kiln__arena_strdup(all->arena, record->variant),
                      .params = kiln__settings_copy(all->arena, (kiln__settings){record->param_count, record->params}),
                      .seconds = record->status == KILN_OK ? kiln__result_seconds(record->result) : HUGE_VAL};
    return all->failed = all->arena->failed;
}

static int by_seconds(const void *left, const void *right)
{
    const kiln__known *a = left, *b = right;
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

kiln_status kiln__recorder_recall(kiln__recorder *r, kiln__settings sizes, kiln__arena *arena, kiln__known **list,
                                  size_t *count, kiln_error **error)
{
    enum { MOST = 1000 };
    *list = NULL;
    *count = 0;
    if (!r || !reuses(r))
        return KILN_OK;
    recalling all = {.r = r, .arena = arena};
    const kiln_store_filter filter = {
        .size = sizeof filter, .spec = r->spec->name, .sizes = sizes.items, .size_count = sizes.count};
    kiln_error *why = NULL;
    kiln_status status = kiln_store_list(r->store, &filter, recall_one, &all, &why);
    if (all.failed || status == KILN_ERROR_MEMORY) {
        kiln_error_free(why);
        kiln__free(r->engine->mem, all.list);
        return kiln__fail_memory(error);
    }
    if (status != KILN_OK)
        tell(r, false, why);
    if (all.count)
        qsort(all.list, all.count, sizeof *all.list, by_seconds);
    *list = all.list;
    *count = all.count < MOST ? all.count : MOST;
    return KILN_OK;
}

/* ---- samples of other devices or of other sizes ---- */

/* A group of samples of one device, which have the same sizes and were measured in the same way. */
typedef struct elsewhere {
    kiln__hash128 key;
    size_t count;
} elsewhere;

typedef struct expecting {
    const kiln__recorder *r;
    kiln__settings sizes; /* the sizes of the sweep */
    kiln__arena *arena;
    elsewhere *groups;
    size_t group_count, group_capacity;
    const elsewhere *chosen; /* the chosen group; NULL during the first pass, which counts the samples of each group */
    kiln__known *list;
    size_t count, capacity;
    const char *device; /* the device of the chosen group */
    bool failed;
} expecting;

static bool is_of_sweep(const kiln__recorder *r, const kiln_record *record, kiln__settings sizes)
{
    bool here = false, same = true;
    for (size_t i = 0; i < r->device_count; i++)
        here |= strcmp(record->device_id, r->devices[i].id) == 0;
    for (size_t i = 0; i < record->size_count && same; i++) {
        const kiln_setting *size = kiln__settings_find(sizes, record->sizes[i].name);
        same = size && kiln__value_equal(size->value, record->sizes[i].value);
    }
    return here && same;
}

static kiln__hash128 group_of(const kiln_allocator *mem, const kiln_record *record)
{
    kiln__text text = {.mem = mem};
    kiln__text_printf(&text, "%s\n%s\n", record->device_id, record->run);
    kiln__settings_print(&text, (kiln__settings){record->size_count, record->sizes});
    kiln__hash128 key = kiln__hash(kiln__text_get(&text), text.length);
    kiln__text_free(&text);
    return key;
}

/* Counts a record in its group. In the second pass, takes the record if it belongs to the chosen group. */
static int expect_one(void *user, const kiln_record *record)
{
    enum { MOST = 4096 };
    expecting *all = user;
    const kiln_allocator *mem = all->r->engine->mem;
    const bool timed = record->status == KILN_OK && (record->result->measured || record->result->estimated);
    if (!timed || is_of_sweep(all->r, record, all->sizes))
        return 0;
    kiln__hash128 key = group_of(mem, record);
    if (!all->chosen) {
        size_t i = 0;
        while (i < all->group_count && memcmp(&all->groups[i].key, &key, sizeof key) != 0)
            i++;
        if (!kiln__grow(mem, &all->groups, &all->group_capacity, i + 1, sizeof *all->groups))
            return all->failed = true;
        if (i == all->group_count)
            all->groups[all->group_count++] = (elsewhere){.key = key};
        all->groups[i].count++;
        return 0;
    }
    if (memcmp(&all->chosen->key, &key, sizeof key) != 0)
        return 0;
    if (!kiln__grow(mem, &all->list, &all->capacity, all->count + 1, sizeof *all->list))
        return all->failed = true;
    all->device = all->device ? all->device : kiln__arena_strdup(all->arena, record->device);
    all->list[all->count++] =
        (kiln__known){.variant = kiln__arena_strdup(all->arena, record->variant),
                      .params = kiln__settings_copy(all->arena, (kiln__settings){record->param_count, record->params}),
                      .seconds = kiln__result_seconds(record->result)};
    all->failed = all->arena->failed;
    return all->failed || all->count == MOST;
}

kiln_status kiln__recorder_expect(kiln__recorder *r, kiln__settings sizes, kiln__arena *arena, kiln__known **list,
                                  size_t *count, const char **device, kiln_error **error)
{
    enum { LEAST = 4 }; /* a group needs at least this number of samples, because fewer samples say too little */
    *list = NULL;
    *count = 0;
    if (!r || !reuses(r))
        return KILN_OK;
    expecting all = {.r = r, .sizes = sizes, .arena = arena};
    const kiln_store_filter filter = {.size = sizeof filter, .spec = r->spec->name};
    kiln_error *why = NULL;
    kiln_status status = kiln_store_list(r->store, &filter, expect_one, &all, &why);
    const elsewhere *most =
        NULL; /* the largest group; if several groups are equally large, the one of them that was begun last */
    for (size_t i = 0; i < all.group_count; i++)
        most = !most || all.groups[i].count >= most->count ? &all.groups[i] : most;
    all.chosen = most && most->count >= LEAST ? most : NULL;
    if (status == KILN_OK && all.chosen)
        status = kiln_store_list(r->store, &filter, expect_one, &all, &why);
    kiln__free(r->engine->mem, all.groups);
    if (all.failed || status == KILN_ERROR_MEMORY) {
        kiln_error_free(why);
        kiln__free(r->engine->mem, all.list);
        return kiln__fail_memory(error);
    }
    if (status != KILN_OK)
        tell(r, false, why);
    *list = all.list;
    *count = all.count;
    *device = all.device;
    return KILN_OK;
}

void kiln__recorder_times(kiln__recorder *r, const void *times, size_t count)
{
    if (!r || !kiln__grow(r->engine->mem, &r->times, &r->time_room, count, sizeof *r->times))
        return; /* memory ran out, so the sample is written without its times */
    if (count)
        memcpy(r->times, times, count * sizeof *r->times);
    r->time_count = count;
}

void kiln__recorder_features(kiln__recorder *r, const char *features)
{
    /* If files replace the contents of buffers, the features do not describe the contents that were used. */
    if (!r || !*features || kiln__tune_run(r->options)->input_count || strcmp(r->features, features) == 0)
        return;
    const char *kept = kiln__arena_strdup(&r->arena, features);
    r->features = kept ? kept : r->features;
}

kiln_status kiln__recorder_note(kiln__recorder *r, kiln_plan *plan, kiln_error **error)
{
    if (!r)
        return KILN_OK;
    size_t count;
    const double *times = kiln__plan_times(plan, &count);
    kiln__recorder_times(r, times, count);
    kiln__text features = {.mem = r->engine->mem};
    kiln_status status = kiln__trial_features(plan, &features, error);
    if (status == KILN_OK)
        kiln__recorder_features(r, kiln__text_get(&features));
    kiln__text_free(&features);
    return status;
}

/* Returns true for success, and for failures that the configuration causes and that would occur again. Returns false
 * for failures that depend on other causes: the state of the machine (a process that was killed, a time limit), limits
 * of the caller, or host code. */
static bool is_reusable(kiln_status status, const kiln_error *why)
{
    int cuda = kiln_error_cuda(why);
    if (kiln__error_is_passing(why))
        return false;
    switch (status) {
    case KILN_OK:
    case KILN_ERROR_COMPILE:
    case KILN_ERROR_LAUNCH:
    case KILN_ERROR_WRONG_ANSWER: return true;
    case KILN_ERROR_DEVICE: return cuda != CUDA_ERROR_LAUNCH_TIMEOUT && kiln__driver_is_sticky((CUresult)cuda);
    default: return false;
    }
}

/* Fills a row of the store from the sweep, the device number `at` and the sample. The row contains pointers to the data
 * of these objects, and no copies. A row without a source key cannot be reused, because the sample failed before its
 * source was known. */
static void fill_row(const kiln__recorder *r, const kiln__identity *identity, const kiln_sample *sample,
                     const recorder_device *at, const kiln_error *why, kiln__store_row *row)
{
    const kiln_device_info *info = &r->engine->info;
    *row = (kiln__store_row){
        .spec = r->spec->name,
        .variant = sample->variant,
        .sizes = r->sizes,
        .inputs = identity->inputs,
        .run = r->run,
        .device = info->name,
        .device_id = at->id,
        .uuid = at->uuid,
        .cc = r->cc,
        .driver = at->driver,
        .nvrtc = r->nvrtc,
        .kiln = KILN_VERSION,
        .source_key = identity->source,
        .status = sample->status,
        .message = sample->message,
        .features = r->features,
        .path = r->path,
        .host = at->host,
        .command = r->options->command ? r->options->command : "",
        .comparison = is_comparison(r->spec, sample->variant),
        .reusable = *identity->source && is_reusable(sample->status, why),
        .made = kiln__today_ns() / 1000,
        .times = r->times,
        .time_count = sample->status == KILN_OK ? r->time_count : 0,
    };
    kiln__store_row_set_result(row, sample->result);
}

void kiln__recorder_stored_times(kiln__recorder *r, const kiln__identity *identity, size_t place)
{
    kiln__store_row row;
    bool found = false;
    char key[33];
    if (!r)
        return;
    kiln__arena arena = {.mem = r->engine->mem};
    make_key(r, identity, place, key);
    if (*key && kiln__store_find(r->store, key, &arena, &row, &found, NULL) == KILN_OK && found)
        kiln__recorder_times(r, row.times, row.time_count);
    else
        kiln__recorder_times(r, NULL, 0);
    kiln__arena_free(&arena);
}

void kiln__recorder_add(kiln__recorder *r, const kiln__identity *identity, const kiln_sample *sample, size_t place,
                        const kiln_error *failure)
{
    if (!r)
        return;
    kiln__store_row row;
    kiln__text params = {.mem = r->engine->mem};
    kiln_error *why = NULL;
    kiln__settings_print(&params, KILN__PARAMS(sample));
    char key[33];
    make_key(r, identity, place, key);
    fill_row(r, identity, sample, &r->devices[place], failure, &row);
    row.key = key;
    row.params = kiln__text_get(&params);
    kiln_status status = params.failed || !*key ? kiln__fail_memory(&why) : kiln__store_add(r->store, &row, NULL, &why);
    r->lost += status != KILN_OK;
    if (status != KILN_OK)
        tell(r, true, why);
    kiln__text_free(&params);
    r->time_count = 0;
}
