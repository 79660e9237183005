/* binned.c - a format of sparse matrices, for entries that are scattered over the matrix. In this format no access to
 * memory is scattered.
 *
 * A panel is a range of `width` columns. The elements of x at these columns fit in shared memory. A group is a range of
 * rows. The sums of these rows fit in shared memory. A bin has the entries that belong to one panel and one group. The
 * bins are stored in two orders. One kernel multiplies. It reads the bins panel by panel, and within a panel group by
 * group. Another kernel adds the products. It reads them group by group, and within a group panel by panel. The first
 * kernel writes each product to the place where the second kernel reads it. So both kernels read and write whole bins.
 *
 * A bin is padded to a multiple of 8 entries. Eight such entries are an octet, so the 32 bytes of an octet's products
 * belong to one bin. The last bin of a group is padded further, so that the group has whole chunks of 128 entries.
 *
 * If a row has more than `piece` entries, it is cut into pieces, so that groups have about the same number of entries.
 * If `piece` is 0, the function chooses the length of a piece. Entry j of a row with n pieces is in piece j mod n. A
 * line is a row or a piece of a row. The lines of all rows come first. If a row was cut, its line is empty. The lines
 * of all pieces follow. A group has consecutive lines: at most `height` of them, with at most 3/2 of the mean number of
 * entries.
 *
 * The function has these exports:
 *
 * - `panels`, `width`: the number of panels, and the number of columns of a panel.
 * - `panel.starts`: the first octet of each panel; one more element is the end of the last panel.
 * - `columns`, `values`: the column of each entry in its panel (u16), and the value of the entry, in the order by
 *   panels. Both are 0 for padding.
 * - `to`: the place of each octet in the order by groups. The octets are in the order by panels.
 * - `groups`, `chunks`: the number of groups, and the number of chunks of all groups.
 * - `group.starts`: the first chunk of each group; one more element is the end of the last group.
 * - `group.lines`: the first line of each group; one more element is the end of the last group.
 * - `slots`: the number in its group of each entry's line (u16), in the order by groups.
 * - `pieces`: the number of pieces of rows.
 * - `cut`: the number of rows that were cut.
 * - `cut.rows`: the numbers of the rows that were cut, ascending.
 * - `cut.starts`: the first piece of each row that was cut; one more element is the end of the last row.
 *
 * A warp of the second kernel adds 32 entries at a time. These 32 entries are called a step. A step has those entries
 * of a chunk whose numbers modulo 4 are equal. If each line occurs only once in a step, the kernel needs no atomics.
 * Therefore the entries of a bin are ordered so that a line seldom occurs twice in a step. If a line does occur twice,
 * bit 15 is set in the slots of all its entries in this step except the first. Padding has the slot 2^15 - 1. */
#include <string.h>

#include "formats.h"

enum { OCTET = 8, CHUNK = 128, STEPS = 4, WINDOW = 16, TWICE = 1 << 15, NOBODY = TWICE - 1 };

typedef struct binned {
    kiln__csr m;
    uint32_t width, height, piece;
    uint32_t panels, groups, pieces, cut;
    uint32_t *cut_rows, *cut_starts;
    uint32_t *group_lines, *group_starts;
    /* indexed by group * panels + panel; an element is first the number of the bin's entries, then the bin's first
     * place, then the place of the bin's next entry */
    uint32_t *by_panel, *by_group;
    uint16_t *columns, *slots;
    float *values;
} binned;

static uint64_t up_to(uint64_t count, uint64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

static uint32_t length_of(const binned *b, uint32_t row) { return b->m.offsets[row + 1] - b->m.offsets[row]; }

/* ---- lines: rows and pieces of rows ---- */

static uint32_t pieces_of(const binned *b, uint32_t row)
{
    uint32_t length = length_of(b, row);
    return length > b->piece ? length / b->piece + (length % b->piece != 0) : 0;
}

typedef struct line {
    uint32_t first, step, count; /* the entries of the line in CSR are first, first + step, ... */
} line;

static line line_of(const binned *b, uint32_t number)
{
    if (number < b->m.rows)
        return (line){b->m.offsets[number], 1, pieces_of(b, number) ? 0 : length_of(b, number)};
    /* a binary search finds the last row that begins at or before the piece */
    uint32_t piece = number - b->m.rows, low = 0, high = b->cut;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (b->cut_starts[middle] <= piece)
            low = middle;
        else
            high = middle;
    }
    uint32_t row = b->cut_rows[low], step = b->cut_starts[low + 1] - b->cut_starts[low];
    uint32_t first = piece - b->cut_starts[low];
    return (line){b->m.offsets[row] + first, step, (length_of(b, row) - first + step - 1) / step};
}

static kiln_status cut_rows(kiln_call *call, binned *b)
{
    uint64_t pieces = 0;
    for (uint32_t r = 0; r < b->m.rows; r++) {
        b->cut += pieces_of(b, r) > 0;
        pieces += pieces_of(b, r);
    }
    if (b->m.rows + pieces > UINT32_MAX)
        return kiln_call_fail(call, "the matrix has 2^32 rows and pieces of rows, or more: give a larger `piece`");
    b->pieces = (uint32_t)pieces;
    if (kiln_call_export_int(call, "pieces", b->pieces) != KILN_OK ||
        kiln_call_export_int(call, "cut", b->cut) != KILN_OK ||
        kiln__export_line(call, "cut.rows", KILN_u32, b->cut, &b->cut_rows) != KILN_OK ||
        kiln__export_line(call, "cut.starts", KILN_u32, (uint64_t)b->cut + 1, &b->cut_starts) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    uint32_t to = 0;
    for (uint32_t r = 0; r < b->m.rows; r++) {
        if (pieces_of(b, r)) {
            b->cut_rows[to] = r;
            b->cut_starts[to + 1] = b->cut_starts[to] + pieces_of(b, r);
            to++;
        }
    }
    return KILN_OK;
}

/* ---- groups ---- */

/* Returns the number of groups. If `starts` is not NULL, the function sets starts[g] to the first line of group g. */
static uint32_t walk_groups(const binned *b, uint32_t *starts)
{
    enum { LEAST = 1024 };
    uint32_t lines = b->m.rows + b->pieces, groups = 0, first = 0;
    uint64_t entries = 0, most = 3 * (uint64_t)b->height * b->m.nonzeros / (2 * (uint64_t)(lines ? lines : 1));
    if (most < LEAST)
        most = LEAST;
    for (uint32_t l = 0; l < lines; l++) {
        uint32_t count = line_of(b, l).count;
        if (l == 0 || l - first == b->height || entries + count > most) {
            if (starts)
                starts[groups] = l;
            groups++;
            first = l;
            entries = 0;
        }
        entries += count;
    }
    if (starts)
        starts[groups] = lines;
    return groups;
}

static void count_group(void *user, size_t group, size_t worker)
{
    const binned *b = user;
    (void)worker;
    uint32_t *bins = b->by_panel + group * b->panels;
    for (uint32_t l = b->group_lines[group]; l < b->group_lines[group + 1]; l++) {
        line of = line_of(b, l);
        for (uint32_t i = 0; i < of.count; i++)
            bins[b->m.index[of.first + i * of.step] / b->width]++;
    }
}

static bool has_line(const uint16_t *chunk, uint32_t step, uint16_t wanted)
{
    bool found = false;
    for (uint32_t i = step; i < CHUNK; i += STEPS)
        found |= chunk[i] == wanted;
    return found;
}

/* Distributes the entries of a window over the steps. A window is `count` places of a bin. It is at most WINDOW chunks
 * long, and padded to whole octets. In the order by groups the window begins at place `at`. In the order by panels it
 * begins at place `from`. At the call, the entries of the window are in the order of their lines. If the entry's own
 * step has room and does not have the entry's line yet, the entry stays in this step. Otherwise the entry goes to a
 * later step, where the first step follows the last one. */
static void arrange_window(const binned *b, size_t at, size_t from, uint32_t count)
{
    enum { TRIES = 32 };
    uint16_t lines[WINDOW * CHUNK], columns[WINDOW * CHUNK];
    float values[WINDOW * CHUNK];
    uint32_t used[WINDOW * STEPS] = {0}; /* number of used lanes of each step */
    memcpy(lines, b->slots + at, count * sizeof *lines);
    memcpy(columns, b->columns + from, count * sizeof *columns);
    memcpy(values, b->values + from, count * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        b->slots[at + i] = NOBODY;
        b->columns[from + i] = 0;
        b->values[from + i] = 0;
    }
    size_t first = at / CHUNK * CHUNK, last = (at + count - 1) / CHUNK * CHUNK;
    uint32_t steps = (uint32_t)((last - first) / CHUNK + 1) * STEPS;
    for (uint32_t i = 0; i < count; i++) {
        if (lines[i] == NOBODY)
            continue;
        uint32_t step = (uint32_t)((at + i - first) / CHUNK * STEPS + (at + i) % STEPS), chosen = steps;
        for (uint32_t tries = 0; tries < steps && (tries < TRIES || chosen == steps); tries++) {
            size_t chunk = first + step / STEPS * CHUNK, begin = chunk < at ? at : chunk,
                   end = chunk + CHUNK < at + count ? chunk + CHUNK : at + count;
            if (used[step] < (end - begin) / STEPS) {
                bool apart = !has_line(b->slots + chunk, step % STEPS, lines[i]);
                chosen = apart || chosen == steps ? step : chosen;
                if (apart)
                    break;
            }
            step = step + 1 < steps ? step + 1 : 0;
        }
        size_t chunk = first + chosen / STEPS * CHUNK, begin = chunk < at ? at : chunk;
        size_t place = begin - at + used[chosen]++ * STEPS + chosen % STEPS;
        b->slots[at + place] = lines[i];
        b->columns[from + place] = columns[i];
        b->values[from + place] = values[i];
    }
}

static void arrange_bin(const binned *b, size_t at, size_t from, size_t count)
{
    for (size_t done = 0; done < count;) {
        /* the window ends at the end of a whole chunk */
        size_t end = (at + done) / CHUNK * CHUNK + WINDOW * CHUNK - at;
        end = end < count ? end : count;
        arrange_window(b, at + done, from + done, (uint32_t)(end - done));
        done = end;
    }
}

/* Sets bit 15 in the slot of each entry whose line occurs earlier in the same step. `slots` has the slots of one
 * chunk. */
static void mark_twice(uint16_t *slots)
{
    uint64_t seen[TWICE / 64];
    for (uint32_t step = 0; step < STEPS; step++) {
        for (uint32_t i = step; i < CHUNK; i += STEPS)
            seen[slots[i] / 64] = 0;
        for (uint32_t i = step; i < CHUNK; i += STEPS) {
            uint64_t bit = UINT64_C(1) << slots[i] % 64, *word = &seen[slots[i] / 64];
            if (slots[i] != NOBODY && *word & bit)
                slots[i] |= TWICE;
            *word |= bit;
        }
    }
}

static void fill_group(void *user, size_t group, size_t worker)
{
    const binned *b = user;
    (void)worker;
    uint32_t *by_panel = b->by_panel + group * b->panels, *by_group = b->by_group + group * b->panels;
    size_t begin = (size_t)b->group_starts[group] * CHUNK, end = (size_t)b->group_starts[group + 1] * CHUNK;
    for (size_t i = begin; i < end; i++)
        b->slots[i] = NOBODY;
    for (uint32_t l = b->group_lines[group]; l < b->group_lines[group + 1]; l++) {
        line of = line_of(b, l);
        for (uint32_t i = 0; i < of.count; i++) {
            uint32_t from = of.first + i * of.step, panel = b->m.index[from] / b->width, to = by_panel[panel]++;
            b->columns[to] = (uint16_t)(b->m.index[from] % b->width);
            b->values[to] = b->m.values[from];
            b->slots[by_group[panel]++] = (uint16_t)(l - b->group_lines[group]);
        }
    }
    size_t at = begin; /* the loop above has moved by_panel and by_group to the end of the entries of each bin */
    for (uint32_t p = 0; p < b->panels; p++) {
        size_t used = up_to(by_group[p] - at, OCTET), from = up_to(by_panel[p], OCTET) - used;
        arrange_bin(b, at, from, used);
        at = p + 1 < b->panels ? at + used : end;
    }
    for (size_t i = begin; i < end; i += CHUNK)
        mark_twice(b->slots + i);
}

/* ---- the places of bins ---- */

/* Pads the numbers of entries in by_panel. Each bin is padded to whole octets, and the last bin of a group is padded so
 * that the group has whole chunks. Returns the number of chunks of all groups. If `group_starts` is not NULL, the
 * function sets it to the first chunk of each group. */
static uint64_t fill_up(const binned *b, uint32_t *group_starts)
{
    uint64_t chunks = 0;
    for (size_t g = 0; g < b->groups; g++) {
        uint32_t *bins = b->by_panel + g * b->panels;
        uint64_t places = 0;
        for (size_t p = 0; p < b->panels; p++) {
            bins[p] = (uint32_t)up_to(bins[p], OCTET);
            places += bins[p];
        }
        if (b->panels)
            bins[b->panels - 1] += (uint32_t)(up_to(places, CHUNK) - places);
        if (group_starts)
            group_starts[g] = (uint32_t)chunks;
        chunks += up_to(places, CHUNK) / CHUNK;
    }
    if (group_starts)
        group_starts[b->groups] = (uint32_t)chunks;
    return chunks;
}

/* Replaces the padded numbers in by_panel by the first place of each bin in the order by panels. Sets by_group to the
 * first places in the order by groups. Sets to[i] to the place, in the order by groups, of octet i in the order by
 * panels. */
static void place_bins(const binned *b, uint32_t *panel_starts, uint32_t *to)
{
    size_t at = 0;
    for (size_t bin = 0; bin < (size_t)b->groups * b->panels; bin++) {
        b->by_group[bin] = (uint32_t)at;
        at += b->by_panel[bin];
    }
    at = 0;
    for (size_t p = 0; p < b->panels; p++) {
        panel_starts[p] = (uint32_t)(at / OCTET);
        for (size_t bin = p; bin < (size_t)b->groups * b->panels; bin += b->panels) {
            uint32_t octets = b->by_panel[bin] / OCTET;
            for (uint32_t i = 0; i < octets; i++)
                to[at / OCTET + i] = b->by_group[bin] / OCTET + i;
            b->by_panel[bin] = (uint32_t)at;
            at += (size_t)octets * OCTET;
        }
    }
    panel_starts[b->panels] = (uint32_t)(at / OCTET);
}

static kiln_status export_bins(kiln_call *call, binned *b)
{
    uint32_t *panel_starts, *to;
    kiln__parallel(0, b->groups, count_group, b);
    uint64_t places = fill_up(b, NULL) * CHUNK;
    if (places > UINT32_MAX)
        return kiln_call_fail(call, "bins would store 2^32 entries or more");
    if (kiln__check_padding(call, "a format of bins", places, &b->m) != KILN_OK ||
        kiln_call_export_int(call, "chunks", (int64_t)(places / CHUNK)) != KILN_OK ||
        kiln__export_line(call, "panel.starts", KILN_u32, (uint64_t)b->panels + 1, &panel_starts) != KILN_OK ||
        kiln__export_line(call, "group.starts", KILN_u32, (uint64_t)b->groups + 1, &b->group_starts) != KILN_OK ||
        kiln__export_line(call, "to", KILN_u32, places / OCTET, &to) != KILN_OK ||
        kiln__export_line(call, "columns", KILN_u16, places, &b->columns) != KILN_OK ||
        kiln__export_line(call, "values", KILN_f32, places, &b->values) != KILN_OK ||
        kiln__export_line(call, "slots", KILN_u16, places, &b->slots) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    fill_up(b, b->group_starts);
    place_bins(b, panel_starts, to);
    kiln__parallel(0, b->groups, fill_group, b);
    return KILN_OK;
}

/* Chooses the length of a piece of a row so that a piece has about four entries in each bin. The steps of a bin can
 * keep these four entries apart. */
static uint32_t usual_piece(uint32_t panels)
{
    enum { LEAST = 32, MOST = 512 };
    uint32_t piece = panels < MOST / 4 ? 4 * panels : MOST;
    return piece > LEAST ? piece : LEAST;
}

static kiln_status take_arguments(kiln_call *call, binned *b)
{
    const int64_t choose = 0;
    int64_t width, height, piece;
    if (kiln__take_matrix(call, &b->m) != KILN_OK || kiln_call_int(call, "width", NULL, &width) != KILN_OK ||
        kiln_call_int(call, "height", NULL, &height) != KILN_OK ||
        kiln_call_int(call, "piece", &choose, &piece) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (width < 1 || width > 1 << 16 || height < 1 || height > NOBODY || piece < 0 || piece > UINT32_MAX)
        return kiln_call_fail(call, "width is 1 to 65536, height 1 to %d, piece 0 or more", NOBODY);
    uint32_t columns = b->m.columns, most = (uint32_t)width;
    uint32_t panels = columns / most + (columns % most != 0),
             even = panels ? columns / panels + (columns % panels != 0) : most;
    even = (uint32_t)up_to(even, 4); /* all panels get the same width, so that they take about the same time */
    b->width = even < most ? even : most;
    b->panels = columns / b->width + (columns % b->width != 0);
    b->height = (uint32_t)height;
    b->piece = piece > 0 ? (uint32_t)piece : usual_piece(b->panels);
    return KILN_OK;
}

kiln_status kiln__host_sparse_binned(void *user, kiln_call *call)
{
    (void)user;
    binned b = {0};
    if (take_arguments(call, &b) != KILN_OK || cut_rows(call, &b) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    b.groups = walk_groups(&b, NULL);
    uint64_t bins = (uint64_t)b.panels * b.groups;
    if (bins > (uint64_t)b.m.nonzeros + (1 << 22))
        return kiln_call_fail(call,
                              "%u panels of %u groups each for %u entries: most bins would be empty; give a "
                              "larger `width` or `height`",
                              b.panels, b.groups, b.m.nonzeros);
    if (kiln_call_export_int(call, "panels", b.panels) != KILN_OK ||
        kiln_call_export_int(call, "width", b.width) != KILN_OK ||
        kiln_call_export_int(call, "groups", b.groups) != KILN_OK ||
        kiln__export_line(call, "group.lines", KILN_u32, (uint64_t)b.groups + 1, &b.group_lines) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    walk_groups(&b, b.group_lines);
    b.by_panel = kiln__calloc(kiln_call_allocator(call), (size_t)bins + 1, sizeof *b.by_panel);
    b.by_group = kiln__calloc(kiln_call_allocator(call), (size_t)bins + 1, sizeof *b.by_group);
    kiln_status status = b.by_panel && b.by_group ? export_bins(call, &b) : kiln_call_fail(call, "out of host memory");
    kiln__free(kiln_call_allocator(call), b.by_panel);
    kiln__free(kiln_call_allocator(call), b.by_group);
    return status;
}
