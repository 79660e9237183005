/* access.c - the studies of single memory accesses: which thread accesses which element, how much memory each access
 * moves, and how a cache would serve the accesses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

enum { MOST_ACCESSES = 1 << 20 }; /* the largest number of accesses of one block that are kept */

static int block_number(cli *c, uint64_t *number)
{
    const study_args *args = c->args;
    const char *text = args->at_block;
    char *end;
    *number = 0;
    if (!text)
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return cli_usage(c, "--block needs the number of a block (the first is 0), not '%s'", text);
    *number = value;
    return 0;
}

/* ---- keeping the accesses of one block ---- */

typedef struct kept {
    const char *kernel, *space, *buffer;
    unsigned line, thread[3], bytes;
    uint64_t step, address, element;
    uint64_t index[KILN_MAX_DIMS];
    int dims;
    bool reads, writes;
} kept;
typedef struct keeper {
    kept *rows;
    size_t count, room;
    bool all, full;
    uint64_t top; /* the largest number of accesses of a kernel that are shown */
    cli_list names;
} keeper;

/* Returns a copy of a name; equal names get the same pointer. */
static const char *intern(keeper *k, const char *name)
{
    if (!name)
        return NULL;
    for (size_t i = 0; i < k->names.count; i++)
        if (strcmp(k->names.items[i], name) == 0)
            return k->names.items[i];
    cli_list_add(&k->names, cli_printf("%s", name));
    return k->names.items[k->names.count - 1];
}

/* Keeps a copy of an access, as a callback of kiln_trace(). Ends the trace when MOST_ACCESSES accesses are kept. */
static int keep_access(void *user, const kiln_traced_access *a)
{
    keeper *k = user;
    if (!k->all && strcmp(a->space, "global") != 0)
        return 0;
    if (k->count == MOST_ACCESSES) {
        k->full = true;
        return 1;
    }
    if (k->count == k->room) {
        size_t room = k->room ? 2 * k->room : 1024;
        kept *rows = cli_alloc(room * sizeof *rows);
        if (k->count)
            memcpy(rows, k->rows, k->count * sizeof *rows);
        k->rows = rows;
        k->room = room;
    }
    kept *row = &k->rows[k->count++];
    *row = (kept){.kernel = intern(k, a->kernel),
                  .space = intern(k, a->space),
                  .buffer = intern(k, a->buffer),
                  .line = a->line,
                  .bytes = a->bytes,
                  .step = a->step,
                  .address = a->address,
                  .element = a->element,
                  .dims = a->dims,
                  .reads = a->reads,
                  .writes = a->writes};
    memcpy(row->thread, a->thread, sizeof row->thread);
    memcpy(row->index, a->index, sizeof row->index);
    return 0;
}

static int trace(cli *c, const cli_choice *chosen, keeper *k)
{
    const study_args *args = c->args;
    kiln_error *error = NULL;
    kiln_run_options options;
    uint64_t block;
    int code = block_number(c, &block);
    if (code)
        return code;
    cli_make_run(&args->run, &options);
    if (kiln_trace(c->engine, c->spec, &chosen->choice, &options, block, keep_access, k, &error) != KILN_OK)
        return cli_error(c, error);
    if (k->full)
        return cli_fail(c, KILN_ERROR_UNSUPPORTED,
                        "the block makes more than %s accesses to memory: choose a smaller size (--size)",
                        cli_whole(MOST_ACCESSES));
    if (k->count == 0)
        return cli_fail(c, KILN_ERROR_NOT_FOUND, "there is no block %s, or it does not access memory",
                        args->at_block ? args->at_block : "0");
    return 0;
}

/* ---- access: which thread accesses which element in which step ---- */

/* Returns an element such as "A[0,1]". A write ends in "=", and an atomic operation in "+=". */
static const char *cell_text(const kept *row)
{
    const char *after = row->reads && row->writes ? "+=" : row->writes ? "=" : "";
    if (!row->buffer)
        return cli_printf("%s[0x%llx]%s", row->space, (unsigned long long)row->address, after);
    const char *index = "";
    for (int d = 0; d < row->dims; d++)
        index = cli_printf("%s%s%llu", index, d ? "," : "", (unsigned long long)row->index[d]);
    return cli_printf("%s[%s]%s", row->buffer, index, after);
}

static int by_thread(const void *a, const void *b)
{
    const kept *x = *(const kept *const *)a, *y = *(const kept *const *)b;
    for (int axis = 3; axis-- > 0;)
        if (x->thread[axis] != y->thread[axis])
            return x->thread[axis] < y->thread[axis] ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static int by_step(const void *a, const void *b)
{
    const kept *x = *(const kept *const *)a, *y = *(const kept *const *)b;
    return x->step < y->step ? -1 : x->step > y->step;
}

static bool same_thread(const kept *a, const kept *b) { return memcmp(a->thread, b->thread, sizeof a->thread) == 0; }

enum { SHOWN = 64 }; /* the number of threads, and of steps, that a kernel's table shows without --top */

/* Prints a part of the table: each row is a thread, and the columns are steps from `first` on, as
 * many as fit into the width. Returns the step after the last column. */
static size_t show_steps(const kept **rows, size_t count, const uint64_t *steps, const unsigned *lines,
                         size_t step_count, size_t first)
{
    size_t width = 12, last = first;
    while (last < step_count) {
        size_t widest = strlen(cli_printf("step %zu, line %u", last, lines[last]));
        for (size_t i = 0; i < count; i++)
            if (rows[i]->step == steps[last] && strlen(cell_text(rows[i])) > widest)
                widest = strlen(cell_text(rows[i]));
        if (last > first && width + widest + 2 > 110)
            break;
        width += widest + 2;
        last++;
    }
    char *align = cli_alloc(last - first + 2);
    memset(align, 'l', last - first + 1);
    cli_table table;
    table_start(&table, align);
    table.indent = 2;
    table_cell(&table, "thread");
    for (size_t s = first; s < last; s++)
        table_cell(&table, "step %zu, line %u", s, lines[s]);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && same_thread(rows[end], rows[i]))
            end++;
        table_cell(&table, "(%u,%u,%u)", rows[i]->thread[0], rows[i]->thread[1], rows[i]->thread[2]);
        for (size_t s = first; s < last; s++) {
            const char *text = "";
            for (size_t k = i; k < end; k++)
                if (rows[k]->step == steps[s])
                    text = cell_text(rows[k]);
            table_cell(&table, "%s", text);
        }
        i = end;
    }
    table_print(&table, true);
    return last;
}

/* Prints the accesses of one kernel as tables of threads and steps. Without --all it prints only the first threads and
 * steps, and tells how many there are in total. */
static void show_kernel(const keeper *k, const char *kernel)
{
    const kept **rows = cli_alloc((k->count + 1) * sizeof *rows);
    uint64_t *steps = cli_alloc((k->count + 1) * sizeof *steps);
    unsigned *lines = cli_alloc((k->count + 1) * sizeof *lines);
    size_t count = 0, step_count = 0;
    for (size_t i = 0; i < k->count; i++)
        if (k->rows[i].kernel == kernel)
            rows[count++] = &k->rows[i];
    qsort(rows, count, sizeof *rows, by_step);
    for (size_t i = 0; i < count; i++)
        if (step_count == 0 || steps[step_count - 1] != rows[i]->step) {
            lines[step_count] = rows[i]->line;
            steps[step_count++] = rows[i]->step;
        }
    qsort(rows, count, sizeof *rows, by_thread);
    size_t threads = 0, kept_rows = 0, kept_steps = step_count < k->top ? step_count : (size_t)k->top;
    for (size_t i = 0; i < count; i++) {
        threads += i == 0 || !same_thread(rows[i], rows[i - 1]);
        kept_rows += threads <= k->top;
    }
    out_printf("\n%s%s%s\n", out_bold(), kernel, out_plain());
    for (size_t first = 0; first < kept_steps;) {
        if (first)
            out_puts("\n");
        first = show_steps(rows, kept_rows, steps, lines, kept_steps, first);
    }
    if (kept_rows < count || kept_steps < step_count)
        out_printf("  of %s threads and %s steps only the first %s are shown: --top COUNT shows more\n",
                   cli_whole(threads), cli_whole(step_count), cli_whole(k->top));
}

static json_t *access_json(const kept *row)
{
    json_t *object = js_object(), *thread = js_array(), *index = js_array();
    for (int axis = 0; axis < 3; axis++)
        js_add(thread, js_whole(row->thread[axis]));
    for (int d = 0; d < row->dims; d++)
        js_add(index, js_whole(row->index[d]));
    js_set(object, "kernel", js_text(row->kernel));
    js_set(object, "line", js_whole(row->line));
    js_set(object, "step", js_whole(row->step));
    js_set(object, "thread", thread);
    js_set(object, "access", js_text(row->reads && row->writes ? "atomic" : row->writes ? "write" : "read"));
    js_set(object, "space", js_text(row->space));
    js_set(object, "buffer", js_text(row->buffer));
    js_set(object, "index", index);
    js_set(object, "offset", js_whole(row->address));
    js_set(object, "bytes", js_whole(row->bytes));
    return object;
}

/* `kiln study access`: traces one block and shows which thread accesses which element in which step. */
int study_access(cli *c)
{
    const study_args *args = c->args;
    cli_choice chosen;
    keeper k = {.all = args->all, .top = args->top ? args->top : SHOWN};
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &chosen))
        return CLI_USAGE;
    int code = trace(c, &chosen, &k);
    if (code)
        return code;
    if (c->output.json) {
        json_t *object = js_object(), *rows = js_array();
        js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
        js_set(object, "variant", js_text(chosen.variant));
        for (size_t i = 0; i < k.count; i++)
            js_add(rows, access_json(&k.rows[i]));
        js_set(object, "accesses", rows);
        js_print(object);
        return 0;
    }
    out_printf("%s%s %s%s  block %s; a step is an access of the thread's warp\n", out_bold(), kiln_spec_name(c->spec),
               chosen.variant, out_plain(), args->at_block ? args->at_block : "0");
    const char *last = NULL;
    for (size_t i = 0; i < k.count; i++) {
        bool shown = false;
        for (size_t before = 0; before < i && !shown && k.rows[i].kernel != last; before++)
            shown = k.rows[before].kernel == k.rows[i].kernel;
        if (k.rows[i].kernel != last && !shown)
            show_kernel(&k, k.rows[i].kernel);
        last = k.rows[i].kernel;
    }
    return 0;
}

/* ---- transactions: the memory that each access moves ---- */

typedef struct moved {
    uint64_t requests, lanes, bytes, used, sectors, lines;
    const char *kind;
} moved;

static moved moved_of(const kiln_counters *c)
{
    if (c->global_load_requests)
        return (moved){c->global_load_requests,
                       c->global_load_lanes,
                       c->global_load_bytes,
                       c->global_load_used,
                       c->global_load_sectors,
                       c->global_load_lines,
                       "load"};
    if (c->global_store_requests)
        return (moved){c->global_store_requests,
                       c->global_store_lanes,
                       c->global_store_bytes,
                       c->global_store_used,
                       c->global_store_sectors,
                       c->global_store_lines,
                       "store"};
    return (moved){c->global_atomic_requests,
                   c->global_atomic_lanes,
                   c->global_atomic_bytes,
                   c->global_atomic_used,
                   c->global_atomic_sectors,
                   c->global_atomic_lines,
                   "atomic"};
}

static json_t *moved_json(const kiln_profiling *p, const kiln_profiled_insn *insn, const moved *m)
{
    json_t *object = js_object();
    js_set(object, "kernel", js_text(kiln_profiling_kernel(p, insn->kernel)->name));
    js_set(object, "file", js_text(insn->file));
    js_set(object, "line", js_whole(insn->line));
    js_set(object, "ptx_line", js_whole(insn->ptx_line));
    js_set(object, "ptx", js_text(insn->ptx));
    js_set(object, "access", js_text(m->kind));
    js_set(object, "l1", json_boolean(insn->l1));
    js_set(object, "requests", js_whole(m->requests));
    js_set(object, "lanes", js_whole(m->lanes));
    js_set(object, "bytes", js_whole(m->bytes));
    js_set(object, "used", js_whole(m->used));
    js_set(object, "sectors", js_whole(m->sectors));
    js_set(object, "lines", js_whole(m->lines));
    js_set(object, "used_of_sectors", js_real(cli_ratio(m->used, 32 * m->sectors)));
    js_set(object, "used_of_lines", js_real(cli_ratio(m->used, 128 * m->lines)));
    return object;
}

static const char *const moved_heads[] = {"line",    "access", "L1",         "bytes",    "requests",
                                          "sectors", "lines",  "of sectors", "of lines", "PTX"};

/* `kiln study transactions`: profiles a run and lists each memory instruction. A row has the requests, the sectors and
 * lines that they move, and the share of these bytes that the kernel uses. */
int study_transactions(cli *c)
{
    const study_args *args = c->args;
    cli_choice chosen;
    kiln_profiling *p = NULL;
    kiln_error *error = NULL;
    kiln_run_options options;
    cli_make_run(&args->run, &options);
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &chosen))
        return CLI_USAGE;
    if (kiln_profile(c->engine, c->spec, &chosen.choice, &options, &p, &error) != KILN_OK)
        return cli_error(c, error);
    json_t *rows = js_array();
    if (!c->output.json)
        out_printf(
            "%s%s %s%s  requests to global memory: the bytes that a request moves, and the share of them that its "
            "threads use\n",
            out_bold(), kiln_spec_name(c->spec), chosen.variant, out_plain());
    for (size_t k = 0; k < kiln_profiling_kernel_count(p); k++) {
        cli_table table;
        size_t shown = 0;
        table_start(&table, "rllrrrrrrl");
        table.indent = 2;
        for (size_t i = 0; i < CLI_COUNT(moved_heads); i++)
            table_cell(&table, "%s", moved_heads[i]);
        for (size_t i = 0; i < kiln_profiling_insn_count(p); i++) {
            const kiln_profiled_insn *insn = kiln_profiling_insn(p, i);
            moved m = moved_of(insn->counters);
            if (insn->kernel != k || !m.requests)
                continue;
            js_add(rows, moved_json(p, insn, &m));
            table_cell(&table, "%s", insn->line ? cli_printf("%u", insn->line) : "-");
            table_cell(&table, "%s", m.kind);
            table_cell(&table, "%s", insn->l1 ? "yes" : "no");
            table_cell(&table, "%s", cli_per(m.bytes, m.lanes));
            table_cell(&table, "%s", cli_whole(m.requests));
            table_cell(&table, "%s", cli_per(m.sectors, m.requests));
            table_cell(&table, "%s", cli_per(m.lines, m.requests));
            table_cell(&table, "%s", cli_share(m.used, 32 * m.sectors));
            table_cell(&table, "%s", cli_share(m.used, 128 * m.lines));
            table_cell(&table, "%s", insn->ptx);
            shown++;
        }
        if (c->output.json)
            continue;
        out_printf("\n%s%s%s%s\n", out_bold(), kiln_profiling_kernel(p, k)->name, out_plain(),
                   shown ? "" : ": no access to global memory");
        if (shown)
            table_print(&table, true);
    }
    kiln_profiling_free(p);
    if (!c->output.json) {
        json_decref(rows);
        out_puts("\nsectors and lines: the number of sectors (32 bytes) and lines (128 bytes) that a request moves.\n"
                 "L1: whether the L1 cache may serve the request.\n");
        return 0;
    }
    json_t *object = js_object();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "variant", js_text(chosen.variant));
    js_set(object, "accesses", rows);
    js_print(object);
    return 0;
}

/* ---- carve-out: the effect of the split between L1 cache and shared memory ---- */

/* One architecture: the KiB of L1 and shared memory together, the largest part that can be shared memory, and the
 * amount that the system takes for each block. The figures come from the CUDA C++ Programming Guide 13.0, section
 * "Compute Capabilities". */
typedef struct split {
    int arch;
    unsigned total, reserved;
    unsigned shared[12];
} split;
static const split splits[] = {
    {70, 128, 0, {0, 8, 16, 32, 64, 96}},
    {75, 96, 0, {32, 64}},
    {80, 192, 1, {0, 8, 16, 32, 64, 100, 132, 164}},
    {86, 128, 1, {0, 8, 16, 32, 64, 100}},
    {87, 192, 1, {0, 8, 16, 32, 64, 100, 132, 164}},
    {89, 128, 1, {0, 8, 16, 32, 64, 100}},
    {90, 256, 1, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
    {100, 256, 1, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
    {120, 128, 1, {0, 8, 16, 32, 64, 100}},
};

static const split *split_of(int arch)
{
    for (size_t i = 0; i < CLI_COUNT(splits); i++)
        if (splits[i].arch == arch)
            return &splits[i];
    return NULL;
}

static unsigned choose(const split *of, uint64_t need, bool most)
{
    unsigned best = of->shared[0], count = 1;
    while (count < CLI_COUNT(of->shared) && of->shared[count])
        count++;
    for (unsigned i = 0; i < count; i++)
        if (most || (uint64_t)best * 1024 < need)
            best = of->shared[i];
    return best;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t distinct(uint64_t *keys, size_t count)
{
    uint64_t found = 0;
    qsort(keys, count, sizeof *keys, by_number);
    for (size_t i = 0; i < count; i++)
        found += i == 0 || keys[i] != keys[i - 1];
    return found;
}

/* Counts the sectors that the loads of the traced block request: the sum over all requests, and the number of distinct
 * sectors. */
static void block_sectors(const keeper *k, const char *kernel, uint64_t *asked, uint64_t *different)
{
    uint64_t *keys = cli_alloc((k->count + 1) * sizeof *keys), *all = cli_alloc((k->count + 1) * sizeof *all);
    size_t count = 0, total = 0;
    *asked = 0;
    for (size_t i = 0; i < k->count; i++) {
        const kept *row = &k->rows[i];
        if (row->kernel != kernel || row->writes || strcmp(row->space, "global") != 0)
            continue;
        uint64_t buffer = 0; /* the offset makes the sectors of two buffers different */
        for (size_t n = 0; row->buffer && n < k->names.count; n++)
            buffer = k->names.items[n] == row->buffer ? n + 1 : buffer;
        uint64_t key = buffer << 48 | row->address / 32;
        /* The lanes of one request stand one after another, with the same step and line. */
        /* the previous access of the same request; NULL for the first access of a request */
        const kept *before = count ? &k->rows[i - 1] : NULL;
        if (before && (before->step != row->step || before->kernel != kernel || before->line != row->line)) {
            *asked += distinct(keys, count);
            count = 0;
        }
        keys[count++] = key;
        all[total++] = key;
    }
    *asked += distinct(keys, count);
    *different = distinct(all, total);
}

typedef struct carve {
    bool cached, most;
    unsigned shared, l1;
    int blocks;
    uint64_t resident, sectors;
    bool fits;
} carve;

static carve carve_of(const split *of, const kiln_profiled_kernel *k, bool cached, bool most, uint64_t asked,
                      uint64_t different)
{
    uint64_t own = k->static_shared + k->dynamic_shared, need = own ? own + of->reserved * 1024u : 0;
    carve out = {.cached = cached, .most = most, .shared = choose(of, need, most), .blocks = k->blocks_per_sm};
    out.l1 = of->total - out.shared;
    if (need && (uint64_t)out.shared * 1024 / need < (uint64_t)out.blocks)
        out.blocks = (int)((uint64_t)out.shared * 1024 / need);
    out.resident = different * 32 * (uint64_t)out.blocks;
    out.fits = out.resident <= (uint64_t)out.l1 * 1024;
    out.sectors = cached && out.fits ? different : asked;
    return out;
}

static json_t *carve_json(const char *kernel, const carve *v)
{
    json_t *row = js_object();
    js_set(row, "kernel", js_text(kernel));
    js_set(row, "l1_cached", json_boolean(v->cached));
    js_set(row, "prefer", js_text(v->most ? "shared" : "l1"));
    js_set(row, "shared_kib", js_whole(v->shared));
    js_set(row, "l1_kib", js_whole(v->l1));
    js_set(row, "blocks_per_sm", json_integer(v->blocks));
    js_set(row, "read_by_resident_blocks", js_whole(v->resident));
    js_set(row, "fits_l1", json_boolean(v->fits));
    js_set(row, "sectors_beyond_l1", js_whole(v->sectors));
    return row;
}

static const char *const carve_heads[] = {"loads",     "split for",    "shared",  "L1",
                                          "blocks/SM", "read by them", "fits L1", "sectors beyond L1"};

/* Adds a row for each possible split of L1 and shared memory. A row has the resident blocks, the remaining cache, and
 * the sectors that come from the L2. Prints the rows as a table, or adds them to `rows`. */
static void show_carve(const split *of, const kiln_profiled_kernel *kernel, const keeper *k, bool json, json_t *rows)
{
    uint64_t asked, different;
    const char *name = NULL;
    cli_table table;
    for (size_t i = 0; i < k->names.count; i++)
        name = strcmp(k->names.items[i], kernel->name) == 0 ? k->names.items[i] : name;
    if (!name)
        return;
    block_sectors(k, name, &asked, &different);
    table_start(&table, "llrrrrlr");
    table.indent = 2;
    for (size_t i = 0; i < CLI_COUNT(carve_heads); i++)
        table_cell(&table, "%s", carve_heads[i]);
    for (int i = 0; i < 4; i++) {
        carve v = carve_of(of, kernel, i < 2, i % 2, asked, different);
        js_add(rows, carve_json(kernel->name, &v));
        table_cell(&table, "%s", v.cached ? "cached in L1" : "not cached");
        table_cell(&table, "%s", v.most ? "shared memory" : "L1");
        table_cell(&table, "%u KiB", v.shared);
        table_cell(&table, "%u KiB", v.l1);
        table_cell(&table, "%d", v.blocks);
        table_cell(&table, "%s", cli_bytes(v.resident));
        table_cell(&table, "%s", v.fits ? "yes" : "no");
        table_cell(&table, "%s", cli_whole(v.sectors));
    }
    if (json)
        return;
    out_printf("\n%s%s%s  a block requests %s sectors, %s of them different\n", out_bold(), kernel->name, out_plain(),
               cli_whole(asked), cli_whole(different));
    table_print(&table, true);
}

/* `kiln study carveout`: profiles and traces a run. For each kernel, compares the possible splits of the memory that L1
 * and shared memory have in common. */
int study_carveout(cli *c)
{
    const study_args *args = c->args;
    cli_choice chosen;
    kiln_profiling *p = NULL;
    kiln_error *error = NULL;
    kiln_run_options options;
    const kiln_device_info *device = NULL;
    keeper k = {0};
    cli_make_run(&args->run, &options);
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &chosen))
        return CLI_USAGE;
    if (kiln_engine_device(c->engine, &device, &error) != KILN_OK)
        return cli_error(c, error);
    const split *of = split_of(device->cc_major * 10 + device->cc_minor);
    if (!of)
        return cli_fail(c, KILN_ERROR_UNSUPPORTED, "kiln does not know how sm_%d%d splits L1 and shared memory",
                        device->cc_major, device->cc_minor);
    int code = trace(c, &chosen, &k);
    if (code)
        return code;
    if (kiln_profile(c->engine, c->spec, &chosen.choice, &options, &p, &error) != KILN_OK)
        return cli_error(c, error);
    json_t *object = js_object(), *rows = js_array();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "variant", js_text(chosen.variant));
    js_set(object, "rows", rows);
    if (!c->output.json)
        out_printf("%s%s %s%s  sm_%d%d, %u KiB of L1 and shared memory per SM; first-order estimate\n", out_bold(),
                   kiln_spec_name(c->spec), chosen.variant, out_plain(), device->cc_major, device->cc_minor, of->total);
    for (size_t i = 0; i < kiln_profiling_kernel_count(p); i++)
        show_carve(of, kiln_profiling_kernel(p, i), &k, c->output.json, rows);
    kiln_profiling_free(p);
    if (c->output.json) {
        js_print(object);
        return 0;
    }
    json_decref(object);
    out_puts(
        "\nThe split for L1 has the smallest shared memory that holds a block, the split for shared memory has the "
        "largest.\nIf the data that the resident blocks read fit in L1, each block reads each sector once from L2.\n"
        "Otherwise, and if L1 does not cache the loads, each request reads its sectors from L2.\n");
    return 0;
}
