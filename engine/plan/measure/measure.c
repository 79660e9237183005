/* measure.c - measures the time of the steps.
 *
 * On a GPU an event before each repetition and an event after it give the time of the repetition. The events are on the
 * default stream. The result is the median with its 95 % interval from order statistics. before_each runs between
 * repetitions, outside the events.
 *
 * Data of the last repetition may still be in the L2 cache. So if the plan's buffers would fit into the L2 cache, the
 * cache is flushed between repetitions, unless the caller forbids the flush. The flush also keeps the device busy while
 * the host enqueues the timed work, so that the time of the host does not lie between the events. Events resolve about
 * half a microsecond. If no flush and no other work is needed between repetitions, short repetitions are timed in
 * batches of at least 100 microseconds. The time of a repetition in a batch is the mean of the batch.
 *
 * Measuring ends early in two cases. First, if the caller gives a time above which to stop early, and the configuration
 * is clearly slower. Second, if the caller gives a time limit for the whole sample, and the limit is reached.
 *
 * On the simulated device only the time of the host can be measured, and the result reports it as such. The time that
 * the simulator estimates for a GPU comes from the verified run (run.c). */
#include <inttypes.h>
#include <string.h>

#include "layout_internal.h"
#include "limit_internal.h"
#include "measure_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"
#include "steps_internal.h"
#include "texture_internal.h"

enum { GROUP = 16, BATCH_MOST = 256, MOST_SAMPLES = 1000000 };
#define SHORT 20e-6
#define BATCH 100e-6
/* the precision is tested after repetitions that took this time together, or after GROUP repetitions */
#define GROUP_SECONDS 50e-3

/* Measuring stops early after one repetition of more than STOP_EARLY_ONCE times the bound, or after STOP_EARLY_COUNT
 * repetitions that are all above the bound. A GPU that was idle takes a few milliseconds to raise its clocks, so
 * measuring does not stop in the first STOP_EARLY_SECONDS. */
enum { STOP_EARLY_COUNT = 3 };
#define STOP_EARLY_ONCE 2
#define STOP_EARLY_SECONDS 5e-3

typedef struct timer {
    kiln_plan *plan;
    const kiln__driver *driver;
    CUevent start[GROUP], end[GROUP];
    unsigned events;
    bool flush;
    unsigned batch;
    double most; /* time limit in seconds from the plan's first launch; 0 means no limit */
    kiln__watch watch;
    kiln_error **error;
} timer;

static kiln_status failed(timer *t, CUresult result, const char *what)
{
    kiln__text label = {.mem = t->plan->mem};
    kiln__config_print(t->plan->config, &label);
    kiln_status status = kiln__limit_fail(t->plan, result, t->error, "%s while measuring %s %s", what,
                                          t->plan->spec->name, kiln__text_get(&label));
    kiln__text_free(&label);
    return status;
}

static kiln_status make_events(timer *t)
{
    for (; t->events < GROUP; t->events++) {
        CUresult result = t->driver->cuEventCreate_(&t->start[t->events], CU_EVENT_DEFAULT);
        if (result != CUDA_SUCCESS)
            return failed(t, result, "creating an event");
        result = t->driver->cuEventCreate_(&t->end[t->events], CU_EVENT_DEFAULT);
        if (result != CUDA_SUCCESS) {
            t->driver->cuEventDestroy_(t->start[t->events]);
            return failed(t, result, "creating an event");
        }
    }
    return KILN_OK;
}

static void free_events(timer *t)
{
    for (unsigned i = 0; i < t->events; i++) {
        t->driver->cuEventDestroy_(t->start[i]);
        t->driver->cuEventDestroy_(t->end[i]);
    }
}

/* Decides whether the L2 cache is flushed, and allocates the memory for the flush. */
static kiln_status prepare_flush(timer *t, unsigned flags)
{
    kiln__shared *shared = t->plan->shared;
    uint64_t l2 = t->plan->engine->info.l2_bytes, used = 0;
    for (size_t i = 0; i < t->plan->variant->buffer_count; i++)
        used += t->plan->buffers[i].bytes;
    t->flush = l2 > 0 && !(flags & KILN_RUN_KEEP_L2) && ((flags & KILN_RUN_FLUSH_L2) || used <= l2);
    if (!t->flush || shared->flush)
        return KILN_OK;
    CUresult result = t->driver->cuMemAlloc_(&shared->flush, (size_t)(2 * l2));
    if (result != CUDA_SUCCESS) {
        shared->flush = 0;
        return failed(t, result, "allocating memory to flush the L2");
    }
    shared->flush_bytes = 2 * l2;
    return KILN_OK;
}

/* Lets the caller renew the contents of buffers before a repetition. The flush of the L2 cache comes after this, so the
 * new contents are not in the cache. */
static kiln_status renew(kiln_plan *plan, kiln_error **error)
{
    if (!plan->renewal.renew)
        return KILN_OK;
    kiln__textures_stale(plan);
    return plan->renewal.renew(plan->renewal.user, error);
}

/* Enqueues one repetition between the two events of a slot. */
static kiln_status repetition(timer *t, unsigned slot)
{
    kiln_status status = renew(t->plan, t->error);
    if (status == KILN_OK)
        status = kiln__steps_enqueue(t->plan, true, NULL, t->error);
    CUresult result = CUDA_SUCCESS;
    if (status == KILN_OK && t->flush)
        result = t->driver->cuMemsetD8Async_(t->plan->shared->flush, 0, (size_t)t->plan->shared->flush_bytes, NULL);
    if (status == KILN_OK && result == CUDA_SUCCESS)
        result = t->driver->cuEventRecord_(t->start[slot], NULL);
    for (unsigned i = 0; i < t->batch && status == KILN_OK && result == CUDA_SUCCESS; i++)
        status = kiln__steps_enqueue(t->plan, false, NULL, t->error);
    if (status == KILN_OK && result == CUDA_SUCCESS)
        result = t->driver->cuEventRecord_(t->end[slot], NULL);
    return status == KILN_OK && result != CUDA_SUCCESS ? failed(t, result, "enqueueing a repetition") : status;
}

/* Measures `count` repetitions, and writes their times to samples[]. */
static kiln_status group(timer *t, unsigned count, double *samples)
{
    kiln_status status = KILN_OK;
    for (unsigned i = 0; i < count && status == KILN_OK; i++)
        status = repetition(t, i);
    if (status == KILN_OK)
        kiln__watch_look(&t->watch);
    CUresult result = status == KILN_OK ? kiln__limit_wait_event(t->plan, t->end[count - 1]) : CUDA_SUCCESS;
    for (unsigned i = 0; i < count && status == KILN_OK && result == CUDA_SUCCESS; i++) {
        float milliseconds = 0;
        result = t->driver->cuEventElapsedTime_(&milliseconds, t->start[i], t->end[i]);
        samples[i] = (double)milliseconds * 1e-3 / t->batch;
    }
    return status == KILN_OK && result != CUDA_SUCCESS ? failed(t, result, "waiting for a repetition") : status;
}

bool kiln__plan_keep_times(kiln_plan *plan, const double *times, size_t count)
{
    size_t had = plan->time_count;
    double *grown = kiln__realloc(plan->mem, plan->times, (had + count) * sizeof *grown);
    if (!grown)
        return false;
    memcpy(grown + had, times, count * sizeof *grown);
    plan->times = grown;
    plan->time_count = had + count;
    return true;
}

const double *kiln__plan_times(const kiln_plan *plan, size_t *count)
{
    *count = plan->time_count;
    return plan->times;
}

static bool is_clearly_slower(const double *samples, unsigned count, double spent, double bound)
{
    if (!(bound > 0) || count == 0 || spent < STOP_EARLY_SECONDS)
        return false;
    double shortest = samples[0];
    for (unsigned i = 1; i < count; i++)
        shortest = samples[i] < shortest ? samples[i] : shortest;
    return shortest > (count < STOP_EARLY_COUNT ? STOP_EARLY_ONCE : 1) * bound;
}

/* Returns whether another repetition of `each` seconds would end after the time that the sample may take. */
static bool is_over(const timer *t, double each)
{
    return t->most > 0 && kiln__seconds_since(t->plan->limit.begun) + each > t->most;
}

/* Runs a few repetitions for warming up, and chooses the batch size from their time. Sets *stop_early if the
 * measurement ends here, and the times of the warm-up are its result. This happens if these times are clearly above the
 * bound, or if there is no time for more repetitions. */
static kiln_status warm_up(timer *t, double budget, double bound, uint64_t start, double samples[STOP_EARLY_COUNT],
                           unsigned *count, bool *stop_early)
{
    kiln_status status = KILN_OK;
    double each = 0;
    t->batch = 1;
    *count = 0;
    *stop_early = false;
    while (*count < STOP_EARLY_COUNT && status == KILN_OK && !*stop_early &&
           (*count == 0 || bound > 0 || kiln__seconds_since(start) < 0.1 * budget)) {
        status = group(t, 1, &samples[*count]);
        each = samples[(*count)++];
        *stop_early = status == KILN_OK &&
                      (is_clearly_slower(samples, *count, kiln__seconds_since(start), bound) || is_over(t, each));
    }
    const bool alone = t->flush || t->plan->variant->before_count > 0 || t->plan->renewal.renew;
    if (status == KILN_OK && !alone && each < SHORT) {
        double want = BATCH / (each > 1e-7 ? each : 1e-7) + 1;
        t->batch = want < BATCH_MOST ? (unsigned)want : BATCH_MOST;
    }
    return status;
}

/* Measures groups of repetitions. Ends when the interval is within the precision, when the budget or the time of the
 * sample is over, or when a repetition shows that the configuration is too slow. */
static kiln_status sample(timer *t, const kiln_run_options *options, double *samples, unsigned most,
                          kiln_result *result)
{
    double budget = options->budget > 0 ? options->budget : 1;
    double precision = options->precision > 0 ? options->precision : 0.01, warm[STOP_EARLY_COUNT];
    unsigned least = options->min_repetitions ? options->min_repetitions : 7, count = 0, warmed = 0;
    bool stop_early = false;
    uint64_t start = kiln__now_ns();
    least = least < most ? least : most;
    kiln_status status = warm_up(t, budget, options->stop_early_above, start, warm, &warmed, &stop_early);
    if (status == KILN_OK && stop_early) {
        result->stopped_early = 1;
        result->repetitions = warmed;
        if (!kiln__plan_keep_times(t->plan, warm, warmed))
            return kiln__fail_memory(t->error);
        kiln__median(warm, warmed, &result->seconds, &result->seconds_low, &result->seconds_high);
        return KILN_OK;
    }
    while (status == KILN_OK && count < most) {
        double left = budget - kiln__seconds_since(start), cost = warm[warmed - 1] * t->batch + 1e-5;
        const double rest = t->most - kiln__seconds_since(t->plan->limit.begun);
        left = left < GROUP_SECONDS ? left : GROUP_SECONDS;
        left = t->most > 0 && rest < left ? rest : left;
        unsigned take = left / cost >= GROUP ? GROUP : left > cost ? (unsigned)(left / cost) : 1;
        take = take < most - count ? take : most - count;
        if (count == 0 && take < GROUP && take < least && !(t->most > 0 && rest < least * cost))
            take = least < GROUP ? least
                                 /* the first group has the minimum number of repetitions, unless the sample has no time
                                  * for them */
                                 : GROUP;
        status = group(t, take, samples + count);
        if (status != KILN_OK)
            break;
        /* keeps the times in the order of measurement, before the median sorts them */
        if (!kiln__plan_keep_times(t->plan, samples + count, take))
            return kiln__fail_memory(t->error);
        count += take;
        kiln__median(samples, count, &result->seconds, &result->seconds_low, &result->seconds_high);
        bool precise = result->seconds_high - result->seconds_low <= 2 * precision * result->seconds;
        if (count >= least && (precise || kiln__seconds_since(start) >= budget))
            break;
        if (is_over(t, warm[warmed - 1] * t->batch))
            break;
    }
    result->repetitions = count;
    result->stopped_early = count < least;
    return status;
}

void kiln__plan_roofline(const kiln_plan *plan, kiln_result *result)
{
    const kiln_device_info *info = &plan->engine->info;
    const double peak = kiln__peak_flops(info, plan->unit);
    double compute = peak > 0 ? result->flops / peak : 0;
    double memory = info->peak_bandwidth > 0 ? result->bytes / info->peak_bandwidth : 0;
    result->roofline_unit = plan->unit;
    result->roofline = result->seconds > 0 ? (compute > memory ? compute : memory) / result->seconds : 0;
}

static kiln_status measure_here(timer *t, const kiln_run_options *options, double *samples, unsigned most,
                                kiln_result *result)
{
    kiln__watch_begin(&t->watch, t->plan->engine);
    kiln_status status = sample(t, options, samples, most, result);
    if (status != KILN_OK)
        return status;
    kiln__watch_end(&t->watch, result);
    return options->flags & KILN_RUN_ENERGY ? kiln__plan_energy(t->plan, &t->watch, result, t->error) : KILN_OK;
}

static kiln_status on_device(kiln_plan *plan, const kiln_run_options *options, kiln_result *result, kiln_error **error)
{
    timer t = {.plan = plan, .driver = &plan->engine->driver, .most = options->most_seconds, .error = error};
    unsigned most = options->max_repetitions ? options->max_repetitions : 1000;
    most = most < MOST_SAMPLES ? most : MOST_SAMPLES;
    double *samples = kiln__calloc(plan->mem, most, sizeof *samples);
    if (!samples)
        return kiln__fail_memory(error);
    pthread_mutex_lock(&plan->engine->measuring);
    kiln_status status = make_events(&t);
    if (status == KILN_OK)
        status = prepare_flush(&t, options->flags);
    if (status == KILN_OK)
        status = measure_here(&t, options, samples, most, result);
    free_events(&t);
    pthread_mutex_unlock(&plan->engine->measuring);
    kiln__free(plan->mem, samples);
    if (status != KILN_OK)
        return status;
    result->measured = 1;
    kiln__plan_roofline(plan, result);
    return KILN_OK;
}

/* Measures the steps with the clock of the host, for a simulated device. The verified run counts as the first
 * repetition. Repeats the steps only if the caller gives the number of repetitions or a budget. */
static kiln_status on_host(kiln_plan *plan, const kiln_run_options *options, double first, kiln_result *result,
                           kiln_error **error)
{
    unsigned most = options->max_repetitions ? options->max_repetitions : 1000, count = 1;
    unsigned least = options->min_repetitions;
    double low, high;
    uint64_t start = kiln__now_ns();
    kiln_status status = KILN_OK;
    if ((options->budget <= 0 && least == 0) || (options->flags & KILN_RUN_NO_MEASURE))
        most = 1;
    most = most < MOST_SAMPLES ? most : MOST_SAMPLES;
    double *samples = kiln__calloc(plan->mem, most, sizeof *samples);
    if (!samples)
        return kiln__fail_memory(error);
    samples[0] = first;
    while (status == KILN_OK && count < most &&
           (count < least || kiln__seconds_since(start) + first < options->budget)) {
        const bool over = options->most_seconds > 0 &&
                          kiln__seconds_since(plan->limit.begun) + first > options->most_seconds;
        if (over || is_clearly_slower(samples, count, first + kiln__seconds_since(start), options->stop_early_above)) {
            result->stopped_early = !over || count < least;
            break;
        }
        status = renew(plan, error);
        if (status == KILN_OK)
            status = kiln__steps_enqueue(plan, true, NULL, error);
        if (status == KILN_OK)
            kiln__limit_wait_all(plan);
        uint64_t from = kiln__now_ns();
        if (status == KILN_OK)
            status = kiln__steps_enqueue(plan, false, NULL, error);
        CUresult done = status == KILN_OK ? kiln__limit_wait_all(plan) : CUDA_SUCCESS;
        if (done != CUDA_SUCCESS)
            status = kiln__limit_fail(plan, done, error, "running %s again", plan->spec->name);
        if (status == KILN_OK)
            status = kiln__limit_check(plan, error);
        samples[count++] = kiln__seconds_since(from);
    }
    if (status == KILN_OK && !kiln__plan_keep_times(plan, samples, count))
        status = kiln__fail_memory(error);
    kiln__median(samples, count, &result->host_seconds, &low, &high);
    kiln__free(plan->mem, samples);
    result->repetitions = count;
    return status;
}

/* Makes the result of a run that is not repeated, from the wall time of its steps. On a GPU this wall time contains the
 * first launch of each kernel, but the run takes far longer than a first launch. */
kiln_status kiln__plan_cut(kiln_plan *plan, double first, kiln_result *result, kiln_error **error)
{
    const bool simulated = plan->engine->info.simulated;
    /* an estimate is for one run, so it has no further repetitions that could be missing */
    result->stopped_early = !result->estimated;
    result->repetitions = 1;
    if (simulated)
        result->host_seconds = first;
    else
        result->seconds = result->seconds_low = result->seconds_high = first;
    if (!simulated) {
        result->measured = 1;
        kiln__plan_roofline(plan, result);
    }
    return kiln__plan_keep_times(plan, &first, 1) ? KILN_OK : kiln__fail_memory(error);
}

kiln_status kiln__plan_measure(kiln_plan *plan, const kiln_run_options *options, double first, kiln_result *result,
                               kiln_error **error)
{
    return plan->engine->info.simulated ? on_host(plan, options, first, result, error)
                                        : on_device(plan, options, result, error);
}

double kiln__result_seconds(const kiln_result *result)
{
    return result->measured || result->estimated ? result->seconds : result->host_seconds;
}
