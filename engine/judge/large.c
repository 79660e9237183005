/* large.c - runs a trial with the largest arrays that fit. On a GPU they have more than 2^31 elements, so an index of
 * 32 bits overflows.
 *
 * Such arrays are too large for the memory of the host. So each input repeats a short pattern with an odd number of
 * elements. A variant of the spec computes the expected output on the device. The trial compares only windows of an
 * output, which are short ranges of its elements. There are windows at the two ends, near 2^31 and 2^32 elements and
 * bytes, and at random places. A small output is compared as a whole.
 *
 * If the reference is a host function, the large trial is an ordinary trial with sizes that the host can hold. */
#include <inttypes.h>
#include <string.h>

#include "judge_internal.h"

enum {
    GUARD = 1024,            /* the number of bytes in a guard zone */
    POISON = 0xa7,           /* the value of each byte in guard zones and in buffers without a fill */
    PATTERN = (1 << 18) + 3, /* the number of elements after which a large input repeats itself */
    WINDOW = 1 << 14,        /* the number of elements in a window of an output */
    WHOLE = 1 << 20,         /* an output with at most this number of elements is compared as a whole */
    RANDOM_WINDOWS = 24
};

/* The memory of one buffer. The reference reads the inputs of the kernel, and has its own memory for all other
 * buffers. */
typedef struct place {
    CUdeviceptr base, at; /* The allocation starts at `base`, and has guard zones. The buffer starts at `at`. */
    CUdeviceptr other;    /* the buffer of the reference; 0 means that the reference uses the kernel's buffer */
    /* the elements that the input repeats; if `data` is NULL, the buffer is filled with poison */
    kiln_array pattern;
    uint64_t period;         /* the number of elements in `pattern` */
    unsigned char spare[16]; /* the second value of the element that change_patterns() changes */
    bool has_spare;
} place;

static const kiln__driver *driver_of(const kiln__judge *judge) { return &judge->engine->driver; }

/* ---- sizes ---- */

/* Gives a size the value, or the nearest value that the spec allows. */
static void set_size(const kiln__judge *judge, kiln__judge_trial *trial, size_t at, uint64_t value)
{
    const kiln__judge_range *range = &judge->ranges[at];
    const int64_t m = range->multiple, last = kiln__judge_last(range);
    int64_t rounded = value > (uint64_t)last ? last : ((int64_t)value + m - 1) / m * m;
    if (rounded < range->from)
        rounded = (range->from + m - 1) / m * m;
    trial->ranged[at] = rounded > last ? last : rounded;
}

static uint64_t divide_up(uint64_t a, int64_t b) { return b > 0 ? (a + (uint64_t)b - 1) / (uint64_t)b : a; }

/* Gives two sizes a product near `product`, and all other sizes their least values. If `first` equals `second`, only
 * this size becomes large. The values are odd if the spec allows odd values. Returns false if the product is not larger
 * than the product in ordinary trials. */
static bool spread_product(const kiln__judge *judge, kiln__judge_trial *trial, size_t first, size_t second,
                           uint64_t product)
{
    uint64_t root = 1;
    while (root * root < product)
        root *= 2;
    for (size_t i = 0; i < judge->range_count; i++)
        set_size(judge, trial, i, 1);
    if (first != second)
        set_size(judge, trial, second, root + 3);
    set_size(judge, trial, first, first != second ? divide_up(product, trial->ranged[second]) + 3 : product + 3);
    if (first != second)
        set_size(judge, trial, second, divide_up(product, trial->ranged[first]) + 3);
    return (double)trial->ranged[first] * (first != second ? (double)trial->ranged[second] : 1) > 1 << 17;
}

/* Tells whether the arrays exist only on the device. They do if all references are variants and the device is a GPU. */
static bool stays_on_device(const kiln__judge *judge)
{
    bool variants = true;
    for (size_t v = 0; v < judge->spec->verify_count; v++)
        variants = variants && judge->references[v].plan;
    return variants && !judge->simulated;
}

bool kiln__judge_large_sizes(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial, bool *larger)
{
    /* The products of the sizes with a range, in the order in which the judge tries them. Ordinary trials have products
     * up to 2^17, and all these products are larger.
     *
     * `host` has the products for arrays that the host holds. The first two of them are above 2^24 and 2^23. A kernel
     * that sums one number from each block in a single block then needs several iterations of this block. The last five
     * products divide 10^6 elements among 1, 2, 3, 4 or 6 equal buffers.
     *
     * `device` has the products for arrays that exist only on a GPU. There the largest product that fits matters most.
     * So the judge tries each product in all ways to divide it among the sizes, before it tries the next smaller
     * product. */
    static const uint64_t host[] = {17000000, 8500000, 4200000, 2100000, 1000000, 500000, 340000, 250000, 170000};
    static const uint64_t device[] = {(uint64_t)1 << 31, (uint64_t)1 << 30, 1 << 29, 1 << 28,
                                      1 << 26,           1 << 24,           1 << 22};
    const bool stays = stays_on_device(judge);
    const size_t count = judge->range_count, ways = count ? 2 * count - 1 : 0;
    const size_t products = stays ? KILN__COUNT(device) : KILN__COUNT(host);
    if (number >= ways * products)
        return false;
    const uint64_t product = stays ? device[number / ways] : host[number % products];
    const size_t way = stays ? number % ways
                             /* the first ways divide the product among two neighbouring sizes, and the other ways give
                              * it to one size */
                             : number / products;
    const size_t first = way < count - 1 ? way : way - (count - 1), second = way < count - 1 ? way + 1 : first;
    *larger = spread_product(judge, trial, first, second, product);
    return true;
}

/* ---- memory ---- */

static void free_places(kiln__judge *judge, place *places)
{
    for (size_t i = 0; i < judge->buffer_count; i++) {
        if (places[i].base && !judge->broken)
            driver_of(judge)->cuMemFree_(places[i].base);
        if (places[i].other && !judge->broken)
            driver_of(judge)->cuMemFree_(places[i].other);
        if (places[i].pattern.data)
            kiln__array_free(judge->mem, &places[i].pattern);
    }
    kiln__free(judge->mem, places);
}

/* Returns true if the device has enough free memory for all buffers and for the reference's own buffers. A simulated
 * device always counts as large enough. */
static bool has_memory(const kiln__judge *judge)
{
    size_t available = 0, all = 0;
    double bytes = 0;
    for (size_t i = 0; i < judge->buffer_count; i++) {
        const kiln__once_buffer *b = &judge->buffers[i];
        bytes += (double)b->bytes * (b->of_spec && !b->keeps ? 2 : 1);
    }
    return judge->simulated ||
           (driver_of(judge)->cuMemGetInfo_(&available, &all) == CUDA_SUCCESS && bytes < 0.8 * (double)available);
}

/* Makes the input values of a buffer, or the pattern that it repeats. *fits is false if the buffer cannot repeat a
 * pattern and the host has no memory for all its elements. */
static kiln_status make_pattern(kiln__judge *judge, const kiln__judge_trial *trial, size_t i, place *to, bool *fits,
                                kiln_error **error)
{
    enum { HOST_MOST = 1 << 28 };
    const kiln__once_buffer whole = judge->buffers[i];
    kiln__once_buffer *b = &judge->buffers[i];
    if (kiln__judge_is_drawn(judge, b) && b->elements > PATTERN) {
        b->dims = 1;
        b->shape[0] = b->elements = PATTERN;
        b->bytes = (uint64_t)PATTERN * kiln__type_bytes(b->type);
    } else if (b->bytes > HOST_MOST && b->buffer->fill.kind != KILN__FILL_NONE) {
        *fits = false;
        return KILN_OK;
    }
    to->period = b->elements;
    kiln_status status = kiln__judge_content(judge, i, trial->class, kiln__random_mix(trial->seed + i), &to->pattern,
                                             error);
    judge->buffers[i] = whole;
    return status;
}

/* Writes the input values of a buffer to the device. Writes poison if the buffer has no input values. */
static CUresult write_content(const kiln__judge *judge, size_t i, const place *from, CUdeviceptr to)
{
    const uint64_t bytes = judge->buffers[i].bytes, period = from->period * kiln__type_bytes(judge->buffers[i].type);
    const kiln__driver *driver = driver_of(judge);
    if (bytes == 0)
        return CUDA_SUCCESS;
    if (!from->pattern.data)
        return driver->cuMemsetD8_(to, POISON, bytes);
    uint64_t done = bytes < period ? bytes : period;
    CUresult result = driver->cuMemcpyHtoD_(to, from->pattern.data, done);
    while (result == CUDA_SUCCESS && done < bytes) {
        const uint64_t next = done < bytes - done ? done : bytes - done;
        result = driver->cuMemcpyDtoD_(to + done, to, next);
        done += next;
    }
    return result;
}

/* Allocates and fills the memory of all buffers, and binds this memory to the kernel's plan. *fits is false if the
 * device has too little memory. */
static kiln_status prepare(kiln__judge *judge, kiln_plan *plan, const kiln__judge_trial *trial, place *places,
                           bool *fits, kiln_error **error)
{
    const kiln__driver *driver = driver_of(judge);
    for (size_t i = 0; i < judge->buffer_count && *fits; i++) {
        const kiln__once_buffer *b = &judge->buffers[i];
        place *p = &places[i];
        if (b->bytes == 0)
            continue;
        KILN__TRY(make_pattern(judge, trial, i, p, fits, error));
        if (!*fits)
            return KILN_OK;
        const bool copy = b->of_spec && !b->keeps;
        if (driver->cuMemAlloc_(&p->base, b->bytes + 2 * GUARD) != CUDA_SUCCESS)
            p->base = 0;
        if (copy && driver->cuMemAlloc_(&p->other, b->bytes) != CUDA_SUCCESS)
            p->other = 0;
        *fits = p->base && (p->other || !copy);
        judge->lacks_memory = judge->lacks_memory || !*fits;
        if (!*fits)
            return KILN_OK;
        p->at = p->base + GUARD;
        CUresult result = driver->cuMemsetD8_(p->base, POISON, GUARD);
        if (result == CUDA_SUCCESS)
            result = driver->cuMemsetD8_(p->at + b->bytes, POISON, GUARD);
        if (result == CUDA_SUCCESS)
            result = write_content(judge, i, p, p->at);
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(driver, judge->mem, result, error, "writing buffer %s", b->buffer->name);
        KILN__TRY(kiln_plan_bind(plan, b->buffer->name, p->at, (size_t)b->bytes, error));
    }
    return KILN_OK;
}

/* ---- evidence ---- */

/* Checks that the guard zones of all buffers still have their bytes. */
static kiln_status check_guards(kiln__judge *judge, const place *places, kiln__judge_fault *fault, kiln_error **error)
{
    unsigned char zone[GUARD];
    for (size_t i = 0; i < judge->buffer_count; i++)
        for (int behind = 0; behind < 2 && judge->buffers[i].bytes && fault->kind == KILN_JUDGED_PASS; behind++) {
            const CUdeviceptr from = behind ? places[i].at + judge->buffers[i].bytes : places[i].base;
            CUresult result = driver_of(judge)->cuMemcpyDtoH_(zone, from, GUARD);
            if (result != CUDA_SUCCESS)
                return kiln__driver_fail(driver_of(judge), judge->mem, result, error, "reading a guard zone");
            for (size_t k = 0; k < GUARD && fault->kind == KILN_JUDGED_PASS; k++)
                if (zone[behind ? k : GUARD - 1 - k] != POISON)
                    kiln__judge_note_outside(judge, &judge->buffers[i], behind ? (int64_t)k : -(int64_t)k - 1, fault);
        }
    return KILN_OK;
}

/* Finds the window `number` of a buffer: *first gets its first element, and *count its number of elements. Returns
 * false if the buffer has no window with this number. */
static bool find_window(const kiln__once_buffer *b, uint64_t seed, unsigned number, uint64_t *first, uint64_t *count)
{
    const uint64_t size = kiln__type_bytes(b->type);
    const uint64_t around[] = {(uint64_t)1 << 31, (uint64_t)1 << 32, ((uint64_t)1 << 31) / size,
                               ((uint64_t)1 << 32) / size, (uint64_t)1 << 30};
    const unsigned fixed = 2 + KILN__COUNT(around);
    kiln__random random = {kiln__random_mix(seed + number)};
    if (b->elements == 0)
        return false;
    if (b->elements <= WHOLE) {
        *first = 0;
        *count = b->elements;
        return number == 0;
    }
    if (number >= fixed + RANDOM_WINDOWS)
        return false;
    *count = WINDOW;
    *first = number == 0      ? 0
             : number == 1    ? b->elements - WINDOW
             : number < fixed ? around[number - 2] - WINDOW / 2
                              : kiln__random_below(&random, b->elements - WINDOW);
    if (*first > b->elements - WINDOW)
        *first = b->elements - WINDOW;
    return true;
}

/* Compares windows of the inputs with the values that the trial wrote before the run. A kernel must not change its
 * inputs. */
static kiln_status check_inputs(kiln__judge *judge, const place *places, uint64_t seed, char *room,
                                kiln__judge_fault *fault, kiln_error **error)
{
    for (size_t i = 0; i < judge->buffer_count; i++) {
        const kiln__once_buffer *b = &judge->buffers[i];
        const size_t size = kiln__type_bytes(b->type);
        uint64_t first, count;
        for (unsigned w = 0; b->keeps && places[i].pattern.data && find_window(b, seed, w, &first, &count); w++) {
            CUresult result = driver_of(judge)->cuMemcpyDtoH_(room, places[i].at + first * size, count * size);
            if (result != CUDA_SUCCESS)
                return kiln__driver_fail(driver_of(judge), judge->mem, result, error, "reading buffer %s",
                                         b->buffer->name);
            for (uint64_t k = 0; k < count && fault->kind == KILN_JUDGED_PASS; k++) {
                const char *wrote = (const char *)places[i].pattern.data + (first + k) % places[i].period * size;
                if (memcmp(room + k * size, wrote, size) == 0)
                    continue;
                *fault = (kiln__judge_fault){.kind = KILN_JUDGED_INPUT,
                                             .buffer = b->buffer->name,
                                             .element = first + k,
                                             .wrong = 1,
                                             .of = b->elements};
                fault->message = kiln__judge_print(judge, "input '%s' was changed at element %" PRIu64, b->buffer->name,
                                                   first + k);
            }
        }
    }
    return KILN_OK;
}

/* Runs the reference of the entry `v` of the spec's key `verify`. The reference reads the kernel's inputs, and has its
 * own memory for all other buffers. If the reference fails, *fits is false, and a note has the reason. */
static kiln_status run_reference(kiln__judge *judge, size_t v, const place *places, bool *fits, kiln_error **error)
{
    kiln_plan *reference = judge->references[v].plan;
    kiln_error *why = NULL;
    for (size_t i = 0; i < judge->spec->buffer_count; i++) {
        const kiln__once_buffer *b = &judge->buffers[i];
        const CUdeviceptr at = places[i].other ? places[i].other : places[i].at;
        if (b->bytes == 0)
            continue;
        CUresult result = places[i].other ? write_content(judge, i, &places[i], places[i].other) : CUDA_SUCCESS;
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(driver_of(judge), judge->mem, result, error, "writing buffer %s", b->buffer->name);
        KILN__TRY(kiln_plan_bind(reference, b->buffer->name, at, (size_t)b->bytes, error));
    }
    kiln_status status = kiln__judge_run_trusted(judge, reference, &why);
    if (status != KILN_OK && status != KILN_ERROR_MEMORY)
        kiln__judge_note(judge,
                         kiln__judge_print(
                             judge, "the reference of '%s' failed in a large trial, so its answer was not compared: %s",
                             judge->spec->verify[v].buffer, kiln_error_message(why)));
    kiln_error_free(why);
    *fits = status == KILN_OK;
    if (driver_of(judge)->cuCtxSynchronize_() != CUDA_SUCCESS)
        judge->broken = true;
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* The state of the comparison of one output. */
typedef struct comparing {
    size_t v, buffer;
    place *places;
    uint64_t seed;
    char *got, *other; /* host memory for the elements of one window */
    char *wants;       /* the expected elements of all windows, one window after the other */
    double periods;    /* how often the longest array repeats its pattern */
    kiln__once_expected tolerance;
} comparing;

static kiln_status read_window(kiln__judge *judge, const comparing *c, const kiln_plan *plan, uint64_t first,
                               uint64_t count, void *to, kiln_error **error)
{
    const size_t size = kiln__type_bytes(judge->buffers[c->buffer].type);
    CUdeviceptr at;
    kiln__once_holder(plan, c->buffer, &at);
    CUresult result = driver_of(judge)->cuMemcpyDtoH_(to, at + first * size, count * size);
    return result == CUDA_SUCCESS ? KILN_OK
                                  : kiln__driver_fail(driver_of(judge), judge->mem, result, error, "reading buffer %s",
                                                      judge->buffers[c->buffer].buffer->name);
}

/* Changes one element of the repeated pattern of each input. A second call restores the element, so always call the
 * function twice. */
static kiln_status change_patterns(kiln__judge *judge, place *places, kiln_error **error)
{
    for (size_t i = 0; i < judge->buffer_count; i++) {
        const size_t size = kiln__type_bytes(judge->buffers[i].type);
        place *p = &places[i];
        if (!p->pattern.data || p->period != PATTERN || judge->buffers[i].elements <= PATTERN)
            continue;
        unsigned char *all = p->pattern.data, *element = all + PATTERN / 3 * size;
        size_t from = 0;
        while (!p->has_spare && from < PATTERN - 1 && memcmp(all + from * size, element, size) == 0)
            from++;
        if (!p->has_spare)
            memcpy(p->spare, all + from * size, size);
        p->has_spare = true;
        for (size_t k = 0; k < size; k++) {
            const unsigned char was = element[k];
            element[k] = p->spare[k];
            p->spare[k] = was;
        }
        CUresult result = judge->buffers[i].keeps ? write_content(judge, i, p, p->at) : CUDA_SUCCESS;
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(driver_of(judge), judge->mem, result, error, "writing buffer %s",
                                     judge->buffers[i].buffer->name);
    }
    return KILN_OK;
}

/* Compares all windows again with a larger tolerance, if the output consists of large sums. The caller has found a
 * wrong element by the spec's own tolerance. Sums over a whole repeated pattern are larger than sums of random numbers,
 * and so are their errors. For such sums the function multiplies the tolerance by the number of repetitions of the
 * pattern, which is an upper bound. For other operations the spec's tolerance stays, even for the largest arrays.
 *
 * The reference shows which of the two cases applies. The function changes one element of each pattern and runs the
 * reference again. If more than half of the elements of a window change, each element depends on about a whole pattern
 * or more. In an elementwise operation, only one of 2^18 elements changes. */
static kiln_status compare_again(kiln__judge *judge, comparing *c, const kiln_plan *plan, bool *fits,
                                 kiln__judge_fault *fault, kiln_error **error)
{
    const kiln__once_buffer *b = &judge->buffers[c->buffer];
    const size_t size = kiln__type_bytes(b->type);
    uint64_t first, count;
    const char *want = c->wants;
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_PASS};
    KILN__TRY(change_patterns(judge, c->places, error));
    KILN__TRY(run_reference(judge, c->v, c->places, fits, error));
    for (unsigned w = 0; *fits && fault->kind == KILN_JUDGED_PASS && find_window(b, c->seed, w, &first, &count); w++) {
        uint64_t changed = 0;
        KILN__TRY(read_window(judge, c, plan, first, count, c->got, error));
        KILN__TRY(read_window(judge, c, judge->references[c->v].plan, first, count, c->other, error));
        for (uint64_t k = 0; k < count; k++)
            changed += memcmp(want + k * size, c->other + k * size, size) != 0;
        const kiln__judge_window window = {c->got, want, first, count};
        kiln__judge_compare_window(judge, b, &window, &c->tolerance, 2 * changed > count ? c->periods : 1, fault);
        want += count * size;
    }
    return change_patterns(judge, c->places, error);
}

/* Compares one output with the reference's output, window by window. */
static kiln_status compare_windows(kiln__judge *judge, comparing *c, const kiln_plan *plan, bool *fits,
                                   kiln__judge_fault *fault, kiln_error **error)
{
    enum { WINDOWS = 2 + 5 + RANDOM_WINDOWS };
    const kiln__once_buffer *b = &judge->buffers[c->buffer];
    const size_t size = kiln__type_bytes(b->type);
    uint64_t first, count;
    c->wants = kiln__alloc(judge->mem, (size_t)(b->elements <= WHOLE ? WHOLE : WINDOWS * WINDOW) * size);
    if (!c->wants)
        return kiln__fail_memory(error);
    char *want = c->wants;
    kiln_status status = kiln__once_tolerance(judge->original, c->v, &c->tolerance, error);
    for (unsigned w = 0; status == KILN_OK && find_window(b, c->seed, w, &first, &count); w++) {
        status = read_window(judge, c, plan, first, count, c->got, error);
        if (status == KILN_OK)
            status = read_window(judge, c, judge->references[c->v].plan, first, count, want, error);
        const kiln__judge_window window = {c->got, want, first, count};
        if (status == KILN_OK && fault->kind == KILN_JUDGED_PASS)
            kiln__judge_compare_window(judge, b, &window, &c->tolerance, 1, fault);
        want += count * size;
    }
    if (status == KILN_OK && fault->kind != KILN_JUDGED_PASS && c->periods > 1 && !c->tolerance.exact)
        status = compare_again(judge, c, plan, fits, fault, error);
    kiln__free(judge->mem, c->wants);
    return status;
}

/* Runs the kernel and the references, and checks all memory that the kernel may have written. */
static kiln_status run_all(kiln__judge *judge, kiln_plan *plan, const kiln__judge_trial *trial, place *places,
                           char *room, kiln__judge_fault *fault, bool *fits, kiln_error **error)
{
    kiln_error *why = NULL;
    uint64_t most = 1;
    KILN__TRY(prepare(judge, plan, trial, places, fits, error));
    if (!*fits)
        return KILN_OK;
    kiln__judge_reset_globals(judge);
    kiln__judge_begin_steps(judge);
    kiln_status status = kiln__once_run(plan, kiln__judge_get_time_limit(judge), &why);
    status = kiln__judge_end_steps(judge, status, &why);
    if (status != KILN_OK)
        return kiln__judge_take_failure(judge, status, why, fault, error);
    KILN__TRY(check_guards(judge, places, fault, error));
    KILN__TRY(check_inputs(judge, places, trial->seed, room, fault, error));
    for (size_t i = 0; i < judge->buffer_count; i++)
        most = judge->buffers[i].elements > most ? judge->buffers[i].elements : most;
    for (size_t v = 0; v < judge->spec->verify_count && fault->kind == KILN_JUDGED_PASS && *fits; v++) {
        size_t i = 0;
        while (strcmp(judge->buffers[i].buffer->name, judge->spec->verify[v].buffer) != 0)
            i++;
        KILN__TRY(run_reference(judge, v, places, fits, error));
        comparing c = {.v = v,
                       .buffer = i,
                       .places = places,
                       .seed = trial->seed,
                       .got = room,
                       .other = room + (size_t)WHOLE * 16,
                       .periods = (double)most / PATTERN};
        if (*fits && judge->buffers[i].bytes)
            KILN__TRY(compare_windows(judge, &c, plan, fits, fault, error));
    }
    return KILN_OK;
}

kiln_status kiln__judge_large(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                              kiln__judge_fault *fault, bool *fits, kiln_error **error)
{
    kiln_plan *plan = original ? judge->original : judge->candidate;
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_PASS};
    *fits = false;
    for (size_t v = 0; v < judge->spec->verify_count; v++)
        if (!judge->references[v].plan)
            return kiln__judge_try(judge, trial, original, fault, fits, error);
    KILN__TRY(kiln__judge_resize(judge, trial, fits, fault, error));
    *fits = *fits && fault->kind == KILN_JUDGED_PASS;
    judge->lacks_memory = judge->lacks_memory || (*fits && !has_memory(judge));
    *fits = *fits && has_memory(judge) && kiln__judge_is_small(judge, trial, false);
    if (!*fits)
        return KILN_OK;
    place *places = kiln__calloc(judge->mem, judge->buffer_count + 1, sizeof *places);
    /* host memory for two windows with elements of the widest type */
    char *room = kiln__alloc(judge->mem, (size_t)WHOLE * 32);
    kiln_status status = places && room ? KILN_OK : kiln__fail_memory(error);
    if (status == KILN_OK)
        status = run_all(judge, plan, trial, places, room, fault, fits, error);
    if (places)
        free_places(judge, places);
    kiln__free(judge->mem, room);
    for (size_t v = 0; v < judge->spec->verify_count && !judge->broken; v++)
        kiln__once_release(judge->references[v].plan);
    if (!judge->broken)
        kiln__once_release(plan);
    return status;
}
