/* findings.c - collects findings of the checks, and shows them with the lines of the source. */
#include <stdio.h>
#include <string.h>

#include "findings.h"

static const char *keep(const char *text) { return cli_printf("%s", text ? text : ""); }

/* Returns true if two sides of findings are at the same line of a source. If line numbers are missing, the PTX lines
 * are compared, and then the kernels must be equal too. */
static bool same_place(const kiln_check_finding *f, const kiln_check_side *a, const kiln_check_finding *g,
                       const kiln_check_side *b)
{
    if (!a->what || !b->what)
        return !a->what == !b->what;
    if (a->file[0] || b->file[0])
        return strcmp(a->file, b->file) == 0 && a->line == b->line;
    return a->ptx_line == b->ptx_line && strcmp(f->kernel, g->kernel) == 0;
}

/* Returns the length of the part of a text such as "atomic write of 4 bytes" that does not depend on the type of the
 * element. */
static size_t deed_length(const char *what)
{
    const char *of = what ? strstr(what, " of ") : NULL;
    return of ? (size_t)(of - what) : what ? strlen(what) : 0;
}

static bool same_deed(const kiln_check_side *a, const kiln_check_side *b)
{
    const size_t length = deed_length(a->what);
    return length == deed_length(b->what) && (length == 0 || strncmp(a->what, b->what, length) == 0);
}

/* Returns true if two findings are shown as one. The two sides of a race may be swapped, because it is chance which
 * access comes second. */
static bool same_finding(const kiln_check_finding *a, const kiln_check_finding *b)
{
    if (a->kind != b->kind || a->note != b->note || strcmp(a->buffer, b->buffer) != 0)
        return false;
    if (a->kind == KILN_CHECK_LEAK && !a->at.file[0] && !a->at.ptx_line && a->bytes != b->bytes)
        return false; /* leaks of the host's allocations have no place in a source, so their sizes distinguish them */
    const bool straight = same_place(a, &a->at, b, &b->at) && same_place(a, &a->other, b, &b->other);
    if (a->kind != KILN_CHECK_RACE)
        return straight && same_deed(&a->at, &b->at);
    return straight || (same_place(a, &a->at, b, &b->other) && same_place(a, &a->other, b, &b->at));
}

static void keep_side(kiln_check_side *side)
{
    side->what = side->what ? keep(side->what) : NULL;
    side->file = keep(side->file);
    side->text = keep(side->text);
    side->inlined = keep(side->inlined);
}

static void add_kernel(finding *item, const char *kernel)
{
    enum { MOST = 1000 }; /* the largest number of kernel names that are kept for one place */
    for (size_t k = 0; k < item->kernels.count; k++)
        if (strcmp(item->kernels.items[k], kernel) == 0)
            return;
    if (*kernel && item->kernels.count < MOST)
        cli_list_add(&item->kernels, keep(kernel));
}

/* Adds a finding. The list copies the first finding of a place, because the texts of a finding live only during the
 * call. */
int findings_add(void *user, const kiln_check_finding *f)
{
    findings *list = user;
    size_t at = 0;
    if (kiln_check_is_suppressed(list->rules, f)) {
        list->suppressed++;
        return 0;
    }
    while (at < list->count && !same_finding(&list->items[at].f, f))
        at++;
    if (at == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        finding *more = cli_alloc(list->room * sizeof *more);
        if (list->count)
            memcpy(more, list->items, list->count * sizeof *more);
        list->items = more;
    }
    finding *to = &list->items[at];
    if (at == list->count) {
        list->count++;
        *to = (finding){.f = *f, .seen = UINT64_MAX};
        to->f.kernel = keep(f->kernel), to->f.message = keep(f->message);
        to->f.space = keep(f->space), to->f.allocation = keep(f->allocation);
        to->f.buffer = keep(f->buffer), to->f.role = keep(f->role);
        keep_side(&to->f.at);
        keep_side(&to->f.other);
    }
    add_kernel(to, f->kernel);
    to->count += f->count;
    to->runs += to->seen != list->run;
    to->seen = list->run;
    return 0;
}

void findings_next(findings *list, const char *name)
{
    for (size_t k = 0; k < list->count; k++)
        if (!list->items[k].first)
            list->items[k].first = keep(name);
    list->run++;
}

size_t findings_severe(const findings *list)
{
    size_t count = 0;
    for (size_t k = 0; k < list->count; k++)
        count += !list->items[k].f.note;
    return count;
}

/* ---- findings as text ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *findings_place(const kiln_check_side *side)
{
    return side->file[0]    ? cli_printf("%s:%u", base_name(side->file), side->line)
           : side->ptx_line ? cli_printf("PTX line %u", side->ptx_line)
                            : "";
}

/* Returns the position of the '(' that begins the parameters of a demangled name, or the name's length. A '(' within
 * template arguments belongs to a type, so it is skipped. */
static size_t without_parameters(const char *name)
{
    size_t at = 0, depth = 0;
    for (; name[at]; at++) {
        depth += name[at] == '<';
        depth -= depth > 0 && name[at] == '>';
        if (name[at] == '(' && depth == 0 && at > 0)
            break;
    }
    return at;
}

const char *findings_short_name(const char *name, size_t most)
{
    if (strlen(name) <= most)
        return name;
    name = cli_strndup(name, without_parameters(name));
    const char *open = strchr(name, '<');
    if (strlen(name) > most && open)
        name = cli_printf("%.*s<...>", (int)(open - name), name);
    return strlen(name) > most ? cli_printf("%.*s...", (int)(most - strlen("...")), name) : name;
}

/* Returns the names of the kernels with this finding as a text: "scan<int>", "scan<int> and 11 others". */
static const char *kernels_text(const finding *item, size_t most)
{
    const size_t others = item->kernels.count ? item->kernels.count - 1 : 0;
    const char *name = findings_short_name(item->f.kernel, most);
    return others ? cli_printf("%s and %s other%s", name, cli_whole(others), others == 1 ? "" : "s") : name;
}

static const char *thread_text(const kiln_check_side *side)
{
    const char *block = side->has_block ? cli_printf("block (%u,%u,%u)", side->block[0], side->block[1], side->block[2])
                                        : "";
    return side->has_thread
               ? cli_printf("%s, thread (%u,%u,%u)", block, side->thread[0], side->thread[1], side->thread[2])
               : block;
}

static void show_side(const kiln_check_side *side)
{
    const char *place = findings_place(side), *thread = thread_text(side);
    if (side->text[0]) {
        out_printf("    %s%5u |%s ", out_dim(), side->line, out_plain());
        out_puts(side->text + strspn(side->text, " \t"));
        out_puts("\n");
    }
    out_puts("          ");
    out_puts(side->what);
    if (*place)
        out_printf(" at %s", place);
    if (side->inlined[0])
        out_printf(" (%s)", side->inlined);
    out_printf("%s%s\n", *thread ? ", " : "", thread);
}

static void show_finding(const finding *item, bool runs)
{
    const kiln_check_finding *f = &item->f;
    enum { NAME_MOST = 120 };
    out_printf("\n%s%s%s%s", f->note ? out_bold() : out_red(), f->note ? "note: " : "", kiln_check_text(f->kind),
               out_plain());
    if (*findings_place(&f->at))
        out_printf("  %s", findings_place(&f->at));
    if (f->kernel[0])
        out_printf("  kernel %s", kernels_text(item, NAME_MOST));
    out_puts("\n");
    out_wrapped(f->message, 2, out_width());
    if (f->at.what)
        show_side(&f->at);
    if (f->other.what)
        show_side(&f->other);
    out_printf("  %s time%s", cli_whole(item->count), item->count == 1 ? "" : "s");
    if (runs)
        out_printf(" in %s configuration%s, first %s", cli_whole(item->runs), item->runs == 1 ? "" : "s",
                   item->first ? item->first : "");
    out_puts("\n");
}

void findings_text(const findings *list, bool notes, bool runs)
{
    for (size_t k = 0; k < list->count; k++)
        if (notes || !list->items[k].f.note)
            show_finding(&list->items[k], runs);
}

static const char *places_text(const kiln_check_finding *f)
{
    const char *at = findings_place(&f->at), *other = findings_place(&f->other);
    return *other && strcmp(at, other) != 0 ? cli_printf("%s, %s", at, other) : at;
}

/* Prints a row for each of the first `most` findings that are not notes. */
static void show_table(const findings *list, size_t most)
{
    enum { NAME_MOST = 36 };
    cli_table table;
    table_start(&table, "lllr");
    table.indent = 2;
    table_cell(&table, "finding");
    table_cell(&table, "place");
    table_cell(&table, "kernel");
    table_cell(&table, "times");
    for (size_t k = 0; k < list->count && most; k++) {
        const finding *item = &list->items[k];
        if (item->f.note)
            continue;
        most--;
        table_cell(&table, "%s", kiln_check_text(item->f.kind));
        table_cell(&table, "%s", places_text(&item->f));
        table_cell(&table, "%s", kernels_text(item, NAME_MOST));
        table_cell(&table, "%s", cli_whole(item->count));
    }
    table_print(&table, true);
}

void findings_summary(const findings *list)
{
    enum { FULL_MOST = 3, ROWS_MOST = 12 };
    const size_t severe = findings_severe(list), notes = list->count - severe;
    out_printf("kiln checks: %s%s finding%s%s, %s note%s", severe ? out_red() : "", cli_whole(severe),
               severe == 1 ? "" : "s", severe ? out_plain() : "", cli_whole(notes), notes == 1 ? "" : "s");
    if (list->suppressed)
        out_printf(", %s suppressed", cli_whole(list->suppressed));
    out_puts("\n");
    if (list->dropped)
        out_printf("  There was no room for %s further finding%s.\n", cli_whole(list->dropped),
                   list->dropped == 1 ? "" : "s");
    if (list->starved)
        out_puts("  The checks ran out of memory, so races may have been missed.\n");
    if (severe > FULL_MOST) {
        out_puts("\n");
        show_table(list, ROWS_MOST);
        if (severe > ROWS_MOST)
            out_printf("  and %s more\n", cli_whole(severe - ROWS_MOST));
    }
    size_t full = severe > FULL_MOST ? 1 : severe;
    for (size_t k = 0; k < list->count && full; k++)
        if (!list->items[k].f.note) {
            show_finding(&list->items[k], false);
            full--;
        }
    if (severe > FULL_MOST || notes)
        out_puts("\n--details FILE writes every finding and note in full.\n");
}

/* ---- as JSON ---- */

static json_t *three_numbers(const unsigned values[3])
{
    json_t *array = js_array();
    for (size_t k = 0; k < 3; k++)
        js_add(array, js_whole(values[k]));
    return array;
}

static json_t *side_json(const kiln_check_side *side)
{
    json_t *object = js_object();
    js_set(object, "what", js_text(side->what));
    js_set(object, "file", js_text(side->file));
    js_set(object, "line", js_whole(side->line));
    js_set(object, "ptx_line", js_whole(side->ptx_line));
    js_set(object, "text", js_text(side->text));
    js_set(object, "inlined", js_text(side->inlined));
    js_set(object, "block", side->has_block ? three_numbers(side->block) : json_null());
    js_set(object, "thread", side->has_thread ? three_numbers(side->thread) : json_null());
    return object;
}

/* `offset` is the offset of the access from the start of the buffer: negative before the buffer, at least `bytes` after
 * its end */
static json_t *buffer_json(const kiln_check_finding *f)
{
    json_t *object = js_object();
    js_set(object, "name", js_text(f->buffer));
    js_set(object, "role", js_text(f->role));
    js_set(object, "offset", json_integer(f->offset));
    js_set(object, "bytes", js_whole(f->buffer_bytes));
    return object;
}

json_t *findings_json(const findings *list)
{
    json_t *array = js_array();
    for (size_t k = 0; k < list->count; k++) {
        const kiln_check_finding *f = &list->items[k].f;
        json_t *object = js_object();
        js_set(object, "kind", js_text(kiln_check_text(f->kind)));
        js_set(object, "note", json_boolean(f->note));
        js_set(object, "kernel", js_text(f->kernel));
        js_set(object, "kernels", js_whole(list->items[k].kernels.count));
        js_set(object, "message", js_text(f->message));
        js_set(object, "at", f->at.what ? side_json(&f->at) : json_null());
        js_set(object, "other", f->other.what ? side_json(&f->other) : json_null());
        js_set(object, "space", js_text(f->space));
        js_set(object, "address", js_text(f->space[0] ? cli_printf("0x%llx", (unsigned long long)f->address) : ""));
        js_set(object, "bytes", js_whole(f->bytes));
        js_set(object, "allocation", js_text(f->allocation));
        js_set(object, "buffer", f->buffer[0] ? buffer_json(f) : json_null());
        js_set(object, "count", js_whole(list->items[k].count));
        js_set(object, "runs", js_whole(list->items[k].runs));
        js_set(object, "first", js_text(list->items[k].first));
        js_add(array, object);
    }
    return array;
}
