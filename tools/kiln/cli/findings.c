/* findings.c - collects findings of the checks, and shows them with the lines of the source. */
#include <stdio.h>
#include <string.h>

#include "findings.h"

static const char *keep(const char *text) { return cli_printf("%s", text ? text : ""); }

static bool same_place(const kiln_check_side *a, const kiln_check_side *b)
{
    bool known = a->file[0] || b->file[0];
    return !a->what == !b->what && strcmp(a->file, b->file) == 0 && strcmp(a->inlined, b->inlined) == 0 &&
           (known ? a->line == b->line : a->ptx_line == b->ptx_line);
}

static bool same_finding(const kiln_check_finding *a, const kiln_check_finding *b)
{
    return a->kind == b->kind && a->note == b->note && strcmp(a->buffer, b->buffer) == 0 &&
           same_place(&a->at, &b->at) && same_place(&a->other, &b->other);
}

static void keep_side(kiln_check_side *side)
{
    side->what = side->what ? keep(side->what) : NULL;
    side->file = keep(side->file);
    side->text = keep(side->text);
    side->inlined = keep(side->inlined);
}

/* Adds a finding. Findings at the same place with the same message are one entry, which counts its threads and the
 * runs that had it. The first finding is copied, because its texts live only during the call. */
int findings_add(void *user, const kiln_check_finding *f)
{
    findings *list = user;
    size_t at = 0;
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

/* ---- as text ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *place_text(const kiln_check_side *side)
{
    return side->file[0]    ? cli_printf("%s:%u", base_name(side->file), side->line)
           : side->ptx_line ? cli_printf("PTX line %u", side->ptx_line)
                            : "";
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
    const char *place = place_text(side), *thread = thread_text(side);
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

void findings_text(const findings *list, bool notes, bool runs)
{
    for (size_t k = 0; k < list->count; k++) {
        const finding *item = &list->items[k];
        const kiln_check_finding *f = &item->f;
        if (f->note && !notes)
            continue;
        out_printf("\n%s%s%s%s", f->note ? out_bold() : out_red(), f->note ? "note: " : "", kiln_check_text(f->kind),
                   out_plain());
        if (*place_text(&f->at))
            out_printf("  %s", place_text(&f->at));
        if (f->kernel[0])
            out_printf("  kernel %s", f->kernel);
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

/* offset of the access from the start of the buffer: negative before it, at least `bytes` after it */
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
