/* sizes.c - draws the sizes of trials: ends of ranges, primes, and the neighbours of powers of two and of the integers
 * in the candidate's code.
 *
 * A kernel that is right at only one size, or wrong at only one size, usually contains this size as a constant. So the
 * integers of the PTX and their neighbours are also drawn as sizes. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "judge_internal.h"

static const int64_t usual[] = {0,   1,   2,    3,    5,    7,    8,    13,   16,   17,   31,   32,   33,  61,  63,
                                64,  65,  97,   100,  127,  128,  129,  191,  255,  256,  257,  300,  511, 512, 513,
                                521, 777, 1000, 1021, 1023, 1024, 1025, 2047, 2048, 2049, 4093, 4096, 4097};

/* The sum of a multiple of 8 and this number is a multiple of 4, but not of 8 or of a larger tile. */
enum { TILE_END = 132 };

bool kiln__judge_read_ranges(kiln__judge *judge)
{
    const kiln_spec *spec = judge->spec;
    judge->ranges = kiln__arena_alloc(&judge->arena, (spec->assumption_count + 1) * sizeof *judge->ranges);
    judge->sized = kiln__arena_alloc(&judge->arena, (spec->assumption_count + 1) * sizeof *judge->sized);
    for (size_t i = 0; judge->ranges && i < spec->assumption_count; i++) {
        const kiln__assumption *a = &spec->assumptions[i];
        if (a->of_size && a->has_from)
            judge->ranges[judge->range_count++] = (kiln__judge_range){
                .name = a->name,
                .from = (int64_t)a->from,
                .to = (int64_t)a->to,
                .multiple = (int64_t)a->multiple,
                .tried = (int64_t)a->from - 1,
            };
    }
    return judge->ranges && judge->sized;
}

int64_t kiln__judge_last(const kiln__judge_range *range) { return range->to / range->multiple * range->multiple; }

/* Returns true if the spec's key `judge` gives the size a range. *at gets the index of this range. All other sizes get
 * their values from the size sets. */
static bool is_ranged(const kiln__judge *judge, const char *name, size_t *at)
{
    for (*at = 0; *at < judge->range_count; ++*at)
        if (strcmp(judge->ranges[*at].name, name) == 0)
            return true;
    return false;
}

/* Returns the smallest multiple of range->multiple that is at least the value, limited to the range and to `most`. */
static int64_t clamp(const kiln__judge_range *range, int64_t value, uint64_t most)
{
    const int64_t m = range->multiple, first = (range->from + m - 1) / m * m;
    int64_t last = kiln__judge_last(range);
    if ((uint64_t)last > most)
        last = (int64_t)(most / (uint64_t)m) * m;
    value = (value + m - 1) / m * m;
    if (value > last)
        value = last;
    return value < first ? first : value;
}

static int64_t draw_one(const kiln__judge *judge, kiln__random *random, const kiln__judge_range *range, uint64_t most)
{
    const uint64_t kind = kiln__random_below(random, 10);
    int64_t value;
    if (kind < 4) {
        value = usual[kiln__random_below(random, KILN__COUNT(usual))];
    } else if (kind < 7 && judge->code.constant_count) {
        value = judge->code.constants[kiln__random_below(random, judge->code.constant_count)];
        value += (int64_t)kiln__random_below(random, 3) - 1;
    } else { /* draws a number whose count of binary digits is uniform */
        unsigned bits = 1;
        while (bits < 40 && (uint64_t)1 << bits < most && (int64_t)1 << bits < range->to)
            bits++;
        value = (int64_t)kiln__random_below(random, (uint64_t)1 << (1 + kiln__random_below(random, bits)));
    }
    /* the product of all sizes would exceed its limit, or the value is outside of the range */
    if (value < 0 || (uint64_t)value > most || value > range->to)
        value = (int64_t)kiln__random_below(random, most < 64 ? most + 1 : 64);
    return clamp(range, value, most);
}

/* Sets *value to the entry `number` of a list of sizes. The list contains the integers of the PTX that are in the
 * range, in descending order. Each integer is followed by its two neighbours. Returns false if the list has no such
 * entry. */
static bool take_constant(const kiln__judge *judge, const kiln__judge_range *range, unsigned number, uint64_t most,
                          int64_t *value)
{
    static const int step[] = {0, 1, -1};
    unsigned left = number / 3;
    for (size_t i = judge->code.constant_count; i-- > 0;) {
        const int64_t c = judge->code.constants[i];
        if (c <= 1 || c < range->from || c > range->to || (uint64_t)c > most || left--)
            continue;
        *value = clamp(range, c + step[number % 3] * range->multiple, most);
        return true;
    }
    return false;
}

/* Finds the integer of the PTX with the number `number` among the integers from 2^12 up to 2^17. Also finds a size that
 * can be larger than this integer. */
static bool find_threshold(const kiln__judge *judge, unsigned number, size_t *range, int64_t *value)
{
    enum { SMALL = 1 << 12, MOST = 1 << 17 };
    for (size_t i = 0; i < judge->code.constant_count; i++) {
        *value = judge->code.constants[i];
        for (*range = 0; *range < judge->range_count && *value >= SMALL && *value < MOST; ++*range)
            if (*value < kiln__judge_last(&judge->ranges[*range])) {
                if (number-- == 0)
                    return true;
                break;
            }
    }
    return false;
}

unsigned kiln__judge_thresholds(const kiln__judge *judge)
{
    enum { MOST = 2 };
    unsigned count = 0;
    size_t range;
    int64_t value;
    while (count < MOST && find_threshold(judge, count, &range, &value))
        count++;
    return 2 * count;
}

void kiln__judge_pass_threshold(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial)
{
    size_t range;
    int64_t value;
    if (!find_threshold(judge, number / 2, &range, &value))
        return;
    value = number % 2 ? value / 8 * 8 + TILE_END : value + judge->ranges[range].multiple;
    for (size_t i = 0; i < judge->range_count; i++)
        trial->ranged[i] = clamp(&judge->ranges[i], i == range ? value : 1, UINT64_MAX);
}

void kiln__judge_take_tiles(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial)
{
    enum {
        SEVERAL = 1032,
        ALONE = (1 << 15) + 8,
        OTHERS = 1 << 8
    }; /* OTHERS: the largest product of all sizes except one */
    const size_t count = judge->range_count;
    int64_t other = 1;
    while (count > 1 && pow((double)(2 * other), (double)(count - 1)) <= OTHERS)
        other *= 2;
    for (size_t i = 0; i < count; i++)
        trial->ranged[i] = clamp(&judge->ranges[i], i != number ? other : count > 1 ? SEVERAL : ALONE, UINT64_MAX);
}

void kiln__judge_round_sizes(const kiln__judge *judge, int64_t step, kiln__judge_trial *trial)
{
    for (size_t i = 0; i < judge->range_count; i++) {
        const int64_t value = trial->ranged[i] > 1 ? trial->ranged[i] : 1;
        trial->ranged[i] = clamp(&judge->ranges[i], (value + step - 1) / step * step, UINT64_MAX);
    }
}

void kiln__judge_take_set(const kiln__judge *judge, size_t set, kiln__judge_trial *trial)
{
    const kiln__settings *settings = &judge->spec->size_sets[set].settings;
    trial->set = set;
    for (size_t i = 0, at; i < settings->count; i++)
        if (is_ranged(judge, settings->items[i].name, &at) && settings->items[i].value.kind == KILN_INT)
            trial->ranged[at] = clamp(&judge->ranges[at], settings->items[i].value.as.i, UINT64_MAX);
}

/* Draws sizes that are multiples of a tile. A kernel may have another code path for such sizes, and independently drawn
 * sizes are hardly ever all multiples. First all sizes get the same power of two, the largest whose product fits. Then
 * the sizes are doubled in turn while their product fits. Seven kinds of such trials take turns. Two kinds add -1, 0 or
 * 1 to each size. One kind adds -4, 0 or 4, because a kernel that loads four elements at once may take an incomplete
 * tile for a whole tile. In three kinds one size is 1, because tiles in all dimensions take too long if the work for an
 * element is large. */
static void draw_whole(const kiln__judge *judge, kiln__random *random, unsigned kind, kiln__judge_trial *trial)
{
    enum { KINDS = 7, UNIT_BITS = 7, PAIR_BITS = 17 };
    static const struct {
        unsigned bits; /* the product of the sizes is at most 2 to the power of `bits` */
        /* each size differs from a multiple of a tile by -step, 0 or `step`, in units of range->multiple */
        int64_t step;
        unsigned one; /* the index of the size that is 1, plus 1; 0 means that no size is 1 */
    } kinds[KINDS] = {{20, 0, 0}, {12, 0, 1}, {19, 1, 0}, {17, 0, 0}, {12, 1, 1}, {14, 0, 2}, {15, 4, 0}};
    const int64_t step = kinds[kind % KINDS].step;
    const size_t count = judge->range_count, one = count > 2 ? kinds[kind % KINDS].one : 0;
    const unsigned tiled = (unsigned)count - (one != 0);
    unsigned bits = kinds[kind % KINDS].bits;
    if (count <= 2 && bits > PAIR_BITS)
        bits = PAIR_BITS;
    const unsigned each = bits / tiled < UNIT_BITS ? bits / tiled : UNIT_BITS;
    unsigned left = bits - each * tiled;
    const size_t first = kind == 0 ? 0 : (size_t)kiln__random_below(random, count);
    for (size_t i = 0; i < count; i++)
        trial->ranged[i] = i + 1 == one ? 1 : (int64_t)1 << each;
    for (size_t n = 0, idle = 0; left && idle < count; n++) {
        const size_t i = (first + n) % count;
        const bool grows = i + 1 != one && 2 * trial->ranged[i] <= judge->ranges[i].to;
        trial->ranged[i] *= grows ? 2 : 1;
        left -= grows;
        idle = grows ? 0 : idle + 1;
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t by = i + 1 != one ? step * ((int64_t)kiln__random_below(random, 3) - 1) : 0;
        trial->ranged[i] = clamp(&judge->ranges[i], trial->ranged[i] + by * judge->ranges[i].multiple, UINT64_MAX);
    }
}

/* Draws the sizes of a trial. Trials 0 to 3 have fixed sizes: the least values, all sizes 1, a mixture of small odd
 * numbers, and the largest values that fit.
 *
 * In the phase `checks`, trials 6 to 8 have sizes that are multiples of four but not of a tile, and trial 8 has many
 * blocks. In trial 9 each size is one less than a multiple of four.
 *
 * In the phase `answers`, from trial 3 on, each size in turn first has its largest value. Every second later trial has
 * an integer of the candidate's code as one of its sizes. Every eighth later trial has multiples of a tile. */
void kiln__judge_draw_sizes(const kiln__judge *judge, kiln__random *random, unsigned number, uint64_t most,
                            kiln__judge_trial *trial)
{
    /* The numbers of three trials of the phase `checks`. They are the first trial with multiples of 4, the trial with
     * many blocks, and the trial with sizes that are 3 modulo 4. */
    enum { QUADS = 6, BLOCKS = 8, THREES = 9 };
    static const int64_t odd[] = {33, 17, 45, 7};
    uint64_t left = most;
    const size_t count = judge->range_count;
    const bool answers = trial->phase == KILN__JUDGE_PHASE_ANSWERS;
    /* the number of the last trial in which a size has its largest value */
    const unsigned largest = 3 + (unsigned)(answers && count > 1 ? count - 1 : 0);
    size_t first = count ? (size_t)kiln__random_below(random, count) : 0;
    if (answers && number >= 3 && number <= largest)
        first = number - 3;
    trial->set = judge->sets[kiln__random_below(random, judge->set_count)];
    if (answers && count && number > largest && number % 8 == 7) {
        draw_whole(judge, random, number / 8, trial);
        return;
    }
    if (trial->phase == KILN__JUDGE_PHASE_CHECKS && number == BLOCKS) {
        int64_t root = 1; /* the n-th root of 2^15 rounded up, where n is the number of sizes */
        while (count && pow((double)root, (double)count) < 1 << 15)
            root++;
        for (size_t i = 0; i < count; i++)
            trial->ranged[i] = clamp(&judge->ranges[i], root / 8 * 8 + 4, UINT64_MAX);
        return;
    }
    if (trial->phase == KILN__JUDGE_PHASE_CHECKS && number == THREES) {
        static const int64_t threes[] = {7, 11, 19, 3};
        for (size_t i = 0; i < count; i++)
            trial->ranged[i] = clamp(&judge->ranges[i], threes[i % KILN__COUNT(threes)], most);
        return;
    }
    if (trial->phase == KILN__JUDGE_PHASE_CHECKS && number >= QUADS) {
        for (size_t i = 0; i < count; i++) {
            const int64_t value = i == (number - QUADS) % count ? (number == QUADS ? TILE_END : 68)
                                  : count == 2                  ? 20
                                                                : 4;
            trial->ranged[i] = clamp(&judge->ranges[i], value, most);
        }
        return;
    }
    for (size_t n = 0; n < count; n++) {
        /* each size comes first in some trials, because the size that is drawn first may be large */
        const size_t i = (first + n) % count;
        const kiln__judge_range *range = &judge->ranges[i];
        int64_t value;
        switch (number > 3 && number <= largest ? 3 : number) {
        case 0: value = range->from; break;
        case 1: value = 1; break;
        case 2: value = odd[i % KILN__COUNT(odd)]; break;
        case 3: value = n ? 5 : range->to; break;
        default:
            if (!answers || n || (number - largest) % 2 == 0 ||
                !take_constant(judge, range, (number - largest) / 2, left, &value))
                value = draw_one(judge, random, range, left);
        }
        trial->ranged[i] = clamp(range, value, left);
        if (trial->ranged[i] > 1)
            left /= (uint64_t)trial->ranged[i];
        left = left ? left : 1;
    }
}

kiln_setting *kiln__judge_sizes(kiln__judge *judge, const kiln__judge_trial *trial, size_t *count)
{
    const kiln__settings *set = &judge->spec->size_sets[trial->set].settings;
    kiln_setting *sizes = kiln__calloc(judge->mem, set->count + 1, sizeof *sizes);
    for (size_t i = 0, at; sizes && i < set->count; i++) {
        sizes[i] = set->items[i];
        if (is_ranged(judge, set->items[i].name, &at))
            sizes[i].value = (kiln_value){.kind = KILN_INT, .as.i = trial->ranged[at]};
    }
    *count = set->count;
    return sizes;
}

/* A kernel whose grid fills the device walks over its arrays in a loop. With 132 multiprocessors this loop has only one
 * iteration at all sizes of trials. With 4 multiprocessors the loop has several iterations. */
bool kiln__judge_make_few(kiln__judge *judge)
{
    enum { FEW = 4 };
    static const char name[] = "device.sm_count";
    const kiln_engine *engine = judge->engine;
    const char *text = judge->spec->file.text;
    const size_t length = judge->spec->file.length, size = strlen(name);
    bool uses = false;
    for (size_t at = 0; at + size <= length && !uses; at++)
        uses = memcmp(text + at, name, size) == 0;
    if (!uses)
        return true;
    kiln_setting *items = kiln__arena_alloc(&judge->arena, engine->device_setting_count * sizeof *items);
    if (!items)
        return false;
    memcpy(items, engine->device_settings, engine->device_setting_count * sizeof *items);
    judge->few_device = (kiln__settings){engine->device_setting_count, items};
    for (size_t i = 0; i < engine->device_setting_count; i++)
        if (strcmp(items[i].name, name) == 0 && items[i].value.as.i > FEW) {
            items[i].value.as.i = FEW;
            judge->few = true;
        }
    return true;
}

void kiln__judge_choose_device(kiln__judge *judge, bool few)
{
    const kiln__settings *device = few ? &judge->few_device : NULL;
    kiln__once_device(judge->original, device);
    kiln__once_device(judge->candidate, device);
    for (size_t v = 0; v < judge->spec->verify_count; v++)
        if (judge->references[v].plan)
            kiln__once_device(judge->references[v].plan, device);
}

kiln_status kiln__judge_allows(kiln__judge *judge, const kiln_spec *spec, const kiln_choice *choice, bool *allowed,
                               kiln_error **error)
{
    kiln__config *config = NULL;
    kiln_error *why = NULL;
    const kiln_status status = kiln__config_make(judge->engine, spec, choice, &config, &why);
    kiln__config_free(config);
    kiln_error_free(why);
    *allowed = status == KILN_OK;
    if (status != KILN_ERROR_MEMORY)
        return KILN_OK;
    if (error)
        kiln_error_free(*error);
    return kiln__fail_memory(error);
}

/* Finds the size sets for the trials. Keeps a size set if the variant's constraints hold at its values. Also keeps it
 * if they hold after each size with a range has become small. The function compiles nothing. If the constraints hold at
 * no size set, keeps all size sets. The trials then report which sizes are excluded. */
kiln_status kiln__judge_find_sets(kiln__judge *judge, kiln_error **error)
{
    enum { FROM, SMALL, OWN };
    const kiln_spec *spec = judge->spec;
    kiln__judge_trial trial = {
        .ranged = kiln__arena_alloc(&judge->arena, (judge->range_count + 1) * sizeof *trial.ranged)};
    judge->sets = kiln__arena_alloc(&judge->arena, (spec->size_set_count + 1) * sizeof *judge->sets);
    judge->density = kiln__arena_alloc(&judge->arena, (spec->size_set_count + 1) * sizeof *judge->density);
    if (!judge->sets || !judge->density || !trial.ranged)
        return kiln__fail_memory(error);
    for (trial.set = 0; trial.set < spec->size_set_count; trial.set++) {
        bool allowed = false;
        for (int way = FROM; way <= OWN && !allowed; way++) {
            kiln_choice choice = {.variant = judge->variant->name,
                                  .params = judge->options.params,
                                  .param_count = judge->options.param_count,
                                  .size_set = spec->size_sets[trial.set].name};
            for (size_t i = 0; i < judge->range_count; i++)
                trial.ranged[i] = clamp(&judge->ranges[i], way == FROM ? judge->ranges[i].from : 32, UINT64_MAX);
            kiln_setting *sizes = way == OWN ? NULL : kiln__judge_sizes(judge, &trial, &choice.size_count);
            if (way != OWN && !sizes)
                return kiln__fail_memory(error);
            choice.sizes = sizes;
            const kiln_status status = kiln__judge_allows(judge, spec, &choice, &allowed, error);
            kiln__free(judge->mem, sizes);
            if (status != KILN_OK)
                return status;
        }
        if (allowed)
            judge->sets[judge->set_count++] = trial.set;
    }
    for (size_t s = 0; judge->set_count == 0 && s < spec->size_set_count; s++)
        judge->sets[s] = s;
    if (judge->set_count == 0)
        judge->set_count = spec->size_set_count ? spec->size_set_count : 1;
    return KILN_OK;
}

size_t kiln__judge_size_values(const kiln__judge *judge, int64_t *values, size_t most)
{
    size_t count = 0;
    if (judge->sized_set == SIZE_MAX)
        return 0;
    const kiln__settings *set = &judge->spec->size_sets[judge->sized_set].settings;
    for (size_t i = 0, at; i < set->count && count < most; i++) {
        if (is_ranged(judge, set->items[i].name, &at))
            values[count++] = judge->sized[at];
        else if (set->items[i].value.kind == KILN_INT)
            values[count++] = set->items[i].value.as.i;
    }
    return count;
}

void kiln__judge_print_sizes(const kiln__judge *judge, const kiln__judge_trial *trial, kiln__text *out)
{
    const kiln__settings *set = &judge->spec->size_sets[trial->set].settings;
    for (size_t i = 0, at; i < set->count; i++) {
        kiln__text_printf(out, "%s%s=", i ? " " : "", set->items[i].name);
        if (is_ranged(judge, set->items[i].name, &at))
            kiln__text_printf(out, "%" PRId64, trial->ranged[at]);
        else
            kiln__value_print(out, set->items[i].value);
    }
}
