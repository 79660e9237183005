/* check_report.c - reports the findings of KILN_SIM_CHECK: in Kiln's own text, or for programs that read the output of
 * compute-sanitizer in its text or XML. Applies a file of suppressions, and sets the exit code.
 * engine/sim/observe/check/README.md has the environment variables. These functions are called with the driver's locks,
 * or when the process ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cu_objects.h"
#include "vm_checks.h"

typedef enum report_format { FORMAT_KILN, FORMAT_TEXT, FORMAT_XML } report_format;

static struct {
    bool begun;
    report_format format;
    FILE *to;
    char *suppressions; /* text of the file of suppressions; NULL: no file */
    size_t errors;
} report;

static const char *get_variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* ---- suppressions ---- */

static void read_suppressions(const char *path)
{
    kiln_error *error = NULL;
    size_t length;
    if (kiln__file_read(NULL, path, 0, &report.suppressions, &length, &error) == KILN_OK)
        return;
    fprintf(stderr, "kiln checks: KILN_SIM_CHECK_SUPPRESS: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    report.suppressions = NULL;
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static bool is_place(const char *pattern, const kiln_check_side *side)
{
    char place[300];
    if (!side->what || !side->file || !side->file[0])
        return false;
    snprintf(place, sizeof place, "%.280s:%u", base_name(side->file), side->line);
    return kiln__matches(pattern, place);
}

/* A pattern may match the kernel's name in the source or its symbol. */
static bool is_kernel(const char *pattern, const char *symbol)
{
    char *name = sim_readable_name(symbol);
    bool fits = kiln__matches(pattern, symbol) || (name && kiln__matches(pattern, name));
    free(name);
    return fits;
}

/* Returns true if a line of suppressions matches. The line is a kind with dashes for spaces, a kernel and a place. Each
 * is a pattern; the last two may be left out. */
static bool matches_suppression(char *line, const kiln_check_finding *f)
{
    char kind[64], *rest = NULL;
    snprintf(kind, sizeof kind, "%s", kiln_check_text(f->kind));
    for (char *at = kind; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    const char *what = strtok_r(line, " \t\r", &rest), *kernel = strtok_r(NULL, " \t\r", &rest),
               *place = strtok_r(NULL, " \t\r", &rest);
    return what && what[0] != '#' && kiln__matches(what, kind) && (!kernel || is_kernel(kernel, f->kernel)) &&
           (!place || is_place(place, &f->at) || is_place(place, &f->other));
}

static bool is_suppressed(const kiln_check_finding *f)
{
    bool found = false;
    for (const char *at = report.suppressions; at && *at && !found;) {
        const size_t length = strcspn(at, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : 0), at);
        found = matches_suppression(line, f);
        at += length + (at[length] == '\n');
    }
    return found;
}

/* ---- text ---- */

static void put_text(const char *text);

/* Writes a kernel's name as its source has it. */
static void put_kernel(const char *symbol)
{
    char *name = sim_readable_name(symbol);
    put_text(name ? name : symbol);
    free(name);
}

/* Writes a text. Names of kernels and files come from the module (untrusted), and the output may be a terminal, so all
 * characters but printable ASCII and newlines are escaped. */
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

/* ---- as compute-sanitizer ---- */

static const char *direction_of(const kiln_check_side *side)
{
    return !side->what ? "" : strstr(side->what, "atomic") ? "Atomic" : strstr(side->what, "write") ? "Write" : "Read";
}

/* Writes compute-sanitizer's name of the finding, the first line of a record. */
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

/* Writes a finding as a record of compute-sanitizer's XML. */
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

/* ---- all ---- */

/* Opens the file of the report at the first finding, and writes its head. */
static void begin_report(void)
{
    static const char *const names[] = {"kiln", "sanitizer", "sanitizer-xml"};
    const char *format = get_variable("KILN_SIM_CHECK_FORMAT"), *file = get_variable("KILN_SIM_CHECK_FILE");
    const char *suppress = get_variable("KILN_SIM_CHECK_SUPPRESS");
    if (report.begun)
        return;
    report.begun = true;
    report.to = file ? fopen(file, "we") : stderr;
    if (!report.to) {
        fprintf(stderr, "%s: %s\n", file, kiln__error_text(errno));
        report.to = stderr;
    }
    size_t at = 0;
    while (format && at < KILN__COUNT(names) && strcmp(format, names[at]) != 0)
        at++;
    if (at == KILN__COUNT(names))
        fprintf(stderr, "kiln checks: KILN_SIM_CHECK_FORMAT is kiln, sanitizer or sanitizer-xml, not '%.40s'\n",
                format);
    else
        report.format = (report_format)at;
    if (suppress)
        read_suppressions(suppress);
    if (report.format == FORMAT_TEXT)
        fputs("========= COMPUTE-SANITIZER\n", report.to);
    else if (report.format == FORMAT_XML)
        fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ComputeSanitizerOutput>\n", report.to);
}

/* Writes all findings of a check that are not suppressed, and counts them. */
void sim_report(const vm_check *check)
{
    size_t errors = 0, notes = 0, suppressed = 0;
    begin_report();
    for (size_t k = 0; k < vm_check_count(check); k++) {
        const kiln_check_finding *f = vm_check_at(check, k);
        if (is_suppressed(f)) {
            suppressed++;
            continue;
        }
        notes += f->note != 0;
        errors += !f->note;
        if (report.format == FORMAT_KILN)
            put_finding(f);
        else if (report.format == FORMAT_TEXT)
            put_as_text(f);
        else
            put_as_xml(f);
    }
    report.errors += errors;
    if (report.format == FORMAT_KILN) {
        FILE *to = report.to;
        fprintf(to, "kiln checks: %zu finding%s, %zu note%s", errors, errors == 1 ? "" : "s", notes,
                notes == 1 ? "" : "s");
        if (suppressed)
            fprintf(to, ", %zu suppressed", suppressed);
        if (vm_check_dropped(check))
            fprintf(to, "; further findings were dropped");
        if (vm_check_starved(check))
            fprintf(to, "; the checks ran out of memory, so races may have been missed");
        fputc('\n', to);
    }
    fflush(report.to);
}

void sim_report_end(void)
{
    const char *code = get_variable("KILN_SIM_CHECK_EXIT");
    if (!report.begun)
        return;
    if (report.format == FORMAT_TEXT)
        fprintf(report.to, "========= ERROR SUMMARY: %zu error%s\n", report.errors, report.errors == 1 ? "" : "s");
    else if (report.format == FORMAT_XML)
        fputs("</ComputeSanitizerOutput>\n", report.to);
    if (report.to != stderr)
        fclose(report.to);
    kiln__free(NULL, report.suppressions);
    report.begun = false;
    if (!report.errors || !code)
        return;
    fflush(NULL); /* the process ends here, without the destructors of libraries that were loaded earlier */
    _exit(atoi(code) & 0xff);
}
