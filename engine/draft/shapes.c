/* shapes.c - guesses the shapes of arrays from the elements that a trial run has reached, and from the names of sizes. */
#include <string.h>

#include "draft.h"

typedef struct candidate {
    const char *text;
    uint64_t value;
    /* 1 + the index of the tuning parameter that is a factor of the extent; 0 means that no tuning parameter is a
     * factor */
    size_t tunable;
    bool square; /* true if the extent is the square of a size */
} candidate;

/* Multiplies two extents. Returns UINT64_MAX if the product does not fit, because the source may define any size. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static candidate make_extent(const char *text, uint64_t value) { return (candidate){.text = text, .value = value}; }

/* Lists the usual extents of arrays, as expressions with their values. Simple extents come first. */
static size_t list_extents(const kiln__draft *draft, candidate *list, size_t room)
{
    const kiln__size *s = draft->sizes;
    size_t count = 0, sizes = draft->size_count;
    for (size_t i = 0; i < sizes && count < room; i++)
        list[count++] = make_extent(s[i].name, (uint64_t)s[i].tiny);
    uint64_t blocks = 1;
    const char *grid = NULL;
    for (int a = 0; a < 3; a++) {
        if (!draft->axes[a].used)
            continue;
        blocks = multiply(blocks, (uint64_t)draft->axes[a].blocks);
        grid = grid ? kiln__arena_printf(draft->arena, "%s * %s", grid, draft->axes[a].grid) : draft->axes[a].grid;
    }
    for (size_t i = 0; i < sizes; i++)
        for (size_t k = i + 1; k < sizes && count < room; k++)
            list[count++] = make_extent(kiln__arena_printf(draft->arena, "%s * %s", s[i].name, s[k].name),
                                        multiply((uint64_t)s[i].tiny, (uint64_t)s[k].tiny));
    if (count < room && grid)
        list[count++] = make_extent(grid, blocks);
    /* each element may have several numbers, as a box or a complex number has */
    static const uint64_t parts[] = {2, 3, 4, 8, 16};
    for (size_t k = 0; k < KILN__COUNT(parts); k++)
        for (size_t i = 0; i < sizes && count < room; i++)
            list[count++] =
                make_extent(kiln__arena_printf(draft->arena, "%llu * %s", (unsigned long long)parts[k], s[i].name),
                            multiply(parts[k], (uint64_t)s[i].tiny));
    for (size_t k = 0; k < KILN__COUNT(parts) && sizes == 2 && count < room; k++)
        list[count++] = make_extent(
            kiln__arena_printf(draft->arena, "%llu * %s * %s", (unsigned long long)parts[k], s[0].name, s[1].name),
            multiply(parts[k], multiply((uint64_t)s[0].tiny, (uint64_t)s[1].tiny)));
    for (size_t i = 0; i < sizes && count < room; i++) {
        list[count] = make_extent(kiln__arena_printf(draft->arena, "%s * %s", s[i].name, s[i].name),
                                  multiply((uint64_t)s[i].tiny, (uint64_t)s[i].tiny));
        list[count++].square = true;
    }
    for (size_t i = 0; i < sizes; i++)
        for (size_t k = i + 1; k < sizes; k++)
            for (size_t l = k + 1; l < sizes && count < room; l++)
                list[count++] =
                    make_extent(kiln__arena_printf(draft->arena, "%s * %s * %s", s[i].name, s[k].name, s[l].name),
                                multiply(multiply((uint64_t)s[i].tiny, (uint64_t)s[k].tiny), (uint64_t)s[l].tiny));
    return count;
}

/* Adds the products of extents and a tuning parameter. An example is the width of an attention head, if it is a
 * template argument. */
static size_t add_param_extents(const kiln__draft *draft, candidate *list, size_t count, size_t room)
{
    const size_t plain = count;
    for (size_t t = 0; t < draft->tunable_count; t++) {
        const kiln__tunable *tunable = &draft->tunables[t];
        if (tunable->size || tunable->number < 2 || tunable->kind >= KILN__TUNABLE_THREADS)
            continue;
        /* a tuning parameter that limits an index, as in i < BINS */
        if (count < room && !kiln__name_is_block(tunable->source) && kiln__is_limit(draft, tunable->source))
            list[count++] = (candidate){.text = tunable->name, .value = (uint64_t)tunable->number, .tunable = t + 1};
        for (size_t i = 0; i < plain && count < room; i++)
            if (list[i].text && !strpbrk(list[i].text, "+-/%(0123456789")) /* only products of names count */
                list[count++] =
                    (candidate){.text = kiln__arena_printf(draft->arena, "%s * %s", list[i].text, tunable->name),
                                .value = multiply(list[i].value, (uint64_t)tunable->number),
                                .tunable = t + 1};
    }
    return count;
}

/* Returns a shape for an array whose extent is not known. Before the first run, the shape is large enough for any index
 * of the usual forms. If the sizes are small, the shape needs a larger factor. After a run, the shape has more than
 * `beyond` elements. */
static const char *wide_shape(const kiln__draft *draft, size_t most, uint64_t beyond)
{
    enum { SMALL = 32, WIDER = 4 };
    const char *shape = NULL;
    uint64_t product = 1;
    size_t taken = 0;
    bool large = false;
    for (size_t i = 0; i < draft->size_count; i++)
        large |= draft->sizes[i].tiny >= SMALL;
    for (size_t i = 0; i < draft->size_count && taken < most; i++) {
        /* leaves out a small size, such as the width of a border */
        if (large && draft->tried && draft->sizes[i].tiny < SMALL)
            continue;
        taken++;
        shape = shape ? kiln__arena_printf(draft->arena, "%s * %s", shape, draft->sizes[i].name) : draft->sizes[i].name;
        product = multiply(product, (uint64_t)draft->sizes[i].tiny);
    }
    const uint64_t least = draft->size_count < 3 ? 1 << 16 : 1 << 20;
    uint64_t factor = product && product < least ? (least + product - 1) / product : 1;
    uint64_t usual = draft->size_count < 3 ? 16 : 1;
    for (unsigned i = 0; i < draft->widened; i++) {
        factor *= WIDER;
        usual *= WIDER;
    }
    if (draft->tried && shape && product && product <= beyond)
        shape = kiln__arena_printf(draft->arena, "%llu * %s", (unsigned long long)(2 * beyond / product), shape);
    if (!draft->tried && shape && (usual > 1 || factor > 1))
        shape = kiln__arena_printf(draft->arena, "%llu * %s", (unsigned long long)(factor > usual ? factor : usual),
                                   shape);
    if (!shape) { /* the kernel has no sizes, so the shape is a number */
        const uint64_t least_elements = factor > usual ? factor : usual;
        const uint64_t elements = draft->tried ? multiply(2, beyond) : 0;
        shape = kiln__arena_printf(draft->arena, "%llu",
                                   (unsigned long long)(elements > least_elements ? elements : least_elements));
    }
    return shape;
}

/* Returns true if another array has exactly this extent. */
static bool is_extent_of_another(const kiln__draft *draft, const kiln__draft_argument *than, uint64_t extent)
{
    for (size_t i = 0; i < draft->argument_count; i++) {
        const kiln__draft_argument *other = &draft->arguments[i];
        if (other != than && other->role == KILN__ROLE_BUFFER && other->seen && other->lanes == than->lanes &&
            other->extent == extent * (uint64_t)other->lanes)
            return true;
    }
    return false;
}

/* Returns the shape of an array of offsets that has this extent. The offsets of the draft grow by one. So an array that
 * is read at all offsets has as many elements as the array of offsets. */
static const char *shape_of_offsets(const kiln__draft *draft, const kiln__draft_argument *than, uint64_t extent)
{
    for (size_t i = 0; i < draft->argument_count; i++) {
        const kiln__draft_argument *other = &draft->arguments[i];
        if (other != than && kiln__is_offsets(other) && other->seen && other->shape && other->extent >= extent &&
            other->extent - extent <= 1)
            return other->shape;
    }
    return NULL;
}

static uint64_t count_elements(const kiln__draft_argument *argument)
{
    return (argument->extent + (uint64_t)argument->lanes - 1) / (uint64_t)argument->lanes;
}

/* Adds an extent for rows of a fixed length, such as 64 numbers for each element, if the problem has only one size.
 * Returns the number of extents that were added. */
static size_t add_row(const kiln__draft *draft, const kiln__draft_argument *argument, candidate *list)
{
    enum { MOST_ROW = 4096 };
    const uint64_t extent = count_elements(argument);
    const uint64_t tiny = draft->size_count == 1 ? (uint64_t)draft->sizes[0].tiny : 0;
    if (tiny == 0 || extent % tiny != 0 || extent / tiny < 2 || extent / tiny > MOST_ROW || extent / tiny == tiny)
        return 0;
    *list = make_extent(
        kiln__arena_printf(draft->arena, "%llu * %s", (unsigned long long)(extent / tiny), draft->sizes[0].name),
        extent);
    return 1;
}

/* Sets the shape of an array from the accesses in the trial run. Takes the extent in the list that is equal to the
 * accessed extent, or otherwise the smallest extent that is larger. If an array is read at indices from memory, its
 * accessed extent is no product of sizes. Such an array gets the extent of another array. */
static void set_shape(kiln__draft *draft, kiln__draft_argument *argument)
{
    /* the made-up indices in arrays of integers are below MADE_UP */
    enum { MOST_PLAIN = 256, SMALL = 32, MADE_UP = 16 };
    candidate list[4 * MOST_PLAIN];
    size_t plain = list_extents(draft, list, MOST_PLAIN - 1);
    plain += add_row(draft, argument, &list[plain]);
    size_t count = add_param_extents(draft, list, plain, KILN__COUNT(list));
    const candidate *best = NULL;
    uint64_t extent = count_elements(argument);
    for (size_t i = 0; i < draft->size_count && kiln__is_offsets(argument) && argument->lanes == 1; i++)
        if ((uint64_t)draft->sizes[i].tiny + 1 == extent) { /* the offsets of all rows, and the end of the last row */
            argument->shape = kiln__arena_printf(draft->arena, "%s + 1", draft->sizes[i].name);
            return;
        }
    for (size_t i = 0; i < count && !(best && best->value == extent); i++) {
        const bool only_equal = list[i].tunable || (list[i].square && draft->size_count > 1);
        if (list[i].text && (only_equal ? list[i].value == extent : list[i].value >= extent) &&
            (!best || list[i].value < best->value || list[i].value == extent))
            best = &list[i];
    }
    /* with another value of the tuning parameter, the array would need another extent, so this value would be another
     * problem */
    if (best && best->tunable) {
        kiln__tunable *tunable = &draft->tunables[best->tunable - 1];
        tunable->values = tunable->chosen;
        tunable->why = "fixed, because the extents of arrays depend on it";
    }
    const char *offsets = best && best->value == extent ? NULL : shape_of_offsets(draft, argument, argument->extent);
    for (size_t i = 0; i < plain && best && best->value != extent; i++)
        if (list[i].text && list[i].value >= extent && list[i].value / MADE_UP < extent &&
            is_extent_of_another(draft, argument, list[i].value)) {
            best = &list[i];
            break;
        }
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < draft->size_count; i++)
        if (draft->sizes[i].tiny >= SMALL && (uint64_t)draft->sizes[i].tiny < least)
            least = (uint64_t)draft->sizes[i].tiny;
    if (offsets && argument->lanes == 1)
        argument->shape = offsets;
    else if (best && (best->value == extent || extent >= least || extent > best->value / 8 * 7))
        argument->shape = best->text;
    else { /* the kernel reads rows at made-up indices, and perhaps no block reads the last index */
        const bool rows = kiln__reads_indices(draft) && !argument->written && argument->extent > argument->begin;
        extent = rows ? (extent + MADE_UP - 1) / MADE_UP * MADE_UP : extent;
        argument->shape = kiln__arena_printf(draft->arena, "%llu", (unsigned long long)extent);
    }
}

bool kiln__reads_indices(const kiln__draft *draft)
{
    for (size_t i = 0; i < draft->argument_count; i++) {
        const kiln__draft_argument *argument = &draft->arguments[i];
        if (argument->role == KILN__ROLE_BUFFER && argument->read && !argument->written && !argument->floating &&
            !argument->odd)
            return true;
    }
    return false;
}

void kiln__guess_shapes(kiln__draft *draft)
{
    /* arrays of offsets come first, because other shapes depend on them */
    for (size_t k = 0; k < 2 * draft->argument_count; k++) {
        kiln__draft_argument *argument = &draft->arguments[k % draft->argument_count];
        if (argument->role != KILN__ROLE_BUFFER || argument->symbol ||
            kiln__is_offsets(argument) != (k < draft->argument_count))
            continue;
        if (argument->seen && !argument->beyond)
            set_shape(draft, argument);
        else
            argument->shape = wide_shape(draft, draft->tried ? 2 : 3, argument->extent / (uint64_t)argument->lanes);
        if (argument->lanes > 1 && argument->shape)
            argument->shape = kiln__arena_printf(draft->arena, "%d * %s", argument->lanes, argument->shape);
    }
}
