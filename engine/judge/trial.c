/* trial.c - runs one trial: allocates memory with guard zones, writes the inputs, runs the kernel, and searches the
 * memory for faults.
 *
 * A trial runs the kernel twice in the same memory. Before the first run, outputs, scratch memory and guard zones get
 * random bytes (poison). Before the second run they get the complements of these bytes. If an element has these bytes
 * after both runs, the kernel never wrote it. If a kernel computes with such bytes, its two runs give different
 * numbers.
 *
 * Under the checks of the simulated device, the kernel runs only once. Each buffer is then an allocation of exactly its
 * size without guard zones, so that the checks find accesses beyond its ends. */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "judge_internal.h"

enum {
    GUARD = 1024, /* the number of bytes in a guard zone */
    FAR = 1 << 21 /* 2 MiB, the alignment that the large arrays of programs have */
};

/* ---- memory ---- */

static void free_places(kiln__judge *judge)
{
    for (size_t i = 0; i < judge->buffer_count; i++) {
        kiln__judge_place *p = &judge->places[i];
        if (p->base && !judge->broken)
            judge->engine->driver.cuMemFree_(p->base);
        if (p->content.data)
            kiln__array_free(judge->mem, &p->content);
        kiln__free(judge->mem, p->image);
        kiln__free(judge->mem, p->got);
        kiln__free(judge->mem, p->first);
        *p = (kiln__judge_place){0};
    }
}

/* Returns the number of bytes by which a trial moves a buffer from an aligned address. It is a multiple of the buffer's
 * alignment and of its element size. If `shift` is a number from 1 to the number of buffers, all buffers except buffer
 * shift - 1 move. A kernel that tests the alignment of only this one buffer then accesses the other buffers wrongly. If
 * `shift` is larger, each buffer moves at random. */
static size_t get_shift(const kiln__judge *judge, const kiln__judge_trial *trial, size_t buffer)
{
    const kiln__once_buffer *b = &judge->buffers[buffer];
    const kiln__assumption *a = b->of_spec ? kiln__judge_assumption(judge, b->buffer->name) : NULL;
    const size_t align = a ? (size_t)a->align : 256, size = kiln__type_bytes(b->type);
    const uint64_t by = trial->shift == 0                     ? 0
                        : trial->shift <= judge->buffer_count ? trial->shift != buffer + 1
                                                              : kiln__random_mix(64 * trial->shift + buffer) % 8;
    return (size_t)by * (align > size ? align : size) % 256;
}

/* Returns the number of bytes by which a trial moves a buffer in addition to get_shift(). It is a multiple of 256, the
 * alignment of every allocation. A kernel may treat addresses with certain bits differently, and only some allocations
 * have such addresses. Every eighth trial also changes higher bits of the addresses. */
static size_t get_distance(const kiln__judge_trial *trial, size_t buffer)
{
    enum { UNIT = 256, FEW = 16, MANY = 256 };
    return UNIT * (size_t)(kiln__random_mix(trial->seed + 999 * buffer) % (trial->seed % 8 ? FEW : MANY));
}

/* Allocates device memory for all buffers, and binds it to the plan. */
static kiln_status place_buffers(kiln__judge *judge, kiln_plan *plan, const kiln__judge_trial *trial,
                                 kiln_error **error)
{
    for (size_t i = 0; i < judge->buffer_count; i++) {
        kiln__judge_place *p = &judge->places[i];
        const kiln__once_buffer *b = &judge->buffers[i];
        const size_t guard = trial->checked ? 0 : GUARD;
        p->lead = trial->checked ? 0
                  : trial->far   ? GUARD + FAR
                                 : GUARD + get_distance(trial, i) + get_shift(judge, trial, i);
        p->total = p->lead + (size_t)b->bytes + guard;
        p->image = kiln__alloc(judge->mem, p->total + 1);
        p->got = kiln__alloc(judge->mem, (size_t)b->bytes + 1);
        p->first = kiln__alloc(judge->mem, (size_t)b->bytes + 1);
        if (!p->image || !p->got || !p->first)
            return kiln__fail_memory(error);
        if (b->bytes == 0)
            continue;
        CUresult result = judge->engine->driver.cuMemAlloc_(&p->base, p->total);
        if (result != CUDA_SUCCESS) {
            p->base = 0;
            return kiln__driver_fail(&judge->engine->driver, judge->mem, result, error, "memory for buffer %s",
                                     b->buffer->name);
        }
        if (trial->far)
            p->lead = (size_t)((p->base + p->lead) / FAR * FAR - p->base);
        p->at = p->base + p->lead;
        KILN__TRY(kiln_plan_bind(plan, b->buffer->name, p->at, (size_t)b->bytes, error));
    }
    return KILN_OK;
}

/* Writes random bytes. If `pass` is 1, writes the complements of the bytes that `pass` 0 writes. The loop copies 8
 * bytes at a time, because such a copy needs no call of a function. */
static void write_pattern(unsigned char *to, size_t bytes, uint64_t seed, unsigned pass)
{
    kiln__random random = {seed};
    const uint64_t flips = pass ? UINT64_MAX : 0;
    const size_t whole = bytes / 8 * 8;
    uint64_t word;
    for (size_t i = 0; i < whole; i += 8) {
        word = kiln__random_next(&random) ^ flips;
        memcpy(to + i, &word, 8);
    }
    if (whole < bytes) {
        word = kiln__random_next(&random) ^ flips;
        memcpy(to + whole, &word, bytes - whole);
    }
}

/* Writes all buffers before a call. If `again` is true, scratch memory with a fill keeps the bytes that the previous
 * call left there. */
static kiln_status write_buffers(kiln__judge *judge, const kiln__judge_trial *trial, unsigned pass, bool again,
                                 kiln_error **error)
{
    for (size_t i = 0; i < judge->buffer_count; i++) {
        kiln__judge_place *p = &judge->places[i];
        const kiln__once_buffer *b = &judge->buffers[i];
        if (b->bytes == 0 || (again && !b->of_spec && p->content.data))
            continue;
        write_pattern(p->image, p->total, kiln__random_mix(trial->seed + 77 * i), pass);
        if (p->content.data)
            memcpy(p->image + p->lead, p->content.data, (size_t)b->bytes);
        CUresult result = judge->engine->driver.cuMemcpyHtoD_(p->base, p->image, p->total);
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(&judge->engine->driver, judge->mem, result, error, "writing buffer %s",
                                     b->buffer->name);
        if (trial->checked && !p->content.data)
            judge->engine->driver.simulator->check_forget(p->at, b->bytes);
    }
    return KILN_OK;
}

void kiln__judge_note_outside(kiln__judge *judge, const kiln__once_buffer *b, int64_t offset, kiln__judge_fault *fault)
{
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_OUTSIDE, .buffer = b->buffer->name};
    fault->message = offset < 0 ? kiln__judge_print(judge, "memory %" PRId64 " bytes before %s was written", -offset,
                                                    b->buffer->name)
                                : kiln__judge_print(judge, "memory %" PRId64 " bytes after the end of %s was written",
                                                    offset, b->buffer->name);
}

static void note_input(kiln__judge *judge, size_t i, kiln__judge_fault *fault)
{
    const kiln__once_buffer *b = &judge->buffers[i];
    kiln__change change = {0};
    kiln__array_changed(b->buffer->name, &judge->places[i].content, judge->places[i].got, 0, b->elements, &change);
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_INPUT, .buffer = b->buffer->name, .wrong = change.count};
    fault->of = b->elements;
    fault->message = kiln__judge_print(judge, "%s", change.text);
}

/* Reads the memory of the buffer `i`, and checks its guard zones. A guard zone may have two megabytes, so memcmp()
 * first tells whether any byte has changed. If `swap` steps of the plan have exchanged memory, the bytes go to the
 * buffer that now has this memory. */
static kiln_status read_memory(kiln__judge *judge, size_t i, kiln__judge_fault *fault, kiln_error **error)
{
    const kiln__judge_place *p = &judge->places[i];
    const kiln__once_buffer *b = &judge->buffers[i];
    unsigned char *all = kiln__alloc(judge->mem, p->total);
    if (!all)
        return kiln__fail_memory(error);
    CUresult result = judge->engine->driver.cuMemcpyDtoH_(all, p->base, p->total);
    const size_t behind = p->lead + (size_t)b->bytes;
    for (size_t k = 0; k < judge->buffer_count && result == CUDA_SUCCESS; k++)
        if (judge->places[k].holder == i && judge->buffers[k].bytes == b->bytes)
            memcpy(judge->places[k].got, all + p->lead, (size_t)b->bytes);
    if (result == CUDA_SUCCESS && memcmp(all, p->image, p->lead) != 0)
        for (size_t k = p->lead; fault->kind == KILN_JUDGED_PASS && k-- > 0;)
            if (all[k] != p->image[k])
                kiln__judge_note_outside(judge, b, (int64_t)k - (int64_t)p->lead, fault);
    if (result == CUDA_SUCCESS && memcmp(all + behind, p->image + behind, p->total - behind) != 0)
        for (size_t k = behind; fault->kind == KILN_JUDGED_PASS && k < p->total; k++)
            if (all[k] != p->image[k])
                kiln__judge_note_outside(judge, b, (int64_t)(k - behind), fault);
    kiln__free(judge->mem, all);
    return result == CUDA_SUCCESS ? KILN_OK
                                  : kiln__driver_fail(&judge->engine->driver, judge->mem, result, error,
                                                      "reading buffer %s", b->buffer->name);
}

/* Reads all buffers after a run of the plan, and checks the guard zones and the inputs. */
static kiln_status read_buffers(kiln__judge *judge, const kiln_plan *plan, kiln__judge_fault *fault, kiln_error **error)
{
    CUdeviceptr at;
    for (size_t i = 0; i < judge->buffer_count; i++)
        judge->places[i].holder = kiln__once_holder(plan, i, &at);
    for (size_t i = 0; i < judge->buffer_count; i++) {
        const kiln__judge_place *p = &judge->places[i];
        const kiln__once_buffer *b = &judge->buffers[i];
        if (b->bytes == 0)
            continue;
        KILN__TRY(read_memory(judge, i, fault, error));
        if (fault->kind == KILN_JUDGED_PASS && b->keeps && p->content.data &&
            memcmp(p->got, p->content.data, (size_t)b->bytes) != 0)
            note_input(judge, i, fault);
    }
    return KILN_OK;
}

/* ---- findings of the simulated device's checks ---- */

typedef struct listener {
    kiln__judge *judge;
    kiln__judge_fault *fault;
    bool original; /* true if the spec's own kernel runs; its findings are not kept */
    /* true if an uninitialised read of a variable of the module is a fault of the kind KILN_JUDGED_STATE */
    bool state;
    /* true if the run ended at its limit of steps or time; the last finding then names the position in the kernel */
    bool late;
    bool together; /* true if two calls ran at the same time; only races in variables of the module are then faults */
} listener;

static const kiln__judge_global *find_global(const kiln__judge *judge, uint64_t address)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        const kiln__judge_global *g = &judge->code.globals[i];
        if (g->address && address >= g->address && address < g->address + g->bytes)
            return g;
    }
    return NULL;
}

/* Returns the same text as kiln_check_text(), which is in a library that judge/ does not use. */
static const char *get_kind(kiln_check_kind kind)
{
    static const char *const texts[] = {
#define KILN_X(name, text) text,
        KILN_CHECK_MAP(KILN_X)
#undef KILN_X
    };
    return (unsigned)kind < KILN_CHECK_KINDS ? texts[kind] : "";
}

static const char *get_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void note_finding(listener *l, const kiln_check_finding *f)
{
    kiln__judge *judge = l->judge;
    for (size_t i = 0; i < judge->finding_count; i++)
        if (judge->findings[i].line == f->at.line && strcmp(judge->findings[i].kind, get_kind(f->kind)) == 0)
            return; /* an earlier trial with other sizes had the same finding */
    if (l->original)
        return;
    if (!kiln__grow(judge->mem, &judge->findings, &judge->finding_capacity, judge->finding_count + 1,
                    sizeof *judge->findings)) {
        judge->arena.failed = true; /* kiln__judge_conclude() reports that memory ran out */
        return;
    }
    judge->findings[judge->finding_count++] =
        (kiln__judge_finding){.kind = get_kind(f->kind),
                              .message = kiln__judge_print(judge, "%s", f->message),
                              .file = kiln__judge_print(judge, "%s", get_base_name(f->at.file ? f->at.file : "")),
                              .text = kiln__judge_print(judge, "%s", f->at.text ? f->at.text : ""),
                              .kernel = kiln__judge_print(judge, "%s", f->kernel),
                              .buffer = kiln__judge_print(judge, "%s", f->buffer),
                              .line = f->at.line,
                              .count = f->count,
                              .note = f->note != 0};
}

/* If the finding is a race between two calls in a variable of the module, sets a fault of the kind
 * KILN_JUDGED_STATE. */
static void note_shared(listener *l, const kiln_check_finding *f)
{
    const kiln__judge_global *global = f->kind == KILN_CHECK_RACE ? find_global(l->judge, f->address) : NULL;
    if (!global || l->fault->kind != KILN_JUDGED_PASS)
        return;
    *l->fault = (kiln__judge_fault){.kind = KILN_JUDGED_STATE};
    l->fault->message =
        kiln__judge_print(l->judge, "two calls at the same time, in two streams, both use the variable '%s' (line %u)",
                          global->name, f->at.line);
}

static int on_finding(void *user, const kiln_check_finding *f)
{
    listener *l = user;
    kiln__judge_fault *fault = l->fault;
    const kiln__judge_global *global = l->state && f->kind == KILN_CHECK_UNINITIALISED
                                           ? find_global(l->judge, f->address)
                                           : NULL;
    if (l->together) {
        note_shared(l, f);
        return 0;
    }
    note_finding(l, f);
    /* If only some bytes of a word are unwritten, the checks report a read of the word only as a note. This happens to
     * a counter of which the previous call has changed one byte. So for variables of the module, a note also counts as
     * a fault. */
    if ((f->note && !global) || (l->late && f->kind == KILN_CHECK_FAULT) || fault->kind != KILN_JUDGED_PASS)
        return 0;
    *fault = (kiln__judge_fault){.kind = global ? KILN_JUDGED_STATE : KILN_JUDGED_UNSAFE};
    if (*f->buffer)
        fault->buffer = kiln__judge_print(l->judge, "%s", f->buffer);
    fault->message =
        global
            ? kiln__judge_print(l->judge, "a call reads the variable '%s', which an earlier call has written (line %u)",
                                global->name, f->at.line)
            : kiln__judge_print(l->judge, "%s (line %u): %s", get_kind(f->kind), f->at.line, f->message);
    return 0;
}

/* ---- running the kernel ---- */

kiln_status kiln__judge_take_failure(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                                     kiln_error **error)
{
    kiln_judged kind = KILN_JUDGED_PASS;
    if (status == KILN_ERROR_TIMEOUT)
        kind = KILN_JUDGED_TIMEOUT;
    else if (status == KILN_ERROR_DEVICE)
        kind = KILN_JUDGED_UNSAFE;
    else if (status == KILN_ERROR_LAUNCH || status == KILN_ERROR_ARGUMENT || status == KILN_ERROR_DEVICE_MEMORY ||
             status == KILN_ERROR_SPEC)
        kind = KILN_JUDGED_LAUNCH;
    if (judge->engine->driver.cuCtxSynchronize_() != CUDA_SUCCESS)
        judge->broken = true;
    if (kind == KILN_JUDGED_PASS) {
        if (error)
            *error = why;
        else
            kiln_error_free(why);
        return status;
    }
    if (fault->kind == KILN_JUDGED_PASS)
        *fault = (kiln__judge_fault){.kind = kind, .message = kiln__judge_print(judge, "%s", kiln_error_message(why))};
    kiln_error_free(why);
    return KILN_OK;
}

/* Runs the steps of the plan once, and reads the buffers. The caller has already written the buffers. */
static kiln_status run_once(kiln__judge *judge, kiln_plan *plan, const kiln__judge_trial *trial, listener *l,
                            kiln_error **error)
{
    const kiln__simulator *simulator = judge->engine->driver.simulator;
    const kiln_run_options options = {.check = on_finding, .check_user = l};
    kiln_error *why = NULL;
    if (simulator)
        simulator->order(trial->order);
    kiln__judge_begin_steps(judge);
    kiln_status status = kiln__once_run(plan, kiln__judge_get_time_limit(judge), &why);
    status = kiln__judge_end_steps(judge, status, &why);
    if (simulator)
        simulator->order(0);
    l->late = status == KILN_ERROR_TIMEOUT;
    /* uses the findings first, because they describe a fault better than an error of the driver or a time limit */
    if (trial->checked)
        kiln__plan_end_checks(plan, &options);
    if (status != KILN_OK)
        return kiln__judge_take_failure(judge, status, why, l->fault, error);
    return read_buffers(judge, plan, l->fault, error);
}

/* Sets the fault if there are elements of an output that the kernel wrote in neither of the two runs. */
static void find_unwritten(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault)
{
    for (size_t v = 0; v < judge->spec->verify_count && fault->kind == KILN_JUDGED_PASS; v++) {
        size_t i = 0;
        while (strcmp(judge->buffers[i].buffer->name, judge->spec->verify[v].buffer) != 0)
            i++;
        const kiln__once_buffer *b = &judge->buffers[i];
        const size_t size = kiln__type_bytes(b->type), holder = judge->places[i].holder;
        const kiln__judge_place *p = &judge->places[i], *memory = &judge->places[holder];
        uint64_t count = 0, first = 0;
        if (memory->content.data || b->bytes == 0)
            continue;
        write_pattern(memory->image, memory->total, kiln__random_mix(trial->seed + 77 * holder), 0);
        for (uint64_t e = 0; e < b->elements; e++) {
            bool same = true;
            for (size_t k = 0; k < size && same; k++) {
                const unsigned char poison = memory->image[memory->lead + e * size + k];
                same = p->first[e * size + k] == poison && p->got[e * size + k] == (unsigned char)~poison;
            }
            if (same && count++ == 0)
                first = e;
        }
        if (!count)
            continue;
        *fault = (kiln__judge_fault){.kind = KILN_JUDGED_UNWRITTEN, .buffer = b->buffer->name, .element = first};
        fault->wrong = count;
        fault->of = b->elements;
        fault->message = kiln__judge_print(
            judge, "%" PRIu64 " of %" PRIu64 " elements of %s are never written, the first is number %" PRIu64, count,
            b->elements, b->buffer->name, first);
    }
}

kiln_status kiln__judge_resize(kiln__judge *judge, const kiln__judge_trial *trial, bool *fits, kiln__judge_fault *fault,
                               kiln_error **error)
{
    size_t count;
    const size_t bytes = judge->range_count * sizeof *judge->sized;
    *fits = true;
    if (judge->sized_set == trial->set && judge->sized_few == trial->few &&
        memcmp(judge->sized, trial->ranged, bytes) == 0)
        return kiln__once_buffers(judge->candidate, judge->buffers, error);
    judge->sized_set = SIZE_MAX;
    judge->sized_few = trial->few;
    judge->excluded = false;
    kiln__judge_choose_device(judge, trial->few);
    kiln_setting *sizes = kiln__judge_sizes(judge, trial, &count);
    if (!sizes)
        return kiln__fail_memory(error);
    kiln_error *why = NULL;
    kiln_status status = kiln_plan_resize(judge->original, sizes, count, &why);
    const bool trusted = status == KILN_OK;
    if (trusted)
        status = kiln_plan_resize(judge->candidate, sizes, count, &why);
    const bool refused = trusted && status != KILN_OK;
    for (size_t v = 0; status == KILN_OK && v < judge->spec->verify_count; v++)
        if (judge->references[v].plan)
            status = kiln_plan_resize(judge->references[v].plan, sizes, count, &why);
    kiln__free(judge->mem, sizes);
    if (refused)
        return kiln__judge_refuse(judge, status, why, fault, error);
    /* the spec's own variants cannot run at the sizes of this trial */
    if (status != KILN_OK && status != KILN_ERROR_MEMORY) {
        *fits = false;
        judge->excluded = status == KILN_ERROR_CONSTRAINT;
        if (!judge->excluded && !judge->left_out) {
            judge->left_out = true;
            kiln__judge_note(
                judge, kiln__judge_print(judge, "trials were left out, and the first one because of this error: %s",
                                         kiln_error_message(why)));
        }
        kiln_error_free(why);
        return KILN_OK;
    }
    kiln_error_free(why);
    if (status != KILN_OK)
        return kiln__fail_memory(error);
    judge->sized_set = trial->set;
    if (bytes)
        memcpy(judge->sized, trial->ranged, bytes);
    if (!kiln__judge_read_code(judge)) /* if a size is a macro, the plan has other PTX after kiln_plan_resize() */
        return kiln__fail_memory(error);
    if (judge->code.forbidden)
        *fault = (kiln__judge_fault){.kind = KILN_JUDGED_FORBIDDEN, .message = judge->code.forbidden, .of_code = true};
    return kiln__once_buffers(judge->candidate, judge->buffers, error);
}

static kiln_status make_contents(kiln__judge *judge, kiln__judge_class class, uint64_t seed, kiln_error **error)
{
    for (size_t i = 0; i < judge->buffer_count; i++) {
        kiln__judge_place *p = &judge->places[i];
        if (p->content.data)
            kiln__array_free(judge->mem, &p->content);
        p->content.data = NULL;
        KILN__TRY(kiln__judge_content(judge, i, class, kiln__random_mix(seed + i), &p->content, error));
    }
    return KILN_OK;
}

/* the largest number of elements that all buffers may have together in an ordinary trial */
#define SMALL_MOST (1 << 20)
#define PLAIN_MOST 9000000 /* a large trial has more elements than this only if the kernel is fast */

/* Returns the largest number of elements that a large trial may have. `product` is the product of the sizes. If it is
 * large, only specs with about two arrays stay within this number, because some references need much memory for each
 * element. */
static uint64_t get_large_most(double product)
{
    enum { PLAIN_PRODUCT = 5000000 };
    return product > PLAIN_PRODUCT ? (uint64_t)(product * 2.2) : PLAIN_MOST;
}

static double get_product(const kiln__judge *judge, const kiln__judge_trial *trial)
{
    double product = 1;
    for (size_t i = 0; i < judge->range_count; i++)
        product *= (double)trial->ranged[i];
    return product;
}

/* Notes the number of elements divided by the product of the sizes. Ignores very small sizes, because they tell nothing
 * about larger sizes. */
static void note_density(kiln__judge *judge, const kiln__judge_trial *trial)
{
    enum { LEAST = 1000 };
    const double product = get_product(judge, trial), density = (double)judge->elements / product;
    double *known = &judge->density[trial->set];
    if (product >= LEAST && (*known == 0 || density < *known))
        *known = density;
}

/* Estimates whether a trial is too large. A spec may make its arrays with a host function, for example a graph or a
 * sparse matrix. To count the elements of such arrays, the judge would have to make them, which takes gigabytes and
 * minutes at the largest sizes. So the judge estimates the number of elements from the earlier trials. A trial is too
 * large if the estimate is above twice the allowed number, because the number of elements need not be proportional to
 * the sizes. If no trial has used the size set yet, the estimate uses the size set with the fewest elements. */
bool kiln__judge_is_huge(const kiln__judge *judge, const kiln__judge_trial *trial)
{
    const double product = get_product(judge, trial);
    double least = 0;
    if (!judge->simulated || judge->variant->input_count == 0)
        return false;
    const double most = trial->phase == KILN__JUDGE_PHASE_LARGE ? (double)get_large_most(product) : SMALL_MOST;
    for (size_t i = 0; i < judge->spec->size_set_count; i++)
        if (judge->density[i] > 0 && (least == 0 || judge->density[i] < least))
            least = judge->density[i];
    return fmax(judge->density[trial->set], least) * product > 2 * most;
}

bool kiln__judge_is_small(kiln__judge *judge, const kiln__judge_trial *trial, bool on_host)
{
    enum {
        STEPS_MOST = 1 << 27, /* the most steps of a run; a trial has larger arrays only if the kernel is fast enough */
        /* the most bytes of all buffers together; the host also holds inputs, answers and expected answers */
        BYTES_MOST = 160 << 20
    };
    const bool large = trial->phase == KILN__JUDGE_PHASE_LARGE;
    const uint64_t elements_most = !on_host && !judge->simulated ? UINT64_MAX
                                   : large                       ? get_large_most(get_product(judge, trial))
                                                                 : SMALL_MOST;
    const double flops_most = !judge->simulated ? 0x1p40 : large ? 0x1p23 : 0x1p21;
    uint64_t elements = 0, bytes = 0;
    for (size_t i = 0; i < judge->buffer_count; i++) {
        elements += judge->buffers[i].elements;
        bytes += judge->buffers[i].bytes;
    }
    judge->elements = elements;
    judge->flops = kiln__once_flops(judge->original);
    note_density(judge, trial);
    if (elements > elements_most || judge->flops > fmax(flops_most, large ? (double)elements : 0))
        return false;
    if (elements_most != UINT64_MAX && bytes > BYTES_MOST)
        return false;
    if (judge->simulated && elements > PLAIN_MOST && judge->steps_each * (double)elements > STEPS_MOST)
        return false;
    if (elements > judge->largest)
        judge->largest = elements;
    return true;
}

static kiln_status begin_checks(const kiln__judge_trial *trial, kiln_plan *plan, kiln_error **error)
{
    return trial->checked ? kiln__plan_begin_checks(plan, error) : KILN_OK;
}

/* Handles the error of a fill or of a reference. Takes ownership of the error `why`. *fits becomes false if the spec's
 * expressions or a host function refuse the sizes and input values. It also becomes false if a reference exceeds its
 * time limit on a simulated device. In both cases the function returns KILN_OK. */
static kiln_status skip_refused(kiln__judge *judge, kiln_status status, kiln_error *why, bool *fits, kiln_error **error)
{
    const bool late = status == KILN_ERROR_TIMEOUT && judge->simulated,
               refused = status == KILN_ERROR_HOST_FUNCTION || status == KILN_ERROR_SPEC || late;
    if (late)
        kiln__judge_note(judge,
                         kiln__judge_print(judge, "a trial was left out, because a reference reached its limit: %s",
                                           kiln_error_message(why)));
    *fits = *fits && !refused;
    if (error && !refused)
        *error = why;
    else
        kiln_error_free(why);
    return refused ? KILN_OK : status;
}

/* Makes the input values of all buffers. If the spec or a host function refuses these sizes, *fits is false. */
static kiln_status fill_places(kiln__judge *judge, kiln__judge_class class, uint64_t seed, bool *fits,
                               kiln_error **error)
{
    kiln_error *why = NULL;
    kiln_status status = make_contents(judge, class, seed, &why);
    return status == KILN_OK ? KILN_OK : skip_refused(judge, status, why, fits, error);
}

/* Computes the expected answer of the trial. If the spec or a host function refuses its sizes and input values, *fits
 * is false. */
static kiln_status expect_answer(kiln__judge *judge, const kiln__judge_trial *trial, bool *fits, kiln_error **error)
{
    kiln_error *why = NULL;
    const uint64_t start = kiln__now_ns();
    kiln_status status = kiln__judge_expect(judge, trial, &why);
    judge->reference_ns += kiln__now_ns() - start;
    return status == KILN_OK ? KILN_OK : skip_refused(judge, status, why, fits, error);
}

/* Runs the kernel twice, or once under the checks of the simulated device. Compares the outputs of each run with the
 * expected outputs. */
static kiln_status run_trial(kiln__judge *judge, kiln_plan *plan, const kiln__judge_trial *trial, bool original,
                             kiln__judge_fault *fault, bool *fits, kiln_error **error)
{
    listener l = {.judge = judge, .fault = fault, .original = original};
    const unsigned passes = trial->checked ? 1 : 2;
    KILN__TRY(fill_places(judge, trial->class, trial->seed, fits, error));
    if (*fits)
        KILN__TRY(expect_answer(judge, trial, fits, error));
    if (!*fits)
        return KILN_OK;
    KILN__TRY(place_buffers(judge, plan, trial, error));
    for (unsigned pass = 0; pass < passes && fault->kind == KILN_JUDGED_PASS; pass++) {
        /* resets the variables of the module, because only kiln__judge_calls() examines whether they keep data between
         * calls */
        kiln__judge_reset_globals(judge);
        KILN__TRY(begin_checks(trial, plan, error));
        kiln_status status = write_buffers(judge, trial, pass, false, error);
        if (status != KILN_OK && trial->checked)
            kiln__plan_end_checks(plan, &(const kiln_run_options){.size = 0});
        if (status != KILN_OK)
            return status;
        KILN__TRY(run_once(judge, plan, trial, &l, error));
        if (fault->kind == KILN_JUDGED_PASS && pass + 1 == passes && passes == 2)
            find_unwritten(judge, trial, fault);
        if (fault->kind == KILN_JUDGED_PASS && (pass > 0 || passes == 1))
            kiln__judge_compare(judge, fault);
        for (size_t i = 0; i < judge->buffer_count && pass == 0; i++)
            memcpy(judge->places[i].first, judge->places[i].got, (size_t)judge->buffers[i].bytes);
    }
    /* compares the answer of the first run last, because only the second run shows which elements the kernel writes at
     * all */
    for (size_t i = 0; i < judge->buffer_count && passes == 2 && fault->kind == KILN_JUDGED_PASS; i++)
        memcpy(judge->places[i].got, judge->places[i].first, (size_t)judge->buffers[i].bytes);
    if (passes == 2 && fault->kind == KILN_JUDGED_PASS)
        kiln__judge_compare(judge, fault);
    return KILN_OK;
}

kiln_status kiln__judge_try(kiln__judge *judge, const kiln__judge_trial *trial, bool original, kiln__judge_fault *fault,
                            bool *fits, kiln_error **error)
{
    kiln_plan *plan = original ? judge->original : judge->candidate;
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_PASS};
    KILN__TRY(kiln__judge_resize(judge, trial, fits, fault, error));
    if (fault->kind != KILN_JUDGED_PASS)
        return KILN_OK;
    *fits = *fits && kiln__judge_is_small(judge, trial, true);
    if (!*fits)
        return KILN_OK;
    kiln_status status = run_trial(judge, plan, trial, original, fault, fits, error);
    kiln__judge_drop_expected(judge);
    free_places(judge);
    if (!judge->broken)
        kiln__once_release(plan);
    return status;
}

/* ---- several calls that use the same memory ---- */

/* Changes the last element of every input to the last element of another draw from the same class. */
static kiln_status change_one(kiln__judge *judge, kiln__judge_class class, uint64_t seed, kiln_error **error)
{
    for (size_t i = 0; i < judge->spec->buffer_count; i++) {
        kiln_array other = {0};
        kiln__judge_place *p = &judge->places[i];
        const size_t size = kiln__type_bytes(judge->buffers[i].type);
        if (!p->content.data || judge->buffers[i].elements == 0)
            continue;
        KILN__TRY(kiln__judge_content(judge, i, class, kiln__random_mix(seed + i), &other, error));
        const size_t at = (size_t)(judge->buffers[i].elements - 1) * size;
        memcpy((char *)p->content.data + at, (const char *)other.data + at, size);
        kiln__array_free(judge->mem, &other);
    }
    return KILN_OK;
}

enum { CALLS = 5 }; /* the number of calls before which the judge does not overwrite variables of the module */

/* Writes the buffers before the call `number` of the sequence, where the first call has number 0. Also treats the
 * variables of the module as this call requires: keeps, forgets or overwrites them. */
static kiln_status prepare_call(kiln__judge *judge, const kiln__judge_trial *trial, unsigned number, kiln_error **error)
{
    KILN__TRY(number >= CALLS ? kiln__judge_spoil_globals(judge, trial->seed, number - CALLS, error)
              : number == 1   ? kiln__judge_forget_globals(judge, trial->checked, error)
                              : kiln__judge_keep_globals(judge, error));
    return write_buffers(judge, trial, number % 2, number > 0, error);
}

/* Makes the call `number` of the sequence, where the first call has number 0. A wrong answer of a later call is a fault
 * of the kind KILN_JUDGED_STATE. If the judge has overwritten variables before the call, each fault of the call has
 * this kind. */
static kiln_status call_once(kiln__judge *judge, const kiln__judge_trial *trial, unsigned number, listener *l,
                             bool *fits, kiln_error **error)
{
    KILN__TRY(expect_answer(judge, trial, fits, error));
    if (!*fits)
        return KILN_OK;
    KILN__TRY(begin_checks(trial, judge->candidate, error));
    kiln_status status = prepare_call(judge, trial, number, error);
    if (status != KILN_OK) {
        if (trial->checked)
            kiln__plan_end_checks(judge->candidate, &(const kiln_run_options){.size = 0});
        return status;
    }
    KILN__TRY(run_once(judge, judge->candidate, trial, l, error));
    kiln__judge_fault *fault = l->fault;
    if (fault->kind == KILN_JUDGED_PASS)
        kiln__judge_compare(judge, fault);
    if (number >= CALLS)
        return kiln__judge_look_at_spoilt(judge, number - CALLS, fault, error);
    if (number > 0 && fault->kind == KILN_JUDGED_WRONG) {
        fault->kind = KILN_JUDGED_STATE;
        fault->message = kiln__judge_print(judge, "call %u in the same memory: %s", number + 1, fault->message);
    }
    return KILN_OK;
}

/* Makes five calls in the same memory. Their inputs are A, A again, B, B with one changed element in each array, and A.
 * A kernel fails at one of these calls if it keeps answers, counts calls, or skips work for known pointers or inputs.
 * Without checks the function makes further calls with the inputs A. Before each further call it overwrites variables
 * of the module with random bytes. */
kiln_status kiln__judge_calls(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault, bool *fits,
                              kiln_error **error)
{
    static const unsigned content[CALLS] = {0, 0, 1, 1, 0};
    listener l = {.judge = judge, .fault = fault, .state = true};
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_PASS};
    KILN__TRY(kiln__judge_resize(judge, trial, fits, fault, error));
    if (fault->kind != KILN_JUDGED_PASS)
        return KILN_OK;
    *fits = *fits && kiln__judge_is_small(judge, trial, true);
    if (!*fits)
        return KILN_OK;
    kiln__judge_reset_globals(judge);
    kiln_status status = fill_places(judge, trial->class, trial->seed, fits, error);
    if (status == KILN_OK && *fits)
        status = place_buffers(judge, judge->candidate, trial, error);
    unsigned calls = CALLS;
    for (unsigned i = 0; i < calls && status == KILN_OK && *fits && fault->kind == KILN_JUDGED_PASS; i++) {
        status = fill_places(judge, trial->class, trial->seed + 1000 * (i < CALLS ? content[i] : 0), fits, error);
        if (status == KILN_OK && *fits && i == 3)
            status = change_one(judge, trial->class, trial->seed + 5000, error);
        if (status == KILN_OK && *fits)
            status = call_once(judge, trial, i, &l, fits, error);
        if (i == 1 && !trial->checked)
            calls += kiln__judge_count_spoilt(judge);
    }
    kiln__judge_drop_expected(judge);
    free_places(judge);
    if (!judge->broken)
        kiln__once_release(judge->candidate);
    return status;
}

/* ---- two calls that run at the same time ---- */

/* The calls of the candidate in two streams that run at the same time. On a GPU each call has its own memory for all
 * buffers that it may write. So the judge can compare the answer of each call without a copy between two calls. Such a
 * copy would keep the calls of one stream from overlapping with calls of the other stream. */
typedef struct overlap {
    unsigned calls;       /* the number of calls in both streams together */
    CUdeviceptr memory;   /* on a GPU, the memory for the buffers that the calls write */
    size_t record;        /* the number of bytes of `memory` that one call uses */
    CUdeviceptr *outputs; /* for each call, the address of each output that the spec's key `verify` names */
} overlap;

size_t kiln__judge_find_output(const kiln__judge *judge, size_t v)
{
    size_t i = 0;
    while (strcmp(judge->buffers[i].buffer->name, judge->spec->verify[v].buffer) != 0)
        i++;
    return i;
}

/* Returns the number of bytes that a buffer takes in the memory of one call. Returns 0 for a buffer that kernels only
 * read, because all calls of a stream share it. */
static size_t get_room(const kiln__judge *judge, size_t i)
{
    enum { ALIGN = 256 };
    return judge->buffers[i].keeps ? 0 : ((size_t)judge->buffers[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Allocates the memory of all calls, and writes into it the bytes that the buffers have before a call. */
static kiln_status open_overlap(kiln__judge *judge, kiln__judge_place *const *places, overlap *o, kiln_error **error)
{
    enum { CALLS_MOST = 256, CALLS_LEAST = 16, MEMORY_MOST = 1 << 26 };
    const kiln__driver *driver = &judge->engine->driver;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < judge->buffer_count; i++)
        o->record += get_room(judge, i);
    o->calls = CALLS_MOST;
    while (o->calls > CALLS_LEAST && o->calls * o->record > MEMORY_MOST)
        o->calls /= 2;
    o->outputs = kiln__calloc(judge->mem, o->calls * judge->spec->verify_count + 1, sizeof *o->outputs);
    if (!o->outputs)
        return kiln__fail_memory(error);
    if (o->record)
        result = driver->cuMemAlloc_(&o->memory, o->calls * o->record);
    CUdeviceptr to = o->memory;
    for (unsigned c = 0; c < o->calls; c++)
        for (size_t i = 0; i < judge->buffer_count && result == CUDA_SUCCESS; i++) {
            const kiln__judge_place *p = &places[c % 2][i];
            if (get_room(judge, i))
                result = driver->cuMemcpyHtoD_(to, p->image + p->lead, (size_t)judge->buffers[i].bytes);
            to += get_room(judge, i);
        }
    return result == CUDA_SUCCESS
               ? KILN_OK
               : kiln__driver_fail(driver, judge->mem, result, error, "memory for calls at the same time");
}

/* Binds the memory of the call `number` to the plan, and enqueues the call in a stream. */
static kiln_status enqueue_call(kiln__judge *judge, const overlap *o, kiln__judge_place *const *places, unsigned number,
                                CUstream stream, kiln_error **error)
{
    kiln_plan *plan = judge->candidate;
    CUdeviceptr own = o->memory + number * o->record;
    for (size_t i = 0; i < judge->buffer_count; i++) {
        const kiln__once_buffer *b = &judge->buffers[i];
        const size_t room = o->memory ? get_room(judge, i) : 0;
        if (b->bytes)
            KILN__TRY(
                kiln_plan_bind(plan, b->buffer->name, room ? own : places[number % 2][i].at, (size_t)b->bytes, error));
        own += room;
    }
    KILN__TRY(kiln__once_enqueue(plan, stream, kiln__judge_get_time_limit(judge), error));
    for (size_t v = 0; o->outputs && v < judge->spec->verify_count; v++)
        kiln__once_holder(plan, kiln__judge_find_output(judge, v), &o->outputs[number * judge->spec->verify_count + v]);
    return KILN_OK;
}

/* Holds a stream until the host has enqueued all calls. The driver calls this host function in the stream. The function
 * waits at most 50 ms, because a driver may call a host function while the host enqueues it. */
static void CUDA_CB wait_at_gate(void *user)
{
    const atomic_bool *open = user;
    const uint64_t begun = kiln__now_ns();
    while (!atomic_load(open) && kiln__now_ns() - begun < 50000000)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* Writes the buffers of both streams, enqueues the calls in both streams, and waits for them. On a GPU a short call
 * would end before the host has enqueued the next call. So on a GPU the streams wait until all calls are enqueued. Then
 * calls of the two streams overlap. */
static kiln_status start_both(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_place *const *places,
                              const CUstream *streams, overlap *o, kiln_error **error)
{
    const kiln__driver *driver = &judge->engine->driver;
    for (unsigned c = 0; c < 2; c++) {
        judge->places = places[c];
        KILN__TRY(write_buffers(judge, trial, c, false, error));
    }
    o->calls = 2;
    if (!judge->simulated)
        KILN__TRY(open_overlap(judge, places, o, error));
    atomic_store(&judge->gate_open, false);
    for (unsigned c = 0; c < 2 && !judge->simulated && driver->cuLaunchHostFunc_; c++)
        if (driver->cuLaunchHostFunc_(streams[c], wait_at_gate, &judge->gate_open) != CUDA_SUCCESS)
            break; /* the calls overlap less, but the trial is still valid */
    kiln_status status = KILN_OK;
    for (unsigned c = 0; c < o->calls && status == KILN_OK; c++)
        status = enqueue_call(judge, o, places, c, streams[c % 2], error);
    atomic_store(&judge->gate_open, true);
    return status == KILN_OK ? kiln__once_wait(judge->candidate, error) : status;
}

/* Compares the outputs of all calls in one stream. The caller has already computed their expected answer. */
static kiln_status compare_calls(kiln__judge *judge, const overlap *o, unsigned stream, kiln__judge_fault *fault,
                                 kiln_error **error)
{
    const kiln__driver *driver = &judge->engine->driver;
    const size_t count = judge->spec->verify_count;
    for (unsigned c = stream; c < o->calls && fault->kind == KILN_JUDGED_PASS; c += 2) {
        CUresult result = CUDA_SUCCESS;
        for (size_t v = 0; v < count && result == CUDA_SUCCESS; v++) {
            const size_t i = kiln__judge_find_output(judge, v), bytes = (size_t)judge->buffers[i].bytes;
            result = bytes ? driver->cuMemcpyDtoH_(judge->places[i].got, o->outputs[c * count + v], bytes)
                           : CUDA_SUCCESS;
        }
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(driver, judge->mem, result, error, "reading an answer");
        kiln__judge_compare(judge, fault);
    }
    return KILN_OK;
}

/* Compares the answers of the calls in both streams. */
static kiln_status compare_both(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_place *const *places,
                                const overlap *o, listener *l, bool *fits, kiln_error **error)
{
    for (unsigned c = 0; c < 2 && *fits && l->fault->kind == KILN_JUDGED_PASS; c++) {
        judge->places = places[c];
        if (!o->outputs)
            KILN__TRY(read_buffers(judge, judge->candidate, l->fault, error));
        KILN__TRY(expect_answer(judge, trial, fits, error));
        if (*fits && o->outputs)
            KILN__TRY(compare_calls(judge, o, c, l->fault, error));
        else if (*fits && l->fault->kind == KILN_JUDGED_PASS)
            kiln__judge_compare(judge, l->fault);
        if (l->fault->kind == KILN_JUDGED_WRONG) {
            l->fault->kind = KILN_JUDGED_STATE;
            l->fault->message = kiln__judge_print(judge, "two calls at the same time, in two streams: %s",
                                                  l->fault->message);
        }
    }
    return KILN_OK;
}

/* Makes the inputs of the two streams, runs the calls, and compares their answers. */
static kiln_status call_both(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_place *const *places,
                             const CUstream *streams, listener *l, bool *fits, kiln_error **error)
{
    const kiln_run_options options = {.check = on_finding, .check_user = l};
    const kiln__driver *driver = &judge->engine->driver;
    overlap o = {0};
    kiln_error *why = NULL;
    for (unsigned c = 0; c < 2; c++) {
        judge->places = places[c];
        KILN__TRY(fill_places(judge, trial->class, trial->seed + 1000 * c, fits, error));
        if (!*fits)
            return KILN_OK;
        KILN__TRY(place_buffers(judge, judge->candidate, trial, error));
    }
    KILN__TRY(begin_checks(trial, judge->candidate, error));
    kiln__judge_begin_steps(judge);
    kiln_status status = start_both(judge, trial, places, streams, &o, &why);
    status = kiln__judge_end_steps(judge, status, &why);
    l->late = status == KILN_ERROR_TIMEOUT;
    if (trial->checked)
        kiln__plan_end_checks(judge->candidate, &options);
    status = status == KILN_OK ? compare_both(judge, trial, places, &o, l, fits, error)
                               : kiln__judge_take_failure(judge, status, why, l->fault, error);
    if (o.memory && !judge->broken)
        driver->cuMemFree_(o.memory);
    kiln__free(judge->mem, o.outputs);
    return status;
}

/* Runs calls of the candidate in two streams at the same time. The simulated device runs the two calls one after the
 * other. But its checks know that no stream waits for the other stream, so they report memory that both calls use. If
 * the spec's key `judge` does not allow calls in several streams (`streams`), the fault becomes a note. */
kiln_status kiln__judge_streams(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault,
                                bool *fits, kiln_error **error)
{
    kiln__judge_place *const places[] = {judge->places, judge->second_places};
    const kiln__driver *driver = &judge->engine->driver;
    CUstream streams[2] = {NULL, NULL};
    CUresult result = CUDA_SUCCESS;
    listener l = {.judge = judge, .fault = fault, .together = true};
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_PASS};
    KILN__TRY(kiln__judge_resize(judge, trial, fits, fault, error));
    *fits = *fits && fault->kind == KILN_JUDGED_PASS && kiln__judge_is_small(judge, trial, true);
    if (!*fits)
        return KILN_OK;
    kiln__judge_reset_globals(judge);
    for (unsigned c = 0; c < 2 && result == CUDA_SUCCESS; c++)
        result = driver->cuStreamCreate_(&streams[c], CU_STREAM_NON_BLOCKING);
    kiln_status status = result == CUDA_SUCCESS
                             ? call_both(judge, trial, places, streams, &l, fits, error)
                             : kiln__driver_fail(driver, judge->mem, result, error, "making a stream");
    kiln__judge_drop_expected(judge);
    /* handles the memory of the first call last, so that judge->places points to it again */
    for (unsigned c = 2; c-- > 0;) {
        judge->places = places[c];
        free_places(judge);
        if (streams[c] && !judge->broken)
            driver->cuStreamDestroy_(streams[c]);
    }
    if (!judge->broken)
        kiln__once_release(judge->candidate);
    if (fault->kind != KILN_JUDGED_PASS && !judge->broken && judge->spec->streams < 2) {
        kiln__judge_note(judge, fault->message);
        *fault = (kiln__judge_fault){.kind = KILN_JUDGED_PASS};
    }
    return status;
}
