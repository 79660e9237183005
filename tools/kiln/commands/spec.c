/* spec.c - kiln spec: prints the keys of the spec format for people, as a JSON schema for editors, and as the page
 * engine/spec/KEYS.md */
#include <string.h>

#include "commands.h"

typedef struct spec_args {
    bool schema, page;
} spec_args;

static const char *need_text(const kiln_spec_key_info *key)
{
    switch (key->need) {
    case KILN_KEY_REQUIRED: return "yes";
    case KILN_KEY_ONE_OF: return "one of these";
    case KILN_KEY_ANY:
    case KILN_KEY_OPTIONAL: break;
    }
    return "";
}

/* Returns true if a key is the first key of its mapping. */
static bool is_first(size_t number)
{
    return number == 0 || strcmp(kiln_spec_key(number)->mapping, kiln_spec_key(number - 1)->mapping) != 0;
}

/* ---- the page engine/spec/KEYS.md ---- */

static void print_page(void)
{
    const kiln_spec_key_info *key;
    out_puts(
        "# The keys of a spec\n\n"
        "Made by `kiln spec --page` from `keys.h`; a test fails if it is not up to date. [The page of the "
        "format](README.md) says how they work together. `kiln spec --schema` prints a JSON schema for editors.\n\n"
        "The last column tells whether a key belongs to the code, to the run or to the choice. A sweep does not "
        "reuse a stored sample if its code or its run has changed. A key that belongs to the choice decides "
        "which configurations and sizes exist. Each sample has its own configuration and sizes.\n");
    for (size_t i = 0; (key = kiln_spec_key(i)) != NULL; i++) {
        if (is_first(i))
            out_printf(
                "\n## %s\n\n%s\n\n| key | required | value | what | changes |\n| --- | --- | --- | --- | --- |\n",
                key->mapping, key->mapping_about);
        out_printf(key->need == KILN_KEY_ANY ? "| %s | %s | %s | %s | %s |\n" : "| `%s` | %s | %s | %s | %s |\n",
                   key->name, need_text(key), key->value, key->about, key->changes);
    }
}

/* ---- the JSON schema ---- */

static json_t *js_parsed(const char *text)
{
    json_error_t error;
    json_t *parsed = json_loads(text, 0, &error);
    return parsed ? parsed : js_object();
}

/* Returns the schema of one mapping, whose first key has the number *at. *at becomes the number of the first key of the
 * next mapping. */
static json_t *mapping_schema(size_t *at)
{
    const kiln_spec_key_info *key = kiln_spec_key(*at);
    json_t *schema = js_parsed(key->mapping_rule);
    json_t *keys = js_object(), *required = js_array(), *one_of = js_array();
    js_set(schema, "description", js_text(key->mapping_about));
    js_set(schema, "type", js_text("object"));
    js_set(schema, "properties", keys);
    js_set(schema, "required", required);
    /* YAML reads the unquoted value in `{x: max(a, b)}` as two keys, `x` and `b)`. Kiln joins these two keys again, so
     * the schema must allow such keys. */
    js_set(schema, "patternProperties", js_parsed("{\"\\\\)\": {\"type\": \"null\"}}"));
    js_set(schema, "additionalProperties", json_false());
    do {
        json_t *value = js_parsed(key->schema), *alone = js_object(), *name = js_array();
        js_set(value, "description", js_text(key->about));
        js_add(name, js_text(key->name));
        js_set(alone, "required", name);
        if (key->need == KILN_KEY_ANY)
            js_set(schema, "additionalProperties", value);
        else
            js_set(keys, key->name, value);
        if (key->need == KILN_KEY_REQUIRED)
            js_add(required, js_text(key->name));
        if (key->need == KILN_KEY_ONE_OF)
            js_add(one_of, alone);
        else
            json_decref(alone);
        key = kiln_spec_key(++*at);
    } while (key && !is_first(*at));
    if (json_array_size(one_of))
        js_set(schema, "oneOf", one_of);
    else
        json_decref(one_of);
    return schema;
}

static void print_schema(void)
{
    json_t *schema = js_object(), *mappings = js_object();
    js_set(schema, "$schema", js_text("https://json-schema.org/draft/2020-12/schema"));
    js_set(schema, "title", js_text("A spec of Kiln"));
    js_set(schema, "$ref", js_text("#/$defs/spec"));
    for (size_t i = 0; kiln_spec_key(i);) {
        const char *name = kiln_spec_key(i)->mapping;
        js_set(mappings, name, mapping_schema(&i));
    }
    js_set(schema, "$defs", mappings);
    js_print(schema);
}

/* ---- the command ---- */

static void print_json(void)
{
    const kiln_spec_key_info *key;
    json_t *object = js_object(), *keys = js_array();
    static const char *const needs[] = {[KILN_KEY_OPTIONAL] = "optional",
                                        [KILN_KEY_REQUIRED] = "required",
                                        [KILN_KEY_ONE_OF] = "one of",
                                        [KILN_KEY_ANY] = "any"};
    for (size_t i = 0; (key = kiln_spec_key(i)) != NULL; i++) {
        json_t *one = js_object();
        js_set(one, "mapping", js_text(key->mapping));
        js_set(one, "name", js_text(key->name));
        js_set(one, "need", js_text(needs[key->need]));
        js_set(one, "value", js_text(key->value));
        js_set(one, "about", js_text(key->about));
        js_set(one, "changes", js_text(key->changes));
        js_add(keys, one);
    }
    js_set(object, "keys", keys);
    js_print(object);
}

/* `kiln spec`: prints the keys of the spec format as tables, as a page, as JSON or as a JSON schema. */
static int spec_run(cli *c)
{
    const spec_args *args = c->args;
    const kiln_spec_key_info *key;
    if (args->schema || c->output.json || args->page) {
        (args->schema ? print_schema : c->output.json ? print_json : print_page)();
        return 0;
    }
    cli_table table;
    for (size_t i = 0; (key = kiln_spec_key(i)) != NULL; i++) {
        if (is_first(i)) {
            out_printf("%s%s%s%s: %s\n", i ? "\n" : "", out_bold(), key->mapping, out_plain(), key->mapping_about);
            table_start(&table, "llll");
            table.indent = 2;
            table_cell(&table, "key");
            table_cell(&table, "required");
            table_cell(&table, "value");
            table_cell(&table, "what");
        }
        table_cell(&table, "%s", key->name);
        table_cell(&table, "%s", need_text(key));
        table_cell(&table, "%s", key->value);
        table_cell(&table, "%s", key->about);
        if (!kiln_spec_key(i + 1) || is_first(i + 1))
            table_print(&table, true);
    }
    return 0;
}

#define FIELD(field) offsetof(spec_args, field)

static const cli_option options[] = {
    {"schema", 0, CLI_FLAG, FIELD(schema), NULL, CLI_NOTHING, NULL,
     "Print a JSON schema (draft 2020-12). Editors use it to check and complete specs."},
    {"page", 0, CLI_FLAG, FIELD(page), NULL, CLI_NOTHING, NULL, "Print a page in Markdown."},
};
static const cli_group group = {"Format", options, CLI_COUNT(options)};

const cli_command cli_spec_command = {
    .name = "spec",
    .summary = "show the keys of the spec format",
    .arguments = "",
    .about = "Lists the keys that a spec may have. For each mapping it shows the keys, whether they are required, "
             "and their values.",
    .args_size = sizeof(spec_args),
    .groups = (const cli_use[]){{&group, 0}, {0}},
    .examples = (const cli_example[]){{"kiln spec", "The keys."},
                                      {"kiln spec --schema > kiln.schema.json", "For an editor's YAML checker."},
                                      {0}},
    .run = spec_run,
};
