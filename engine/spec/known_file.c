/* known_file.c - reads and writes best-known configurations as a text file, which people read, compare and ship with
 * their program. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "known.h"
#include "read.h"

#define VERSION 2 /* the version of the file format; version 1 has no features */

/* ---- writing ---- */

static void put_quoted(kiln__text *out, const char *text)
{
    kiln__text_puts(out, "\"");
    for (const char *at = text; *at;) {
        const char *from = at;
        uint32_t code = kiln__utf8_next(&at);
        bool printable = (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code < 0xfffd && code != 0xfeff) ||
                         code >= 0x10000;
        if (code == '"' || code == '\\')
            kiln__text_printf(out, "\\%c", (int)code);
        else if (printable && code != 0x2028 && code != 0x2029)
            kiln__text_add(out, from, (size_t)(at - from));
        else
            kiln__text_printf(out, "\\u%04x", (unsigned)code);
    }
    kiln__text_puts(out, "\"");
}

/* Writes a text without quotes if no reader can mistake it for a number, a boolean or null. */
static void put_text(kiln__text *out, const char *text)
{
    static const char *const words[] = {"yes", "no", "on", "off", "null", "true", "false"};
    bool plain = kiln__name_valid(text);
    for (size_t i = 0; i < KILN__COUNT(words); i++)
        plain = plain && !kiln__same_word(text, words[i], SIZE_MAX);
    if (plain)
        kiln__text_puts(out, text);
    else
        put_quoted(out, text);
}

static void put_settings(kiln__text *out, const char *key, kiln__settings settings)
{
    kiln__text_printf(out, "  %s: {", key);
    for (size_t i = 0; i < settings.count; i++) {
        kiln_value value = settings.items[i].value;
        kiln__text_puts(out, i ? ", " : "");
        put_text(out, settings.items[i].name);
        kiln__text_puts(out, ": ");
        if (value.kind == KILN_TEXT)
            put_quoted(out, value.as.text);
        /* INT64_MIN has no positive counterpart, so a reader cannot read its sign and its digits separately */
        else if (value.kind == KILN_INT && value.as.i == INT64_MIN)
            kiln__text_puts(out, "-9223372036854775807 - 1");
        else
            kiln__value_print(out, value);
    }
    kiln__text_puts(out, "}\n");
}

static void put_made(kiln__text *out, int64_t made)
{
    char text[21]; /* room for a year of four digits */
    if (!kiln__format_time(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", made))
        snprintf(text, sizeof text, "1970-01-01T00:00:00Z");
    kiln__text_printf(out, "  made: %s\n", text);
}

static void put_known(kiln__text *out, const kiln__known *known)
{
    char seconds[40];
    kiln__print_double(seconds, sizeof seconds, known->seconds);
    const struct {
        const char *key, *text;
    } texts[] = {
        {"- spec", known->spec},
        {"  device", known->device},
        {"  cc", known->cc},
    };
    for (size_t i = 0; i < KILN__COUNT(texts); i++) {
        kiln__text_printf(out, "%s: ", texts[i].key);
        put_text(out, texts[i].text);
        kiln__text_puts(out, "\n");
    }
    put_settings(out, "sizes", known->sizes);
    if (known->features.count)
        put_settings(out, "features", known->features);
    kiln__text_puts(out, "  variant: ");
    put_text(out, known->variant);
    kiln__text_puts(out, "\n");
    put_settings(out, "params", known->params);
    kiln__text_printf(out, "  seconds: %s\n  how: %s\n  verified: %s\n", seconds, kiln__how_word(known->how),
                      known->verified ? "true" : "false");
    put_made(out, known->made);
}

kiln_status kiln__known_print(const kiln_allocator *mem, const kiln__known_list *list, kiln__text *out,
                              kiln_error **error)
{
    size_t nodes = 8;
    bool features = false; /* a file without features has version 1, which earlier versions of Kiln can read */
    for (size_t i = 0; i < list->count; i++)
        features = features || list->items[i].features.count;
    kiln__text_printf(out, "kiln-best: %d\nbest:%s\n", features ? VERSION : 1, list->count ? "" : " []");
    for (size_t i = 0; i < list->count; i++) {
        const kiln__known *known = &list->items[i];
        nodes += 26 + 2 * (known->sizes.count + known->params.count + known->features.count);
        put_known(out, &list->items[i]);
    }
    if (out->failed)
        return kiln__fail_memory(error);
    if (nodes > KILN__TREE_NODES)
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                          "a file cannot hold %zu configurations: select one spec or one device", list->count);
    return KILN_OK;
}

/* ---- reading ---- */

static const char *read_text(kiln__reader *r, const kiln__spec_node *map, const char *key, bool may_be_empty)
{
    const kiln__spec_node *node = kiln__spec_node_get(map, key);
    if (!node || (may_be_empty && node->kind == KILN__SCALAR && node->length == 0))
        return "";
    const char *text = kiln__read_text(r, node, key);
    return text ? text : "";
}

static kiln__settings read_settings(kiln__reader *r, const kiln__spec_node *map, const char *key)
{
    const kiln__spec_node *node = kiln__spec_node_get(map, key);
    size_t count = kiln__read_entries(r, node, key);
    kiln_setting *settings = kiln__read_array(r, count + 1, sizeof *settings);
    for (size_t i = 0; settings && i < count; i++) {
        settings[i].name = node->keys[i]->text;
        if (!kiln__read_value(r, node->items[i], settings[i].name, &settings[i].value))
            settings[i].value = (kiln_value){.kind = KILN_INT};
    }
    return (kiln__settings){count, settings};
}

static kiln__settings read_features(kiln__reader *r, const kiln__spec_node *map)
{
    kiln__settings features = read_settings(r, map, "features");
    for (size_t i = 0; features.items && i < features.count; i++)
        if (features.items[i].value.kind == KILN_TEXT)
            kiln__diag_add(r->diag, kiln__spec_node_get(map, "features")->pos, "the feature '%s' must be a number",
                           features.items[i].name);
    return features;
}

static void read_seconds(kiln__reader *r, const kiln__spec_node *node, kiln__known *known)
{
    char *end = NULL;
    known->seconds = node->kind == KILN__SCALAR && !node->quoted ? kiln__parse_double(node->text, &end) : 0;
    if (!end || *end || !(known->seconds > 0) || known->seconds == HUGE_VAL) {
        kiln__diag_add(r->diag, node->pos, "seconds must be a number above 0");
        known->seconds = 1;
    }
}

static void read_how(kiln__reader *r, const kiln__spec_node *node, kiln__known *known)
{
    for (int how = 0; node->kind == KILN__SCALAR && how < KILN__HOW_COUNT; how++)
        if (strcmp(node->text, kiln__how_word((kiln__how)how)) == 0) {
            known->how = (kiln__how)how;
            return;
        }
    kiln__diag_add(r->diag, node->pos, "how must be one of: measured, estimated, simulated");
}

static void read_made(kiln__reader *r, const kiln__spec_node *node, kiln__known *known)
{
    struct tm parts = {0};
    char *end = node->kind == KILN__SCALAR ? kiln__parse_time(node->text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;
    time_t seconds = end && !*end ? timegm(&parts) : -1;
    if (seconds < 0 || seconds > 253402300799) /* the last second of the year 9999 */
        kiln__diag_add(r->diag, node->pos, "made must be a time like 2026-01-31T12:00:00Z");
    else
        known->made = (int64_t)seconds * 1000000;
}

static void read_known(kiln__reader *r, const kiln__spec_node *node, kiln__known_list *list)
{
    static const char *const keys[] = {"spec",    "device", "cc",       "sizes", "variant",  "params",
                                       "seconds", "how",    "verified", "made",  "features", NULL};
    static const size_t needed = 10;
    kiln__known known = {0};
    bool whole = kiln__read_map_of(r, node, "a configuration", keys);
    for (size_t i = 0; whole && i < needed; i++)
        whole = kiln__read_need(r, node, "a configuration", keys[i]);
    if (!whole)
        return;
    known.spec = read_text(r, node, "spec", false);
    known.device = read_text(r, node, "device", true);
    known.cc = read_text(r, node, "cc", true);
    known.variant = read_text(r, node, "variant", true);
    known.sizes = read_settings(r, node, "sizes");
    known.params = read_settings(r, node, "params");
    known.features = kiln__spec_node_get(node, "features") ? read_features(r, node) : (kiln__settings){0};
    read_seconds(r, kiln__spec_node_get(node, "seconds"), &known);
    read_how(r, kiln__spec_node_get(node, "how"), &known);
    kiln__read_bool(r, kiln__spec_node_get(node, "verified"), "verified", &known.verified);
    read_made(r, kiln__spec_node_get(node, "made"), &known);
    if (known.sizes.items && known.params.items && !r->arena->failed && !kiln__known_add(list, &known))
        r->arena->failed = true;
}

static void read_root(kiln__reader *r, const kiln__spec_node *root, kiln__known_list *list)
{
    static const char *const keys[] = {"kiln-best", "best", NULL};
    if (!kiln__read_map_of(r, root, "a file of best-known configurations", keys) ||
        !kiln__read_need(r, root, "the file", "kiln-best") || !kiln__read_need(r, root, "the file", "best"))
        return;
    const kiln__spec_node *version = kiln__spec_node_get(root, "kiln-best"), *best = kiln__spec_node_get(root, "best");
    if (version->kind != KILN__SCALAR || (strcmp(version->text, "1") != 0 && strcmp(version->text, "2") != 0))
        kiln__diag_add(r->diag, version->pos, "this is kiln %s, which knows versions 1 and %d of such files",
                       KILN_VERSION, VERSION);
    else if (best->kind != KILN__LIST)
        kiln__diag_add(r->diag, best->pos, "best must be a list, not %s", kiln__spec_node_describe(best));
    else
        for (size_t i = 0; i < best->count && !r->arena->failed; i++)
            read_known(r, best->items[i], list);
}

kiln_status kiln__known_read(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                             kiln__known_list *list, kiln_error **error)
{
    kiln__arena scratch = {.mem = mem};
    kiln__diag diag = {.mem = mem};
    kiln__source source = {name, text, length};
    kiln__reader r = {.arena = &scratch, .scratch = &scratch, .diag = &diag};
    size_t before = list->count;
    const kiln__spec_node *root = kiln__tree_parse(&scratch, &source, &diag);
    if (root)
        read_root(&r, root, list);
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    if (scratch.failed || list->arena.failed) {
        if (status != KILN_OK && error) {
            kiln_error_free(*error);
            *error = NULL;
        }
        status = kiln__fail_memory(error);
    }
    if (status != KILN_OK)
        list->count = before;
    kiln__arena_free(&scratch);
    return status;
}
