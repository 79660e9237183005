/* findings_file.c - reads the findings of a program's processes, and the rules of --suppress. The simulated device's
 * libcuda writes the findings with KILN_SIM_CHECK_FORMAT=json (engine/sim/driver/objects/check_report.c). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "findings.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static uint64_t whole_of(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* Reads three coordinates. Returns 1, or 0 if the file does not have them. */
static int read_axes(const json_t *side, const char *key, unsigned to[3])
{
    const json_t *array = json_object_get(side, key);
    if (json_array_size(array) != 3)
        return 0;
    for (size_t k = 0; k < 3; k++)
        to[k] = (unsigned)json_integer_value(json_array_get(array, k));
    return 1;
}

static void read_side(const json_t *object, const char *key, kiln_check_side *side)
{
    const json_t *from = json_object_get(object, key);
    *side = (kiln_check_side){.file = "", .text = "", .inlined = ""};
    if (!json_is_object(from))
        return;
    side->what = text_of(from, "what");
    side->file = text_of(from, "file");
    side->inlined = text_of(from, "inlined");
    side->line = (unsigned)whole_of(from, "line");
    side->ptx_line = (unsigned)whole_of(from, "ptx_line");
    side->has_block = read_axes(from, "block", side->block);
    side->has_thread = read_axes(from, "thread", side->thread);
}

/* Returns false if this version of Kiln does not know the kind of the finding. */
static bool read_finding(const json_t *object, kiln_check_finding *f)
{
    unsigned kind = 0;
    while (kind < KILN_CHECK_KINDS && strcmp(kiln_check_text((kiln_check_kind)kind), text_of(object, "kind")) != 0)
        kind++;
    *f = (kiln_check_finding){.kind = (kiln_check_kind)kind,
                              .note = json_is_true(json_object_get(object, "note")),
                              .kernel = text_of(object, "kernel"),
                              .message = text_of(object, "message"),
                              .space = text_of(object, "space"),
                              .allocation = text_of(object, "allocation"),
                              .buffer = "",
                              .role = "",
                              .address = whole_of(object, "address"),
                              .bytes = whole_of(object, "bytes"),
                              .count = whole_of(object, "count")};
    read_side(object, "at", &f->at);
    read_side(object, "other", &f->other);
    return kind < KILN_CHECK_KINDS;
}

/* Returns how often a finding occurred, by the last count in the file. When a check ends, it writes the final counts of
 * its findings into an element with the key "counts". If this element is missing, the process was killed. Then the
 * function returns the count that was written with the finding. */
static uint64_t last_count(const json_t *array, const json_t *of)
{
    for (size_t k = json_array_size(array); k-- > 1;) {
        const json_t *element = json_array_get(array, k), *counts = json_object_get(element, "counts");
        if (!json_is_array(counts) || whole_of(element, "check") != whole_of(of, "check"))
            continue;
        const json_int_t count = json_integer_value(json_array_get(counts, (size_t)whole_of(of, "number")));
        return count > 0 ? (uint64_t)count : whole_of(of, "count");
    }
    return whole_of(of, "count");
}

bool findings_read(findings *list, const char *path)
{
    json_error_t error;
    json_t *array = json_load_file(path, 0, &error);
    const json_t *head = json_array_get(array, 0);
    if (!array || strcmp(text_of(head, "kiln"), "findings") != 0 || whole_of(head, "version") != 1) {
        cli_complain(cli_printf("%s: %s", path, array ? "is no file of findings (version 1)" : error.text));
        json_decref(array);
        return false;
    }
    bool right = true;
    for (size_t k = 1; right && k < json_array_size(array); k++) {
        const json_t *element = json_array_get(array, k);
        kiln_check_finding f;
        if (json_object_get(element, "counts")) {
            list->suppressed += whole_of(element, "suppressed");
            list->dropped += whole_of(element, "dropped");
            list->starved |= json_is_true(json_object_get(element, "starved"));
        } else if ((right = read_finding(element, &f))) {
            f.count = last_count(array, element);
            findings_add(list, &f);
        } else {
            cli_complain(cli_printf("%s: element %s is no finding", path, cli_whole(k)));
        }
    }
    json_decref(array);
    return right;
}

/* ---- lines of source files ---- */

/* A source file that findings name. Each source file is read only once. */
typedef struct source {
    struct source *next;
    const char *path, *text; /* text: NULL if the file cannot be read, or if it is newer than the program */
} source;

/* Returns true if both files exist and `path` changed after `than`. */
static bool is_newer(const char *path, const char *than)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(than, &b) == 0 &&
           (a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
            (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec > b.st_mtim.tv_nsec));
}

static const char *read_source(const char *path, const char *program, source **sources)
{
    enum { BYTES_MOST = 16 << 20 };
    for (const source *one = *sources; one; one = one->next)
        if (strcmp(one->path, path) == 0)
            return one->text;
    source *made = cli_alloc(sizeof *made);
    *made = (source){*sources, path, is_newer(path, program) ? NULL : cli_read_file(path, BYTES_MOST, NULL)};
    *sources = made;
    return made->text;
}

static void read_line(kiln_check_side *side, const char *program, source **sources)
{
    if (!side->what || !side->file[0] || side->text[0] || !side->line)
        return;
    const char *at = read_source(side->file, program, sources);
    for (unsigned line = 1; at && line < side->line; line++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (at)
        side->text = cli_printf("%.*s", (int)strcspn(at, "\r\n"), at);
}

void findings_read_sources(findings *list, const char *program)
{
    source *sources = NULL;
    for (size_t k = 0; k < list->count; k++) {
        read_line(&list->items[k].f.at, program, &sources);
        read_line(&list->items[k].f.other, program, &sources);
    }
}

/* ---- rules ---- */

/* Returns a kind of finding as a rule writes it, with dashes in place of spaces. */
static const char *kind_word(kiln_check_kind kind)
{
    char *word = cli_printf("%s", kiln_check_text(kind));
    for (char *at = word; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    return word;
}

/* Returns true if the first word of a rule is a kind of finding, or a pattern. A rule with a misspelt kind would
 * suppress nothing, so such a rule is refused. */
static bool is_kind(const char *word)
{
    if (word[strcspn(word, "*?[\\")])
        return true;
    for (int k = 0; k < KILN_CHECK_KINDS; k++)
        if (strcmp(word, kind_word((kiln_check_kind)k)) == 0)
            return true;
    return false;
}

/* Complains about a rule whose kind does not exist, and lists all kinds. */
static void refuse_kind(const char *path, size_t line, const char *word)
{
    const char *all = kind_word((kiln_check_kind)0);
    for (int k = 1; k < KILN_CHECK_KINDS; k++)
        all = cli_printf("%s, %s", all, kind_word((kiln_check_kind)k));
    cli_complain(cli_printf("--suppress: %s:%s: there is no kind '%s'; a rule begins with one of: %s", path,
                            cli_whole(line), word, all));
}

bool findings_read_rules(findings *list, const char *path)
{
    enum { BYTES_MOST = 1 << 20 };
    list->rules = path ? cli_read_file(path, BYTES_MOST, NULL) : NULL;
    if (path && !list->rules)
        cli_complain(cli_printf("--suppress: %s: %s", path, strerror(errno)));
    size_t line = 1;
    for (const char *at = list->rules; at && *at; line++) {
        const char *start = at + strspn(at, " \t\r");
        const char *word = cli_printf("%.*s", (int)strcspn(start, " \t\r\n"), start);
        if (*word && *word != '#' && !is_kind(word)) {
            refuse_kind(path, line, word);
            return false;
        }
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return !path || list->rules;
}
