/* list.c - kiln list: lists the specs that are found by name */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

typedef struct list_args {
    cli_engine_args engine;
    bool all, names;
} list_args;

typedef struct found {
    cli_list names, titles, paths;
} found;

static int add_spec(void *user, const char *name, const char *title, const char *path)
{
    found *f = user;
    cli_list_add(&f->names, cli_printf("%s", name));
    cli_list_add(&f->titles, cli_printf("%s", title ? title : ""));
    cli_list_add(&f->paths, cli_printf("%s", path));
    return 0;
}

/* `kiln list`: lists the specs that are found by name, and with --all their paths too. */
static int list_run(cli *c)
{
    const list_args *args = c->args;
    found f = {0};
    kiln_error *error = NULL;
    int code = cli_engine(c, &args->engine);
    if (code)
        return code;
    if (kiln_spec_list(c->engine, add_spec, &f, &error) != KILN_OK)
        return cli_error(c, error);
    if (c->output.json) {
        json_t *object = js_object(), *specs = js_array();
        for (size_t i = 0; i < f.names.count; i++) {
            json_t *spec = js_object();
            js_set(spec, "name", js_text(f.names.items[i]));
            js_set(spec, "title", js_text(f.titles.items[i]));
            js_set(spec, "path", js_text(f.paths.items[i]));
            js_add(specs, spec);
        }
        js_set(object, "specs", specs);
        js_print(object);
        return 0;
    }
    if (args->names) {
        for (size_t i = 0; i < f.names.count; i++)
            out_word(f.names.items[i]);
        return 0;
    }
    if (f.names.count == 0) {
        out_puts("No specs in the search path. Name a folder with --path or $KILN_PATH.\n");
        return 0;
    }
    cli_table table;
    table_start(&table, args->all ? "lll" : "ll");
    table_cell(&table, "name");
    table_cell(&table, "title");
    if (args->all)
        table_cell(&table, "file");
    for (size_t i = 0; i < f.names.count; i++) {
        table_cell(&table, "%s", f.names.items[i]);
        table_cell(&table, "%s", f.titles.items[i]);
        if (args->all)
            table_cell(&table, "%s", f.paths.items[i]);
    }
    table_print(&table, true);
    return 0;
}

#define FIELD(field) offsetof(list_args, field)

static const cli_option options[] = {
    {"all", 'a', CLI_FLAG, FIELD(all), NULL, CLI_NOTHING, NULL, "Show the files too."},
    {"names", 0, CLI_FLAG, FIELD(names), NULL, CLI_NOTHING, NULL, "Only the names, one per line."},
};
static const cli_group group = {"Listing", options, CLI_COUNT(options)};

const cli_command cli_list_command = {
    .name = "list",
    .summary = "list the specs",
    .arguments = "",
    .about = "Lists the specs of the search path: the folders of --path, of $KILN_PATH, and the installed ones. Each "
             "can be used by its name, without folder and .yaml.",
    .args_size = sizeof(list_args),
    .groups = (const cli_use[]){{&group, 0}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples = (const cli_example[]){{"kiln list", "Names and titles."},
                                      {"kiln list -I ./specs --all",
                                       "Lists the specs in a folder of your own too, with their files."},
                                      {0}},
    .run = list_run,
};
