/* check_report.c - reports the findings of KILN_SIM_CHECK. The formats are Kiln's own text, JSON for `kiln sim run`,
 * and the text or XML of compute-sanitizer, for programs that read the output of compute-sanitizer. The file also
 * applies suppressions (suppress.c) and sets the exit code. The environment variables are described in
 * engine/sim/observe/check/README.md. The driver calls these functions under its locks, or when the process ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cu_objects.h"
#include "journal.h"
#include "vm_checks.h"

typedef enum report_format { FORMAT_KILN, FORMAT_TEXT, FORMAT_XML, FORMAT_JSON } report_format;

static struct {
    bool begun, has_rules; /* has_rules: either the file of suppressions was read, or there is no such file */
    report_format format;
    FILE *to;            /* the output; NULL for FORMAT_JSON, unless the journal cannot be written */
    sim_journal journal; /* for FORMAT_JSON */
    unsigned checks;     /* number of checks with at least one finding */
    pid_t process;       /* the process that opened the journal; a fork of it needs another file */
    char *suppressions;  /* the text of the file of suppressions, or NULL without such a file */
    size_t errors;
    bool lost; /* the journal could not be written, so findings go to standard error */
} report;

static const char *get_variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static void read_suppressions(void)
{
    const char *path = get_variable("KILN_SIM_CHECK_SUPPRESS");
    kiln_error *error = NULL;
    size_t length;
    if (report.has_rules)
        return;
    report.has_rules = true;
    if (!path || kiln__file_read(NULL, path, 0, &report.suppressions, &length, &error) == KILN_OK)
        return;
    fprintf(stderr, "kiln checks: KILN_SIM_CHECK_SUPPRESS: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    report.suppressions = NULL;
}

/* ---- text ---- */

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static void put_text(const char *text);

/* Writes the name that a kernel has in its source. */
static void put_kernel(const char *symbol)
{
    char *name = sim_readable_name(symbol);
    put_text(name ? name : symbol);
    free(name);
}

/* Writes a text. Escapes all characters except printable ASCII and newlines. Names of kernels and files come from the
 * module, which is untrusted, and the output may be a terminal. */
static void put_text(const char *text)
{
    for (; *text; text++) {
        if (report.format == FORMAT_XML && strchr("<>&\"", *text))
            fprintf(report.to, "&#%u;", (unsigned)*text);
        else if (*text == '\n' || (*text >= 0x20 && *text < 0x7f))
            fputc(*text, report.to);
        else
            fprintf(report.to, "\\x%02x", (unsigned)(unsigned char)*text);
    }
}

static void put_side(const kiln_check_side *side)
{
    FILE *to = report.to;
    fputs("    ", to);
    put_text(side->what);
    if (side->file[0]) {
        fputs(" at ", to);
        put_text(base_name(side->file));
        fprintf(to, ":%u", side->line);
    } else if (side->ptx_line) {
        fprintf(to, " at PTX line %u", side->ptx_line);
    }
    if (side->inlined[0]) {
        fputs(" (", to);
        put_text(side->inlined);
        fputs(")", to);
    }
    if (side->has_block)
        fprintf(to, ", block (%u,%u,%u)", side->block[0], side->block[1], side->block[2]);
    if (side->has_thread)
        fprintf(to, ", thread (%u,%u,%u)", side->thread[0], side->thread[1], side->thread[2]);
    fputc('\n', to);
}

static void put_finding(const kiln_check_finding *f)
{
    fprintf(report.to, "%s%s: ", f->note ? "note: " : "", kiln_check_text(f->kind));
    put_text(f->message);
    fputs("\n", report.to);
    if (f->kernel[0]) {
        fputs("    in kernel ", report.to);
        put_kernel(f->kernel);
        fprintf(report.to, ", %llu time%s\n", (unsigned long long)f->count, f->count == 1 ? "" : "s");
    }
    if (f->at.what)
        put_side(&f->at);
    if (f->other.what)
        put_side(&f->other);
}

/* ---- the format of compute-sanitizer ---- */

static const char *direction_of(const kiln_check_side *side)
{
    return !side->what ? "" : strstr(side->what, "atomic") ? "Atomic" : strstr(side->what, "write") ? "Write" : "Read";
}

/* Writes the first line of a record, in which compute-sanitizer describes this kind of finding. */
static void write_headline(const kiln_check_finding *f, char *text, size_t size)
{
    const char *direction = direction_of(&f->at);
    char lower[8];
    snprintf(lower, sizeof lower, "%c%s", direction[0] | 0x20, direction[0] ? direction + 1 : "");
    switch (f->kind) {
    case KILN_CHECK_BOUNDS:
    case KILN_CHECK_MISALIGNED:
    case KILN_CHECK_FREED:
        snprintf(text, size, "Invalid __%s__ %s of size %" PRIu64 " bytes", f->space, lower, f->bytes);
        break;
    case KILN_CHECK_UNINITIALISED:
        snprintf(text, size, "Uninitialized __%s__ memory read of size %" PRIu64 " bytes", f->space, f->bytes);
        break;
    case KILN_CHECK_RACE: snprintf(text, size, "Race reported between %s access", direction); break;
    case KILN_CHECK_BARRIER: snprintf(text, size, "Barrier error detected"); break;
    case KILN_CHECK_LEAK: snprintf(text, size, "Leaked %" PRIu64 " bytes at 0x%" PRIx64, f->bytes, f->address); break;
    default: snprintf(text, size, "Error: %s", kiln_check_text(f->kind)); break;
    }
}

static void put_place(const kiln_check_finding *f, const kiln_check_side *side)
{
    fputs(" at ", report.to);
    if (side == &f->other && !side->has_block)
        put_text("another launch");
    else if (f->kernel[0])
        put_kernel(f->kernel);
    else
        put_text("host");
    if (side->file[0]) {
        fputs(" in ", report.to);
        put_text(side->file);
        fprintf(report.to, ":%u", side->line);
    }
}

static void put_as_text(const kiln_check_finding *f)
{
    FILE *to = report.to;
    char text[128];
    write_headline(f, text, sizeof text);
    fprintf(to, "========= %s%s", f->note ? "Warning: " : f->kind == KILN_CHECK_RACE ? "Error: " : "", text);
    if (f->kind == KILN_CHECK_RACE) {
        put_place(f, &f->at);
        fprintf(to, "\n=========     and %s access", direction_of(&f->other));
        put_place(f, &f->other);
        fprintf(to, " [%" PRIu64 " hazards]", f->count);
    } else if (f->at.what) {
        fputs("\n=========    ", to);
        put_place(f, &f->at);
    }
    if (f->at.has_thread)
        fprintf(to, "\n=========     by thread (%u,%u,%u) in block (%u,%u,%u)", f->at.thread[0], f->at.thread[1],
                f->at.thread[2], f->at.block[0], f->at.block[1], f->at.block[2]);
    if (f->kind == KILN_CHECK_BOUNDS || f->kind == KILN_CHECK_FREED || f->kind == KILN_CHECK_MISALIGNED)
        fprintf(to, "\n=========     Address 0x%" PRIx64 " is %s", f->address,
                f->kind == KILN_CHECK_MISALIGNED ? "misaligned" : "out of bounds");
    fputs("\n=========     ", to);
    put_text(f->message);
    fputs("\n=========\n", to);
}

static void put_element(const char *name, const char *text)
{
    fprintf(report.to, "<%s>", name);
    put_text(text);
    fprintf(report.to, "</%s>", name);
}

static void put_axes(const char *name, const unsigned at[3])
{
    fprintf(report.to, "<%s><x>%u</x><y>%u</y><z>%u</z></%s>", name, at[0], at[1], at[2], name);
}

/* Writes a finding as a record of compute-sanitizer's XML format. */
static void put_as_xml(const kiln_check_finding *f)
{
    static const char *const kinds[KILN_CHECK_KINDS] = {
        [KILN_CHECK_BOUNDS] = "Precise", [KILN_CHECK_MISALIGNED] = "Precise",
        [KILN_CHECK_FREED] = "Precise",  [KILN_CHECK_UNINITIALISED] = "Initcheck",
        [KILN_CHECK_RACE] = "Race",      [KILN_CHECK_BARRIER] = "Synccheck",
        [KILN_CHECK_WARP] = "Synccheck", [KILN_CHECK_LEAK] = "Leak"};
    FILE *to = report.to;
    char text[128];
    write_headline(f, text, sizeof text);
    fputs("<record>", to);
    put_element("kind", kinds[f->kind] ? kinds[f->kind] : kiln_check_text(f->kind));
    put_element("level", f->note ? "Warning" : "Error");
    fputs("<what><text>", to);
    put_text(text);
    fputs(": ", to);
    put_text(f->message);
    fputs("</text>", to);
    if (f->space[0]) {
        put_element("space", f->space);
        fprintf(to, "<size>%" PRIu64 "</size><address>0x%" PRIx64 "</address>", f->bytes, f->address);
        put_element("direction", direction_of(&f->at));
    }
    fputs("</what><where>", to);
    fputs("<func>", to);
    put_kernel(f->kernel);
    fputs("</func>", to);
    if (f->at.file && f->at.file[0]) {
        put_element("path", f->at.file);
        fprintf(to, "<line>%u</line>", f->at.line);
    }
    fputs("</where>", to);
    if (f->at.has_thread) {
        fputs("<who>", to);
        put_axes("threadIdx", f->at.thread);
        put_axes("blockIdx", f->at.block);
        fputs("</who>", to);
    }
    fputs("</record>\n", to);
}

/* ---- as JSON ---- */

/* Adds `"key": ` and a string. */
static void add_string(kiln__text *out, const char *key, const char *value)
{
    kiln__text_printf(out, ", \"%s\": ", key);
    sim_json_string(out, value);
}

static void add_axes(kiln__text *out, const char *key, bool known, const unsigned at[3])
{
    if (known)
        kiln__text_printf(out, ", \"%s\": [%u, %u, %u]", key, at[0], at[1], at[2]);
}

static void add_side(kiln__text *out, const char *key, const kiln_check_side *side)
{
    if (!side->what)
        return;
    kiln__text_printf(out, ", \"%s\": {\"line\": %u, \"ptx_line\": %u", key, side->line, side->ptx_line);
    add_string(out, "what", side->what);
    add_string(out, "file", side->file);
    add_string(out, "inlined", side->inlined);
    add_axes(out, "block", side->has_block, side->block);
    add_axes(out, "thread", side->has_thread, side->thread);
    kiln__text_puts(out, "}");
}

/* If the journal cannot be written, sends further findings to standard error, so that no finding is lost. A reader of
 * the journal would miss these findings. So if there are findings, the exit code of the process becomes 1, unless
 * KILN_SIM_CHECK_EXIT sets another code. */
static void leave_journal(void)
{
    if (report.format != FORMAT_JSON || report.journal.path)
        return;
    report.format = FORMAT_KILN;
    report.to = stderr;
    report.lost = true;
}

/* Adds a finding to the journal. The members of the element have the same names as in `kiln check --json`. `symbol` is
 * the name of the kernel in its module. `check` and `number` identify the finding. end_journal() needs them, because it
 * adds the final count of the finding later. */
static void put_as_json(const kiln_check_finding *f, unsigned check, size_t number)
{
    kiln__text out = {0};
    char *name = sim_readable_name(f->kernel);
    kiln__text_printf(&out, "{\"check\": %u, \"number\": %zu, ", check, number);
    kiln__text_printf(&out, "\"note\": %s, \"count\": %" PRIu64 ", \"address\": %" PRIu64 ", \"bytes\": %" PRIu64,
                      f->note ? "true" : "false", f->count, f->address, f->bytes);
    add_string(&out, "kind", kiln_check_text(f->kind));
    add_string(&out, "kernel", name ? name : f->kernel);
    add_string(&out, "symbol", f->kernel);
    add_string(&out, "message", f->message);
    add_string(&out, "space", f->space);
    add_string(&out, "allocation", f->allocation);
    add_side(&out, "at", &f->at);
    add_side(&out, "other", &f->other);
    kiln__text_puts(&out, "}");
    sim_journal_add(&report.journal, &out);
    kiln__text_free(&out);
    free(name);
    leave_journal();
}

/* Opens the file of the journal and writes its head, which is the first element of the array. */
static void begin_journal(bool child)
{
    const char *file = get_variable("KILN_SIM_CHECK_FILE");
    kiln__text head = {0};
    report.process = getpid();
    sim_journal_open(&report.journal, file ? file : "kiln-findings.%p.json", child);
    kiln__text_printf(&head, "{\"kiln\": \"findings\", \"version\": 1, \"process\": %ld}", (long)report.process);
    sim_journal_add(&report.journal, &head);
    kiln__text_free(&head);
    leave_journal();
}

/* ---- all ---- */

static report_format choose_format(void)
{
    static const char *const names[] = {"kiln", "sanitizer", "sanitizer-xml", "json"};
    const char *format = get_variable("KILN_SIM_CHECK_FORMAT");
    size_t at = 0;
    while (format && at < KILN__COUNT(names) && strcmp(format, names[at]) != 0)
        at++;
    if (at < KILN__COUNT(names))
        return (report_format)at;
    fprintf(stderr, "kiln checks: KILN_SIM_CHECK_FORMAT is kiln, sanitizer, sanitizer-xml or json, not '%.40s'\n",
            format);
    return FORMAT_KILN;
}

/* When the first finding is made or the first check ends, opens the file of the report and writes its head. A journal
 * (FORMAT_JSON) is opened when the first context is created. A fork of the process opens another journal. */
static void begin_report(void)
{
    const char *file = get_variable("KILN_SIM_CHECK_FILE");
    if (report.begun) {
        if (report.format == FORMAT_JSON && report.process != getpid())
            begin_journal(true);
        return;
    }
    report.begun = true;
    report.format = choose_format();
    read_suppressions();
    if (report.format == FORMAT_JSON) {
        begin_journal(false);
        return;
    }
    report.to = file ? fopen(file, "we") : stderr;
    if (!report.to) {
        fprintf(stderr, "%s: %s\n", file, kiln__error_text(errno));
        report.to = stderr;
    }
    if (report.format == FORMAT_TEXT)
        fputs("========= COMPUTE-SANITIZER\n", report.to);
    else if (report.format == FORMAT_XML)
        fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ComputeSanitizerOutput>\n", report.to);
}

void sim_report_begin(void)
{
    const char *format = get_variable("KILN_SIM_CHECK_FORMAT");
    read_suppressions();
    if (format && strcmp(format, "json") == 0)
        begin_report();
}

bool sim_report_suppresses(const kiln_check_finding *f)
{
    return report.suppressions && kiln_check_is_suppressed(report.suppressions, f);
}

/* Adds the findings that the journal does not have yet. So the findings are on disk even if the process is killed. */
void sim_report_new(sim_context *context)
{
    if (!context->check_shown || !context->check || context->check_told == check_count_findings(context->check))
        return;
    begin_report();
    if (!context->check_id)
        context->check_id = ++report.checks;
    for (; report.format == FORMAT_JSON && context->check_told < check_count_findings(context->check);
         context->check_told++) {
        const kiln_check_finding *f = check_get_finding(context->check, context->check_told);
        if (!sim_report_suppresses(f))
            put_as_json(f, context->check_id, context->check_told);
    }
}

/* Adds the last element of a check. This element has the final count of each finding, the number of suppressed
 * findings, the number of dropped findings, and whether memory has run out. */
static void end_journal(sim_context *context, size_t suppressed)
{
    const vm_check *check = context->check;
    kiln__text out = {0};
    kiln__text_printf(&out, "{\"check\": %u, \"counts\": [", context->check_id);
    for (size_t k = 0; k < check_count_findings(check); k++)
        kiln__text_printf(&out, "%s%" PRIu64, k ? ", " : "", check_get_finding(check, k)->count);
    kiln__text_printf(&out, "], \"suppressed\": %zu, \"dropped\": %" PRIu64 ", \"starved\": %s}", suppressed,
                      check_dropped(check), check_starved(check) ? "true" : "false");
    sim_journal_add(&report.journal, &out);
    kiln__text_free(&out);
    leave_journal();
}

static void put_sum(const vm_check *check, size_t errors, size_t notes, size_t suppressed)
{
    FILE *to = report.to;
    fprintf(to, "kiln checks: %zu finding%s, %zu note%s", errors, errors == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
    if (suppressed)
        fprintf(to, ", %zu suppressed", suppressed);
    if (check_dropped(check))
        fprintf(to, "; further findings were dropped");
    if (check_starved(check))
        fprintf(to, "; the checks ran out of memory, so races may have been missed");
    fputc('\n', to);
}

/* Writes and counts all findings of a check that are not suppressed. */
void sim_report(sim_context *context)
{
    const vm_check *check = context->check;
    size_t errors = 0, notes = 0, suppressed = 0;
    begin_report();
    sim_report_new(context);
    for (size_t k = 0; k < check_count_findings(check); k++)
        suppressed += sim_report_suppresses(check_get_finding(check, k));
    if (report.format == FORMAT_JSON)
        end_journal(context, suppressed);
    for (size_t k = 0; k < check_count_findings(check); k++) {
        const kiln_check_finding *f = check_get_finding(check, k);
        if (sim_report_suppresses(f))
            continue;
        notes += f->note != 0;
        errors += !f->note;
        if (report.format == FORMAT_KILN)
            put_finding(f);
        else if (report.format == FORMAT_TEXT)
            put_as_text(f);
        else if (report.format == FORMAT_XML)
            put_as_xml(f);
    }
    report.errors += errors;
    if (report.format == FORMAT_JSON)
        return;
    if (report.format == FORMAT_KILN)
        put_sum(check, errors, notes, suppressed);
    fflush(report.to);
}

void sim_report_end(void)
{
    const char *code = get_variable("KILN_SIM_CHECK_EXIT");
    if (!code && report.lost)
        code = "1";
    if (!report.begun)
        return;
    if (report.format == FORMAT_TEXT)
        fprintf(report.to, "========= ERROR SUMMARY: %zu error%s\n", report.errors, report.errors == 1 ? "" : "s");
    else if (report.format == FORMAT_XML)
        fputs("</ComputeSanitizerOutput>\n", report.to);
    else if (report.format == FORMAT_JSON)
        sim_journal_close(&report.journal);
    if (report.to && report.to != stderr)
        fclose(report.to);
    kiln__free(NULL, report.suppressions);
    report.suppressions = NULL;
    report.begun = report.has_rules = false;
    if (!report.errors || !code)
        return;
    /* _exit() ends the process without the destructors of libraries that were loaded earlier, so the function flushes
     * all streams before */
    fflush(NULL);
    _exit(atoi(code) & 0xff);
}
