/* verdict.c - writes the verdict as JSON for programs and as a page for people. The digest is a hash of everything that
 * depends only on candidate, spec, seed and device. The hashed text has no times, addresses or description of the
 * machine. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "judge_internal.h"

struct kiln_judgement {
    const kiln_allocator *mem;
    kiln_allocator mem_copy;
    kiln_judged kind;
    char *json, *page;
};

int kiln_judgement_kind(const kiln_judgement *verdict) { return verdict ? (int)verdict->kind : -1; }
const char *kiln_judgement_json(const kiln_judgement *verdict) { return verdict ? verdict->json : ""; }
const char *kiln_judgement_page(const kiln_judgement *verdict) { return verdict ? verdict->page : ""; }

void kiln_judgement_free(kiln_judgement *verdict)
{
    if (!verdict)
        return;
    const kiln_allocator copy = verdict->mem_copy, *mem = verdict->mem ? &copy : NULL;
    kiln__free(mem, verdict->json);
    kiln__free(mem, verdict->page);
    kiln__free(mem, verdict);
}

/* ---- JSON ---- */

/* Writes a text as a JSON string. A candidate may contain any bytes. So control characters are escaped, and bytes that
 * are not UTF-8 become U+FFFD. */
static void put_string(kiln__text *out, const char *text)
{
    kiln__text_puts(out, "\"");
    for (const char *at = text ? text : ""; *at;) {
        const char *from = at;
        const uint32_t c = kiln__utf8_next(&at);
        if (c == '"' || c == '\\')
            kiln__text_printf(out, "\\%c", (char)c);
        else if (c == '\n')
            kiln__text_puts(out, "\\n");
        else if (c < 0x20 || c == 0x7f || c == 0xfffd)
            kiln__text_printf(out, "\\u%04x", (unsigned)c);
        else
            kiln__text_add(out, from, (size_t)(at - from));
    }
    kiln__text_puts(out, "\"");
}

static void put_member(kiln__text *out, const char *name, const char *text)
{
    kiln__text_printf(out, "\"%s\": ", name);
    if (text)
        put_string(out, text);
    else
        kiln__text_puts(out, "null");
}

static void put_sizes(const kiln__judge *judge, kiln__text *out)
{
    const kiln__settings *set = &judge->spec->size_sets[judge->failed.set].settings;
    kiln__text_puts(out, "\"sizes\": {");
    for (size_t i = 0; i < set->count; i++) {
        size_t at = 0;
        while (at < judge->range_count && strcmp(judge->ranges[at].name, set->items[i].name) != 0)
            at++;
        kiln__text_printf(out, "%s\"%s\": ", i ? ", " : "", set->items[i].name);
        const kiln_value value = set->items[i].value;
        if (at < judge->range_count)
            kiln__text_printf(out, "%" PRId64, judge->failed.ranged[at]);
        else if (value.kind == KILN_TEXT)
            put_string(out, value.as.text);
        else if (value.kind == KILN_BOOL)
            kiln__text_puts(out, value.as.i ? "true" : "false");
        else
            kiln__value_print(out, value);
    }
    kiln__text_puts(out, "}");
}

/* Writes the smallest case in which the candidate fails. Writes null if there is no such case. */
static void put_case(const kiln__judge *judge, kiln__text *out)
{
    const kiln__judge_fault *f = &judge->fault;
    if (!judge->failed.ranged) {
        kiln__text_puts(out, "  \"case\": null,\n");
        return;
    }
    kiln__text_puts(out, "  \"case\": {");
    put_member(out, "phase", kiln__judge_phase_word(judge->failed.phase));
    kiln__text_puts(out, ", ");
    put_sizes(judge, out);
    kiln__text_puts(out, ", ");
    put_member(out, "contents", kiln__judge_class_word(judge->failed.class));
    kiln__text_printf(out, ", \"seed\": %" PRIu64 ", \"order\": %" PRIu64 ", \"shift\": %" PRIu64 ", ",
                      judge->failed.seed, judge->failed.order, judge->failed.shift);
    kiln__text_printf(out, "\"few_multiprocessors\": %s, ", judge->failed.few ? "true" : "false");
    put_member(out, "buffer", f->buffer);
    kiln__text_printf(out, ", \"number\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"of\": %" PRIu64 ", ", f->element,
                      f->wrong, f->of);
    put_member(out, "element", *f->index ? f->index : NULL);
    kiln__text_puts(out, ", ");
    put_member(out, "expected", *f->index ? f->expected : NULL);
    kiln__text_puts(out, ", ");
    put_member(out, "got", *f->index ? f->got : NULL);
    kiln__text_puts(out, "},\n");
}

static void put_findings(const kiln__judge *judge, size_t notes, kiln__text *out)
{
    kiln__text_puts(out, "  \"findings\": [");
    for (size_t i = 0; i < judge->finding_count; i++) {
        const kiln__judge_finding *f = &judge->findings[i];
        kiln__text_puts(out, i ? ",\n    {" : "\n    {");
        put_member(out, "kind", f->kind);
        kiln__text_puts(out, ", ");
        put_member(out, "message", f->message);
        kiln__text_puts(out, ", ");
        put_member(out, "file", f->file);
        kiln__text_printf(out, ", \"line\": %u, ", f->line);
        put_member(out, "source", f->text);
        kiln__text_puts(out, ", ");
        put_member(out, "kernel", f->kernel);
        kiln__text_puts(out, ", ");
        put_member(out, "buffer", f->buffer);
        kiln__text_printf(out, ", \"count\": %" PRIu64 ", \"note\": %s}", f->count, f->note ? "true" : "false");
    }
    kiln__text_puts(out, judge->finding_count ? "\n  ],\n  \"notes\": [" : "],\n  \"notes\": [");
    for (size_t i = 0; i < notes; i++) {
        kiln__text_puts(out, i ? ", " : "");
        put_string(out, judge->notes[i]);
    }
    kiln__text_puts(out, "],\n");
}

static void put_trials(const kiln__judge *judge, kiln__text *out)
{
    kiln__text_puts(out, "  \"trials\": {");
    for (int p = 0; p < KILN__JUDGE_PHASE_COUNT; p++)
        if (p != KILN__JUDGE_PHASE_TIMES)
            kiln__text_printf(out, "\"%s\": %u, ", kiln__judge_phase_word((kiln__judge_phase)p), judge->ran[p]);
    kiln__text_printf(out, "\"skipped\": %u, \"unsettled\": %u, \"largest\": %" PRIu64 ", \"sizes\": {", judge->skipped,
                      judge->unsettled, judge->largest);
    for (size_t i = 0; i < judge->range_count; i++) {
        const kiln__judge_range *range = &judge->ranges[i];
        kiln__text_printf(out, "%s\"%s\": {\"tried\": ", i ? ", " : "", range->name);
        if (range->tried < range->from)
            kiln__text_puts(out, "null");
        else
            kiln__text_printf(out, "%" PRId64, range->tried);
        kiln__text_printf(out, ", \"of\": %" PRId64 "}", kiln__judge_last(range));
    }
    kiln__text_puts(out, "}},\n");
}

/* Writes a number in the same form in every locale. Writes null for NaN and infinities, which JSON cannot represent. */
static void put_number(kiln__text *out, const char *name, double value)
{
    if (isfinite(value))
        kiln__text_printf(out, "\"%s\": %.9g", name, value);
    else
        kiln__text_printf(out, "\"%s\": null", name);
}

static void put_times(const kiln__judge *judge, kiln__text *out)
{
    const struct kiln__judge_times *t = &judge->times;
    if (!t->known) {
        kiln__text_puts(out, "  \"times\": null,\n");
        return;
    }
    kiln__text_puts(out, "  \"times\": {");
    put_member(out, "kind", t->measured ? "measured" : "estimated");
    kiln__text_puts(out, ", ");
    put_member(out, "size_set", t->sizes);
    kiln__text_puts(out, ", ");
    put_number(out, "seconds", t->seconds);
    kiln__text_puts(out, ", ");
    put_number(out, "low", t->measured ? t->low : NAN);
    kiln__text_puts(out, ", ");
    put_number(out, "high", t->measured ? t->high : NAN);
    kiln__text_puts(out, ", ");
    put_number(out, "against", t->against_known ? t->against : NAN);
    kiln__text_puts(out, ", ");
    put_number(out, "roofline", t->roofline > 0 ? t->roofline : NAN);
    kiln__text_puts(out, "},\n");
}

static void put_count(kiln__text *out, const char *name, bool known, uint64_t value)
{
    if (known)
        kiln__text_printf(out, "\"%s\": %" PRIu64, name, value);
    else
        kiln__text_printf(out, "\"%s\": null", name);
}

static void put_side(const kiln__judge *judge, kiln__text *out, const char *name, const kiln__judge_side *side)
{
    const bool measured = judge->comparison.kind == KILN__JUDGE_MEASURED, right = side->answer == KILN__JUDGE_RIGHT;
    kiln__text_printf(out, ",\n    \"%s\": {", name);
    put_number(out, "seconds", side->seconds > 0 ? side->seconds : NAN);
    kiln__text_puts(out, ", ");
    put_number(out, "low", measured && side->low > 0 ? side->low : NAN);
    kiln__text_puts(out, ", ");
    put_number(out, "high", measured && side->high > 0 ? side->high : NAN);
    kiln__text_printf(out, ", \"right\": %s, ",
                      side->answer == KILN__JUDGE_UNKNOWN ? "null"
                      : right                             ? "true"
                                                          : "false");
    put_number(out, "worst_error", right ? side->worst_error : NAN);
    kiln__text_puts(out, ", ");
    put_count(out, "launches", side->counted, side->launches);
    kiln__text_puts(out, ", ");
    put_count(out, "instructions", side->counted, side->executed);
    kiln__text_puts(out, ", ");
    put_count(out, "sectors", side->counted, side->sectors);
    kiln__text_puts(out, ", ");
    put_count(out, "wavefronts", side->counted, side->wavefronts);
    kiln__text_puts(out, "}");
}

static const char *const comparison_kinds[] = {"measured", "estimated", "counted"};

/* Writes the comparison with another variant. Writes null if there is no comparison. */
static void put_comparison(const kiln__judge *judge, kiln__text *out)
{
    const struct kiln__judge_comparison *of = &judge->comparison;
    if (!of->known) {
        kiln__text_puts(out, "  \"comparison\": null,\n");
        return;
    }
    kiln__text_puts(out, "  \"comparison\": {");
    put_member(out, "kind", comparison_kinds[of->kind]);
    kiln__text_puts(out, ", ");
    put_member(out, "spec", of->spec);
    kiln__text_puts(out, ", ");
    put_member(out, "variant", of->variant);
    kiln__text_puts(out, ", \"params\": {");
    for (size_t i = 0; i < judge->options.against_param_count; i++) {
        const kiln_setting *param = &judge->options.against_params[i];
        kiln__text_printf(out, "%s\"%s\": ", i ? ", " : "", param->name);
        if (param->value.kind == KILN_TEXT)
            put_string(out, param->value.as.text);
        else if (param->value.kind == KILN_BOOL)
            kiln__text_puts(out, param->value.as.i ? "true" : "false");
        else
            kiln__value_print(out, param->value);
    }
    kiln__text_puts(out, "}, ");
    put_member(out, "origin", judge->options.against_origin);
    kiln__text_puts(out, ",\n    ");
    put_member(out, "size_set", of->sizes);
    kiln__text_puts(out, ", ");
    put_member(out, "timed_size_set", of->timed_sizes);
    put_side(judge, out, "candidate", &of->candidate);
    put_side(judge, out, "against", &of->against);
    kiln__text_puts(out, ",\n    ");
    put_number(out, "ratio", of->faster ? of->ratio : NAN);
    kiln__text_puts(out, ", ");
    put_number(out, "low", of->faster && of->kind == KILN__JUDGE_MEASURED ? of->low : NAN);
    kiln__text_puts(out, ", ");
    put_number(out, "high", of->faster && of->kind == KILN__JUDGE_MEASURED ? of->high : NAN);
    kiln__text_puts(out, ", ");
    put_member(out, "faster", of->faster);
    kiln__text_puts(out, "},\n");
}

/* Removes the digits of hexadecimal numbers that may be addresses. The address of a variable differs between contexts
 * of one process, and the address of managed memory differs between processes. */
static void drop_addresses(kiln__text *text)
{
    enum { LEAST = 6 }; /* the least number of hexadecimal digits of an address */
    size_t to = 0;
    for (size_t at = 0; at < text->length;) {
        const char *from = text->data + at;
        const size_t digits = text->length - at > 2 && from[0] == '0' && from[1] == 'x'
                                  ? strspn(from + 2, "0123456789abcdef")
                                  : 0;
        text->data[to++] = text->data[at++];
        if (digits >= LEAST)
            at += digits + 1;
    }
    text->length = to;
}

/* Writes the part of the verdict that has no times and does not describe the machine. If `whole` is false, leaves out
 * the notes about timed repetitions, and the message of a fault in them. The clock decides which repetitions are
 * compared, so the hash must not cover these texts. */
static void put_settled(const kiln__judge *judge, bool whole, kiln__text *out)
{
    const bool all = whole || !judge->timed;
    const kiln__judge_fault *f = &judge->fault;
    kiln__text_puts(out, "{\n  \"schema\": \"kiln-verdict-1\",\n  ");
    put_member(out, "verdict", kiln_judged_word(f->kind));
    kiln__text_puts(out, ",\n  ");
    put_member(out, "text", kiln_judged_text(f->kind));
    kiln__text_puts(out, ",\n  ");
    put_member(out, "message", all ? f->message : NULL);
    kiln__text_puts(out, ",\n  ");
    put_member(out, "spec", judge->spec->name);
    kiln__text_puts(out, ", ");
    put_member(out, "variant", judge->variant->name);
    kiln__text_puts(out, ", ");
    put_member(out, "candidate", judge->name);
    kiln__text_printf(out, ", \"seed\": %" PRIu64 ",\n", judge->options.seed);
    put_case(judge, out);
    put_findings(judge, all ? judge->note_count : judge->untimed_notes, out);
    put_trials(judge, out);
}

static void put_hash(kiln__text *out, const char *name, const char *text, size_t length)
{
    char hash[33];
    kiln__hash_print(kiln__hash(text, length), hash);
    kiln__text_printf(out, "\"%s\": \"%s\"", name, hash);
}

static void make_json(const kiln__judge *judge, kiln__text *out)
{
    kiln__text settled = {.mem = judge->mem};
    char digest[33];
    put_settled(judge, false, &settled);
    drop_addresses(&settled);
    kiln__hash_print(kiln__hash(kiln__text_get(&settled), settled.length), digest);
    out->failed |= settled.failed;
    kiln__text_free(&settled);
    put_settled(judge, true, out);
    put_times(judge, out);
    put_comparison(judge, out);
    kiln__text_puts(out, "  \"environment\": {");
    put_member(out, "kiln", kiln_version());
    kiln__text_puts(out, ", ");
    put_member(out, "device", judge->engine->info.id);
    kiln__text_puts(out, ", ");
    put_member(out, "name", judge->engine->info.name);
    kiln__text_printf(out, ", \"simulated\": %s, \"sandbox\": %s, ", judge->simulated ? "true" : "false",
                      judge->engine->confined ? "true" : "false");
    put_number(out, "seconds", kiln__seconds_since(judge->begun));
    kiln__text_puts(out, "},\n  \"digest\": {");
    put_hash(out, "spec", judge->spec->file.text, judge->spec->file.length);
    kiln__text_puts(out, ", ");
    put_hash(out, "candidate", judge->variant->source_text, strlen(judge->variant->source_text));
    kiln__text_puts(out, ", ");
    put_member(out, "code", *judge->code.digest ? judge->code.digest : NULL);
    kiln__text_puts(out, ", ");
    put_member(out, "verdict", digest);
    kiln__text_puts(out, "}\n}\n");
}

/* ---- the verdict as a page ---- */

/* Writes a text that contains parts of the candidate. Control characters become '?', because a terminal would obey
 * them. */
static void put_plain(kiln__text *out, const char *text)
{
    for (const char *at = text; *at; at++)
        kiln__text_add(out, ((unsigned char)*at < 0x20 && *at != '\n') || *at == 0x7f ? "?" : at, 1);
}

static void print_case(const kiln__judge *judge, kiln__text *out)
{
    if (!judge->failed.ranged)
        return;
    kiln__text_puts(out, "  smallest case  ");
    kiln__judge_print_sizes(judge, &judge->failed, out);
    kiln__text_printf(out, "\n  contents       %s, seed %" PRIu64 "\n  found by       %s",
                      kiln__judge_class_word(judge->failed.class), judge->failed.seed,
                      kiln__judge_phase_word(judge->failed.phase));
    if (judge->failed.order)
        kiln__text_printf(out, ", order of blocks %" PRIu64, judge->failed.order);
    if (judge->failed.shift)
        kiln__text_printf(out, ", buffers moved (%" PRIu64 ")", judge->failed.shift);
    if (judge->failed.few)
        kiln__text_puts(out, ", device.sm_count = 4");
    kiln__text_puts(out, "\n");
}

static void print_side(kiln__text *out, const char *name, const kiln__judge_side *side)
{
    kiln__text_printf(out, "    %s: ", name);
    if (side->seconds > 0)
        kiln__text_printf(out, "%.4g us, ", side->seconds * 1e6);
    if (side->counted)
        kiln__text_printf(out, "%" PRIu64 " warp instructions, %" PRIu64 " sectors, %" PRIu64 " wavefronts, ",
                          side->executed, side->sectors, side->wavefronts);
    if (side->answer == KILN__JUDGE_RIGHT)
        kiln__text_printf(out, "worst error %.3g of the tolerance", side->worst_error);
    else
        kiln__text_puts(out, side->answer == KILN__JUDGE_WRONG ? "wrong answer" : "answer not compared");
    kiln__text_puts(out, "\n");
}

/* Writes the comparison with another variant: its kind, the figures of both kernels, and which kernel is faster. */
static void print_comparison(const kiln__judge *judge, kiln__text *out)
{
    const struct kiln__judge_comparison *of = &judge->comparison;
    if (!of->known)
        return;
    kiln__text_printf(out, "  compared       with %s of %s", of->variant, of->spec);
    if (judge->options.against_origin)
        kiln__text_printf(out, " (%s)", judge->options.against_origin);
    kiln__text_printf(out, ", %s; answers%s at the sizes '%s'", comparison_kinds[of->kind],
                      of->candidate.counted ? " and counters" : "", of->sizes);
    if (of->timed_sizes)
        kiln__text_printf(out, ", times at '%s'", of->timed_sizes);
    kiln__text_puts(out, "\n");
    print_side(out, "candidate", &of->candidate);
    print_side(out, of->variant, &of->against);
    if (!of->faster) {
        kiln__text_puts(out, "    there are no times, and counters do not tell which one is faster\n");
        return;
    }
    kiln__text_printf(out, "    the candidate is %.3g times as fast", of->ratio);
    if (of->kind == KILN__JUDGE_MEASURED)
        kiln__text_printf(out, " (95 %% interval %.3g to %.3g)", of->low, of->high);
    else
        kiln__text_puts(out, " by the estimate");
    kiln__text_printf(out, ": %s\n",
                      strcmp(of->faster, "candidate") == 0 ? "the candidate is faster"
                      : strcmp(of->faster, "against") == 0 ? "the candidate is slower"
                                                           : "the difference is within noise");
}

/* Writes the verdict for people: its kind and message, the smallest failing case, the findings, the notes, the numbers
 * of trials, and the times. */
static void make_page(const kiln__judge *judge, kiln__text *out)
{
    const kiln__judge_fault *f = &judge->fault;
    kiln__text_printf(out, "%s: ", kiln_judged_word(f->kind));
    kiln__text_puts(out, kiln_judged_text(f->kind));
    kiln__text_puts(out, "\n");
    if (f->message) {
        kiln__text_puts(out, "  ");
        put_plain(out, f->message);
        kiln__text_puts(out, "\n");
    }
    print_case(judge, out);
    for (size_t i = 0; i < judge->finding_count; i++) {
        const kiln__judge_finding *found = &judge->findings[i];
        kiln__text_printf(out, "  %s%s, ", found->note ? "note: " : "", found->kind);
        put_plain(out, found->file);
        kiln__text_printf(out, ":%u: ", found->line);
        put_plain(out, found->text + strspn(found->text, " \t"));
        kiln__text_puts(out, "\n");
    }
    for (size_t i = 0; i < judge->note_count; i++) {
        kiln__text_puts(out, "  note: ");
        put_plain(out, judge->notes[i]);
        kiln__text_puts(out, "\n");
    }
    kiln__text_puts(out, "  trials         ");
    for (int p = 0; p < KILN__JUDGE_PHASE_TIMES; p++)
        kiln__text_printf(out, "%s%u %s", p ? ", " : "", judge->ran[p], kiln__judge_phase_word((kiln__judge_phase)p));
    kiln__text_printf(out, "; %u outside of the spec's constraints or too large", judge->skipped);
    if (judge->unsettled)
        kiln__text_printf(out, "; %u in which the variant's own source fails too", judge->unsettled);
    kiln__text_puts(out, "\n");
    if (judge->times.known) {
        kiln__text_printf(out, "  time           %.4g us, %s at the sizes '%s' on %s", judge->times.seconds * 1e6,
                          judge->times.measured ? "measured" : "estimated", judge->times.sizes, judge->times.device);
        if (judge->times.against_known)
            kiln__text_printf(out, "; the variant's own source takes %.4g us", judge->times.against * 1e6);
        kiln__text_puts(out, "\n");
    }
    print_comparison(judge, out);
}

kiln_judgement *kiln__judge_conclude(kiln__judge *judge)
{
    kiln_judgement *verdict = kiln__calloc(judge->mem, 1, sizeof *verdict);
    kiln__text json = {.mem = judge->mem}, page = {.mem = judge->mem};
    if (!verdict)
        return NULL;
    if (judge->mem) {
        verdict->mem_copy = *judge->mem;
        verdict->mem = &verdict->mem_copy;
    }
    verdict->kind = judge->fault.kind;
    make_json(judge, &json);
    make_page(judge, &page);
    if (!json.failed && !page.failed && !judge->arena.failed) {
        verdict->json = kiln__strdup(judge->mem, kiln__text_get(&json));
        verdict->page = kiln__strdup(judge->mem, kiln__text_get(&page));
    }
    kiln__text_free(&json);
    kiln__text_free(&page);
    if (verdict->json && verdict->page)
        return verdict;
    kiln_judgement_free(verdict);
    return NULL;
}
