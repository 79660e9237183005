/* findings_sarif.c - findings as SARIF 2.1.0, the Static Analysis Results Interchange Format (OASIS), which code hosts
 * show beside the lines of a source. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "findings.h"

/* Returns the sentence that describes a kind of finding. A kind of finding is called a rule in SARIF. */
static const char *rule_text(kiln_check_kind kind)
{
    switch (kind) {
    case KILN_CHECK_BOUNDS: return "A thread accesses memory outside of an allocation.";
    case KILN_CHECK_MISALIGNED: return "The address of an access is not a multiple of its size.";
    case KILN_CHECK_FREED: return "A thread accesses memory that was freed.";
    case KILN_CHECK_BAD_FREE: return "The program frees an address that is not the start of an allocation.";
    case KILN_CHECK_UNINITIALISED: return "A thread reads memory that nothing has written.";
    case KILN_CHECK_RACE: return "Two accesses to the same memory have no order, and one of them writes.";
    case KILN_CHECK_READ_ONLY: return "A thread writes to data that is read-only.";
    case KILN_CHECK_BARRIER: return "Not all threads of a barrier reach it.";
    case KILN_CHECK_WARP: return "Some lanes that a warp operation names do not take part in it.";
    case KILN_CHECK_LEAK: return "The program ends without freeing memory.";
    case KILN_CHECK_FAULT: return "A kernel ends with an error.";
    case KILN_CHECK_ASYNC: return "The result of an asynchronous operation is used before the operation is complete.";
    case KILN_CHECK_TENSOR_PHASE: return "A block allocates tensor memory after it has given up its right to allocate.";
    case KILN_CHECK_TENSOR_COLUMNS: return "An instruction uses columns of tensor memory that are not allocated.";
    case KILN_CHECK_TENSOR_OWNER: return "A warp accesses lanes of tensor memory that it does not reach.";
    case KILN_CHECK_TENSOR_BOUNDS: return "An instruction uses lanes or columns that tensor memory does not have.";
    case KILN_CHECK_TENSOR_SIZE: return "An allocation of tensor memory cannot have this number of columns.";
    case KILN_CHECK_TENSOR_ALIGNMENT: return "An access to tensor memory cannot begin at this lane.";
    case KILN_CHECK_SPARSE_FLAG: return "The instruction and its descriptor disagree on whether the product is sparse.";
    case KILN_CHECK_SPARSE_USE: return "There is no sparse product of this kind.";
    default: return "";
    }
}

/* Returns the SARIF identifier of a kind of finding: its text with dashes, as in rules of suppressions. */
static const char *rule_name(kiln_check_kind kind)
{
    char *name = cli_strndup(kiln_check_text(kind), strlen(kiln_check_text(kind)));
    for (char *at = name; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    return name;
}

/* Encodes a path as part of a URI (RFC 3986): every byte becomes %XX, except unreserved characters and '/'. */
static const char *encode_path(const char *path)
{
    char *text = cli_alloc(3 * strlen(path) + 1), *to = text;
    for (; *path; path++) {
        const unsigned char byte = (unsigned char)*path;
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/", byte))
            *to++ = (char)byte;
        else
            to += sprintf(to, "%%%02X", byte);
    }
    *to = '\0';
    return text;
}

/* Returns the location of a file for SARIF. A file below the current folder gets its path from this folder, because a
 * code host knows files by their place in the repository. */
static json_t *artifact(const char *file)
{
    char here[PATH_MAX];
    json_t *object = js_object();
    const size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
    const bool below = length && strncmp(file, here, length) == 0 && file[length] == '/';
    if (below || file[0] != '/') {
        js_set(object, "uri", js_text(encode_path(below ? file + length + 1 : file)));
        js_set(object, "uriBaseId", js_text("%SRCROOT%"));
    } else {
        js_set(object, "uri", js_text(cli_printf("file://%s", encode_path(file))));
    }
    return object;
}

/* Returns the place of one side of a finding, or NULL if this side has no source line. `text` describes the event at
 * this place, or is NULL. */
static json_t *location(const kiln_check_finding *f, const kiln_check_side *side, const char *text)
{
    if (!side->what || !side->file[0] || !side->line)
        return NULL;
    json_t *object = js_object(), *physical = js_object(), *region = js_object();
    js_set(region, "startLine", js_whole(side->line));
    js_set(physical, "artifactLocation", artifact(side->file));
    js_set(physical, "region", region);
    js_set(object, "physicalLocation", physical);
    if (f->kernel[0]) {
        json_t *logical = js_object(), *array = js_array();
        js_set(logical, "fullyQualifiedName", js_text(f->kernel));
        js_set(logical, "kind", js_text("function"));
        js_add(array, logical);
        js_set(object, "logicalLocations", array);
    }
    if (text) {
        json_t *message = js_object();
        js_set(message, "text", js_text(text));
        js_set(object, "message", message);
    }
    return object;
}

/* Returns the place for a finding that has no source line: the file `program`. */
static json_t *program_location(const char *program)
{
    json_t *object = js_object(), *physical = js_object();
    js_set(physical, "artifactLocation", artifact(program));
    js_set(object, "physicalLocation", physical);
    return object;
}

static const char *thread_text(const kiln_check_side *side)
{
    return side->has_thread ? cli_printf(" by thread (%u,%u,%u) of block (%u,%u,%u)", side->thread[0], side->thread[1],
                                         side->thread[2], side->block[0], side->block[1], side->block[2])
                            : "";
}

/* Returns a hash (FNV-1a) that identifies the finding in the results of later runs. Line numbers change with every edit
 * above the line. Therefore the hash has the text of the line in place of its number, if the text is known. */
static const char *fingerprint(const finding *item)
{
    const kiln_check_finding *f = &item->f;
    const kiln_check_side *sides[] = {&f->at, &f->other};
    const char *all = cli_printf("%s|%s", kiln_check_text(f->kind), findings_short_name(f->kernel, 40));
    for (size_t k = 0; k < 2; k++) {
        const char *slash = sides[k]->what ? strrchr(sides[k]->file, '/') : NULL;
        if (sides[k]->what)
            all = cli_printf("%s|%s|%s", all, slash ? slash + 1 : sides[k]->file,
                             sides[k]->text[0] ? sides[k]->text : cli_printf("%u", sides[k]->line));
    }
    uint64_t hash = 0xcbf29ce484222325;
    for (; *all; all++)
        hash = (hash ^ (unsigned char)*all) * 0x100000001b3;
    return cli_printf("%016llx", (unsigned long long)hash);
}

/* Returns the message of a finding, with the kernel and the example: "MESSAGE. In kernel NAME: write of 4 bytes by
 * thread ...". */
static const char *sentence(const kiln_check_finding *f)
{
    return f->kernel[0] && f->at.what
               ? cli_printf("%s. In kernel %s: %s%s.", f->message, f->kernel, f->at.what, thread_text(&f->at))
               : cli_printf("%s.", f->message);
}

static json_t *result(const finding *item, const char *program)
{
    const kiln_check_finding *f = &item->f;
    json_t *object = js_object(), *message = js_object(), *places = js_array(), *related = js_array(),
           *prints = js_object(), *properties = js_object();
    js_set(object, "ruleId", js_text(rule_name(f->kind)));
    js_set(object, "ruleIndex", js_whole((uint64_t)f->kind));
    js_set(object, "level", js_text(f->note ? "note" : "error"));
    js_set(message, "text", js_text(sentence(f)));
    js_set(object, "message", message);
    json_t *at = location(f, &f->at, NULL), *other = location(f, &f->other, f->other.what);
    js_add(places, at ? at : program_location(program));
    if (other)
        js_add(related, other);
    js_set(object, "locations", places);
    js_set(object, "relatedLocations", related);
    js_set(prints, "kiln/v1", js_text(fingerprint(item)));
    js_set(object, "partialFingerprints", prints);
    js_set(object, "occurrenceCount", js_whole(item->count ? item->count : 1));
    js_set(properties, "kernels", js_whole(item->kernels.count));
    js_set(object, "properties", properties);
    return object;
}

static json_t *rules(void)
{
    json_t *array = js_array();
    for (unsigned k = 0; k < KILN_CHECK_KINDS; k++) {
        json_t *rule = js_object(), *text = js_object();
        js_set(text, "text", js_text(rule_text((kiln_check_kind)k)));
        js_set(rule, "id", js_text(rule_name((kiln_check_kind)k)));
        js_set(rule, "shortDescription", text);
        js_add(array, rule);
    }
    return array;
}

int findings_write_sarif(const cli *c, const findings *list, const char *path, const char *program)
{
    json_t *log = js_object(), *runs = js_array(), *run = js_object(), *tool = js_object(), *driver = js_object(),
           *results = js_array();
    js_set(log, "$schema", js_text("https://json.schemastore.org/sarif-2.1.0.json"));
    js_set(log, "version", js_text("2.1.0"));
    js_set(driver, "name", js_text("Kiln"));
    js_set(driver, "version", js_text(KILN_VERSION));
    js_set(driver, "rules", rules());
    js_set(tool, "driver", driver);
    js_set(run, "tool", tool);
    js_set(run, "columnKind", js_text("utf16CodeUnits"));
    for (size_t k = 0; k < list->count; k++)
        js_add(results, result(&list->items[k], program));
    js_set(run, "results", results);
    js_add(runs, run);
    js_set(log, "runs", runs);
    const char *text = js_dump(log, JSON_INDENT(1));
    json_decref(log);
    return cli_write_file(c, path, cli_printf("%s\n", text), strlen(text) + 1);
}
