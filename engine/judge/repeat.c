/* repeat.c - gives the timed repetitions of a kernel new inputs, and checks the answers of some repetitions.
 *
 * A kernel that keeps the answer of its first call, or that counts its calls, is fast if it is called repeatedly with
 * the same inputs. So every repetition gets new inputs and poisoned outputs, and so do the repetitions that only warm
 * the device up. To draw all inputs anew on the host would take too long. Therefore each random input has a longer
 * array on the device, its master array. Each repetition copies a randomly chosen window of the master array into the
 * input. The copy keeps the distribution of the input, and changes all sums.
 *
 * After each repetition the judge copies a few short pieces of the outputs to a log on the device. After the
 * measurement the judge chooses some repetitions at random, computes their expected answers, and compares the pieces in
 * the log. The clock decides which repetitions are chosen, so the candidate cannot predict them. A kernel that is wrong
 * in only few repetitions may therefore get different verdicts.
 *
 * A reference on the host may take minutes for one answer at these sizes. If the reference is on the host, the judge
 * makes one more call with other inputs instead. kiln_plan_run() checks a sample or sums of its answer. The kernel
 * cannot distinguish this additional call from a repetition.
 *
 * Inputs from files and host functions, constants and `iota` are the same in all repetitions. */
#include <inttypes.h>
#include <string.h>

#include "judge_internal.h"

enum {
    PLACES = 4,    /* the number of pieces of each output that the log holds for one repetition */
    PLACE = 64,    /* the largest number of elements in a piece */
    LOGGED = 1024, /* the number of repetitions in the log; a later repetition replaces the oldest one */
    /* The number of repetitions whose answers are compared, if their references take at most COMPARED_SECONDS. */
    COMPARED = 8,
    /* a window of a master array begins at a multiple of this number of bytes, like an allocation */
    WINDOW_BYTES = 256,
    LONGER_LEAST = 1 << 16, /* a master array is longer than its input by LONGER_LEAST to LONGER_MOST elements */
    LONGER_MOST = 1 << 20
};
#define COMPARED_SECONDS 2.0

/* The values that one buffer gets in the repetitions. */
typedef struct source {
    /* A copy of the master array on the host. If `data` is NULL, the buffer gets poison, or keeps its bytes. */
    kiln_array content;
    CUdeviceptr master; /* the master array on the device; 0 means that nothing is copied into the buffer */
    uint64_t windows;   /* the number of different windows of the master array */
    uint64_t step;      /* the number of elements between the starts of two neighbouring windows */
} source;

struct kiln__judge_repeats {
    kiln__judge *judge;
    kiln__judge_trial trial; /* the sizes of the repetitions */
    source *sources;         /* the sources of the values, one source for each buffer */
    CUdeviceptr log;
    size_t record; /* the number of bytes in the log for one repetition */
    bool renews;   /* true if at least one input has new values in each repetition */
    /* The members below belong to the measurement that is in progress. */
    kiln_plan *plan;
    unsigned begun; /* the number of repetitions so far; it includes the repetitions that only warm the device up */
};

static const kiln__driver *driver_of(const kiln__judge_repeats *r) { return &r->judge->engine->driver; }

/* Returns a random number that depends only on the seed, the repetition and the number `what`. */
static uint64_t draw(const kiln__judge_repeats *r, unsigned repetition, size_t what)
{
    return kiln__random_mix(kiln__random_mix(r->trial.seed + repetition) + what);
}

/* Returns the first element of the window that a repetition copies into a buffer. */
static uint64_t find_window(const kiln__judge_repeats *r, unsigned repetition, size_t buffer)
{
    const source *s = &r->sources[buffer];
    return draw(r, repetition, buffer) % s->windows * s->step;
}

/* Returns the first element of a piece of the output that entry `v` of the spec's key `verify` names. *count gets the
 * number of elements in the piece. */
static uint64_t find_place(const kiln__judge_repeats *r, unsigned repetition, size_t v, unsigned place,
                           const kiln__once_buffer *b, uint64_t *count)
{
    *count = b->elements < PLACE ? b->elements : PLACE;
    return draw(r, repetition, r->judge->buffer_count + v * PLACES + place) % (b->elements - *count + 1);
}

/* ---- work between two repetitions ---- */

/* Copies some pieces of each output to the log. The outputs still hold the answer of the last repetition. */
static CUresult log_answer(const kiln__judge_repeats *r, unsigned repetition)
{
    const kiln__judge *judge = r->judge;
    CUdeviceptr to = r->log + repetition % LOGGED * r->record, at;
    CUresult result = CUDA_SUCCESS;
    for (size_t v = 0; v < judge->spec->verify_count; v++) {
        const size_t i = kiln__judge_find_output(judge, v), size = kiln__type_bytes(judge->buffers[i].type);
        kiln__once_holder(r->plan, i, &at);
        for (unsigned place = 0; place < PLACES && judge->buffers[i].bytes && result == CUDA_SUCCESS; place++) {
            uint64_t count;
            const uint64_t first = find_place(r, repetition, v, place, &judge->buffers[i], &count);
            result = driver_of(r)->cuMemcpyDtoDAsync_(to, at + first * size, count * size, NULL);
            to += PLACE * size;
        }
    }
    return result;
}

/* Returns the memory that the buffer `i` has before the first step of the plan. A `swap` step may later give this
 * memory to another buffer. */
static CUdeviceptr find_memory(const kiln__judge_repeats *r, size_t i)
{
    CUdeviceptr at = 0;
    for (size_t k = 0; k < r->judge->buffer_count; k++)
        if (kiln__once_holder(r->plan, k, &at) == i)
            return at;
    return 0;
}

/* Writes the inputs of a repetition, and writes poison to buffers without a fill. Two kinds of buffers keep their
 * bytes, as between two calls. One kind is an input that is not random and that no kernel may change. The other kind is
 * scratch memory with a fill. */
static CUresult write_contents(const kiln__judge_repeats *r, unsigned repetition)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < r->judge->buffer_count && result == CUDA_SUCCESS; i++) {
        const kiln__once_buffer *b = &r->judge->buffers[i];
        const source *s = &r->sources[i];
        if (b->bytes == 0)
            continue;
        if (s->master)
            result = driver_of(r)->cuMemcpyDtoDAsync_(
                find_memory(r, i), s->master + find_window(r, repetition, i) * kiln__type_bytes(b->type), b->bytes,
                NULL);
        else if (b->buffer->fill.kind == KILN__FILL_NONE)
            result = driver_of(r)->cuMemsetD8Async_(find_memory(r, i),
                                                    (unsigned char)(1 + draw(r, repetition, i) % 255), b->bytes, NULL);
    }
    return result;
}

static kiln_status renew(void *user, kiln_error **error)
{
    kiln__judge_repeats *r = user;
    CUresult result = r->begun ? log_answer(r, r->begun - 1) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = write_contents(r, r->begun);
    r->begun++;
    return result == CUDA_SUCCESS
               ? KILN_OK
               : kiln__driver_fail(driver_of(r), r->judge->mem, result, error, "renewing the contents of a repetition");
}

/* ---- checking the answers ---- */

/* Puts the inputs of a repetition into judge->places, from which the references read them. If `repetition` is NULL,
 * removes these inputs from judge->places. */
static void lend_contents(const kiln__judge_repeats *r, const unsigned *repetition)
{
    for (size_t i = 0; i < r->judge->buffer_count; i++) {
        const kiln__once_buffer *b = &r->judge->buffers[i];
        kiln_array *to = &r->judge->places[i].content;
        *to = (kiln_array){.type = b->type, .dims = b->dims};
        memcpy(to->shape, b->shape, sizeof to->shape);
        if (repetition && r->sources[i].content.data)
            to->data = (char *)r->sources[i].content.data + find_window(r, *repetition, i) * kiln__type_bytes(b->type);
    }
}

/* Compares the logged pieces of a repetition with its expected answer, which the caller has computed. */
static void compare_places(const kiln__judge_repeats *r, unsigned repetition, const char *record,
                           kiln__judge_fault *fault)
{
    kiln__judge *judge = r->judge;
    for (size_t v = 0; v < judge->spec->verify_count; v++) {
        const size_t i = kiln__judge_find_output(judge, v), size = kiln__type_bytes(judge->buffers[i].type);
        const kiln__once_buffer *b = &judge->buffers[i];
        for (unsigned place = 0; place < PLACES && b->bytes && fault->kind == KILN_JUDGED_PASS; place++) {
            kiln__judge_window window = {.got = record};
            window.first = find_place(r, repetition, v, place, b, &window.count);
            window.want = (const char *)judge->expected[v].want.data + window.first * size;
            kiln__judge_compare_window(judge, b, &window, &judge->expected[v], 1, fault);
            record += PLACE * size;
        }
    }
    if (fault->kind == KILN_JUDGED_PASS)
        return;
    fault->kind = KILN_JUDGED_STATE;
    fault->message = kiln__judge_print(judge, "timed repetition %u at the sizes '%s': %s", repetition + 1,
                                       judge->spec->size_sets[r->trial.set].name, fault->message);
}

/* Chooses repetitions at random, and compares their answers with the answers of reference variants. If a reference
 * cannot run at these sizes, a note says that no answer was compared. */
static kiln_status compare_answers(kiln__judge_repeats *r, kiln__judge_fault *fault, kiln_error **error)
{
    kiln__judge *judge = r->judge;
    const unsigned kept = r->begun < LOGGED ? r->begun : LOGGED;
    const uint64_t start = kiln__now_ns();
    kiln_status status = KILN_OK;
    char *record = kiln__alloc(judge->mem, r->record + 1);
    if (!record)
        return kiln__fail_memory(error);
    for (unsigned n = 0; n < COMPARED && kept && status == KILN_OK && fault->kind == KILN_JUDGED_PASS &&
                         (n == 0 || kiln__seconds_since(start) < COMPARED_SECONDS);
         n++) {
        const unsigned repetition = r->begun - 1 - (unsigned)(kiln__random_mix(r->trial.seed ^ (start + n)) % kept);
        kiln_error *why = NULL;
        CUresult result = driver_of(r)->cuMemcpyDtoH_(record, r->log + repetition % LOGGED * r->record, r->record);
        if (result != CUDA_SUCCESS) {
            status = kiln__driver_fail(driver_of(r), judge->mem, result, error, "reading the answers of repetitions");
            break;
        }
        lend_contents(r, &repetition);
        status = kiln__judge_expect(judge, &r->trial, &why);
        lend_contents(r, NULL);
        if (status == KILN_OK) {
            compare_places(r, repetition, record, fault);
        } else if (status == KILN_ERROR_MEMORY) {
            status = kiln__fail_memory(error);
        } else {
            kiln__judge_note(judge, kiln__judge_print(judge, "no answer of a timed repetition was compared: %s",
                                                      kiln_error_message(why)));
            status = KILN_OK;
            n = COMPARED;
        }
        kiln_error_free(why);
    }
    kiln__judge_drop_expected(judge);
    for (size_t v = 0; v < judge->spec->verify_count && !judge->broken; v++)
        kiln__once_release(judge->references[v].plan);
    kiln__free(judge->mem, record);
    return status;
}

/* Makes one more call with other inputs in the memory of the repetitions. The function kiln_plan_run() checks its
 * answer. If the spec says so, it checks only a sample or sums of the answer. */
static kiln_status check_next(kiln__judge_repeats *r, kiln__judge_fault *fault, kiln_error **error)
{
    kiln__judge *judge = r->judge;
    const kiln_run_options options = {
        .size = sizeof options, .flags = KILN_RUN_NO_MEASURE, .sample_timeout = judge->options.launch_limit};
    const kiln_result *result = NULL;
    kiln_error *why = NULL;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < judge->buffer_count && status == KILN_OK; i++) {
        const kiln__once_buffer *b = &judge->buffers[i];
        const source *s = &r->sources[i];
        if (s->master)
            status =
                kiln_plan_write(r->plan, b->buffer->name,
                                (const char *)s->content.data + find_window(r, r->begun, i) * kiln__type_bytes(b->type),
                                (size_t)b->bytes, &why);
    }
    if (status == KILN_OK)
        status = kiln_plan_run(r->plan, &options, &result, &why);
    if (status == KILN_ERROR_WRONG_ANSWER) {
        *fault = (kiln__judge_fault){.kind = KILN_JUDGED_STATE};
        fault->message = kiln__judge_print(judge, "the call after the timed repetitions, at the sizes '%s': %s",
                                           judge->spec->size_sets[r->trial.set].name, kiln_error_message(why));
    } else if (status != KILN_OK && status != KILN_ERROR_MEMORY) {
        judge->broken = driver_of(r)->cuCtxSynchronize_() != CUDA_SUCCESS;
        kiln__judge_note(judge, kiln__judge_print(judge, "no answer of a timed repetition was compared: %s",
                                                  kiln_error_message(why)));
    }
    kiln_error_free(why);
    if (!judge->broken)
        kiln__once_release(r->plan);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* ---- opening and closing ---- */

void kiln__judge_close_repeats(kiln__judge_repeats *r)
{
    for (size_t i = 0; r && r->sources && i < r->judge->buffer_count; i++) {
        if (r->sources[i].master && !r->judge->broken)
            driver_of(r)->cuMemFree_(r->sources[i].master);
        kiln__array_free(r->judge->mem, &r->sources[i].content);
    }
    if (!r)
        return;
    if (r->log && !r->judge->broken)
        driver_of(r)->cuMemFree_(r->log);
    kiln__free(r->judge->mem, r->sources);
    kiln__free(r->judge->mem, r);
}

/* Makes the input values and the master array of the buffer `i`. If the memory of the device is too small, *fits is
 * false. */
static kiln_status make_source(kiln__judge_repeats *r, size_t i, bool *fits, kiln_error **error)
{
    kiln__judge *judge = r->judge;
    const kiln__once_buffer whole = judge->buffers[i];
    kiln__once_buffer *b = &judge->buffers[i];
    const kiln__fill_kind kind = b->buffer->fill.kind;
    const size_t size = kiln__type_bytes(b->type);
    source *s = &r->sources[i];
    const bool random = kind == KILN__FILL_UNIFORM || kind == KILN__FILL_NORMAL || kind == KILN__FILL_ZIPF;
    s->windows = 1;
    s->step = WINDOW_BYTES / size;
    if (!b->of_spec || b->bytes == 0 || kind == KILN__FILL_NONE)
        return KILN_OK;
    if (random) {
        uint64_t longer = b->elements < LONGER_LEAST ? LONGER_LEAST : b->elements;
        longer = longer > LONGER_MOST ? LONGER_MOST : longer;
        s->windows = longer / s->step;
        b->dims = 1;
        b->shape[0] = b->elements += longer;
        b->bytes += longer * size;
        r->renews = true;
    }
    kiln_status status = kiln__judge_content(judge, i, KILN__JUDGE_FILL, r->trial.seed + i, &s->content, error);
    const size_t bytes = (size_t)b->bytes;
    judge->buffers[i] = whole;
    if (status != KILN_OK || (!random && whole.keeps) || !s->content.data)
        return status;
    if (driver_of(r)->cuMemAlloc_(&s->master, bytes) != CUDA_SUCCESS) {
        s->master = 0;
        *fits = false;
        return KILN_OK;
    }
    CUresult result = driver_of(r)->cuMemcpyHtoD_(s->master, s->content.data, bytes);
    return result == CUDA_SUCCESS
               ? KILN_OK
               : kiln__driver_fail(driver_of(r), judge->mem, result, error, "writing buffer %s", b->buffer->name);
}

/* Makes the input values of all buffers, and the log. *fits is false if the memory of the device is too small, or if
 * the input values cannot be made at these sizes. */
static kiln_status make_sources(kiln__judge_repeats *r, bool *fits, kiln_error **error)
{
    kiln__judge *judge = r->judge;
    for (size_t i = 0; i < judge->buffer_count && *fits; i++) {
        kiln_error *why = NULL;
        kiln_status status = make_source(r, i, fits, &why);
        if (status == KILN_ERROR_HOST_FUNCTION || status == KILN_ERROR_SPEC) {
            *fits = false;
            status = KILN_OK;
        }
        if (status == KILN_OK) {
            kiln_error_free(why);
            continue;
        }
        if (error)
            *error = why;
        else
            kiln_error_free(why);
        return status;
    }
    for (size_t v = 0; v < judge->spec->verify_count; v++)
        r->record += (size_t)PLACES * PLACE * kiln__type_bytes(judge->buffers[kiln__judge_find_output(judge, v)].type);
    if (*fits && driver_of(r)->cuMemAlloc_(&r->log, LOGGED * r->record) != CUDA_SUCCESS) {
        r->log = 0;
        *fits = false;
    }
    return KILN_OK;
}

kiln_status kiln__judge_open_repeats(kiln__judge *judge, size_t set, kiln__judge_repeats **repeats, kiln_error **error)
{
    kiln__judge_fault fault = {.kind = KILN_JUDGED_PASS};
    bool fits;
    *repeats = NULL;
    kiln__judge_repeats *r = kiln__calloc(judge->mem, 1, sizeof *r);
    int64_t *ranged = kiln__arena_alloc(&judge->arena, (judge->range_count + 1) * sizeof *ranged);
    if (r) {
        r->judge = judge;
        r->sources = kiln__calloc(judge->mem, judge->buffer_count + 1, sizeof *r->sources);
    }
    if (!r || !ranged || !r->sources) {
        kiln__judge_close_repeats(r);
        return kiln__fail_memory(error);
    }
    for (size_t i = 0; i < judge->range_count; i++) {
        const kiln_setting *size = kiln__settings_find(judge->spec->size_sets[set].settings, judge->ranges[i].name);
        ranged[i] = size ? size->value.as.i : judge->ranges[i].from;
    }
    r->trial = (kiln__judge_trial){.phase = KILN__JUDGE_PHASE_TIMES,
                                   .ranged = ranged,
                                   .set = set,
                                   .class = KILN__JUDGE_FILL,
                                   .seed = kiln__random_mix(judge->options.seed + 0x7e9ea7)};
    kiln_status status = kiln__judge_resize(judge, &r->trial, &fits, &fault, error);
    fits = fits && fault.kind == KILN_JUDGED_PASS;
    if (status == KILN_OK && fits)
        status = make_sources(r, &fits, error);
    if (status != KILN_OK || !fits) {
        if (status == KILN_OK)
            kiln__judge_note(
                judge, "the inputs of all timed repetitions are equal, and their answers were not compared, because "
                       "the memory is too small for other inputs or the reference cannot run at these sizes");
        kiln__judge_close_repeats(r);
        return status;
    }
    if (!r->renews)
        kiln__judge_note(judge,
                         "the inputs of all timed repetitions are equal, because no input of the spec is random");
    *repeats = r;
    return KILN_OK;
}

void kiln__judge_begin_repeats(kiln__judge_repeats *r, kiln_plan *plan)
{
    r->plan = plan;
    r->begun = 0;
    kiln__plan_renew(plan, (kiln__renewal){renew, r});
}

kiln_status kiln__judge_end_repeats(kiln__judge_repeats *r, bool measured, kiln__judge_fault *fault, kiln_error **error)
{
    kiln__plan_renew(r->plan, (kiln__renewal){NULL, NULL});
    if (!measured || r->begun == 0)
        return KILN_OK;
    for (size_t v = 0; v < r->judge->spec->verify_count; v++)
        if (!r->judge->references[v].plan)
            return check_next(r, fault, error);
    CUresult result = log_answer(r, r->begun - 1);
    if (result == CUDA_SUCCESS)
        result = driver_of(r)->cuCtxSynchronize_();
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(driver_of(r), r->judge->mem, result, error, "reading the answers of repetitions");
    return compare_answers(r, fault, error);
}
